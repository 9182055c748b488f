"""Evaluation with shared weights: passes under mixing weights, batch-norm statistics, scores of architectures."""
