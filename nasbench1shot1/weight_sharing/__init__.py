"""Asking a supernet's shared weights: passes under mixing weights, batch-norm statistics, scores of architectures."""
