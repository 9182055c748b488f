"""Evaluation with shared weights: passes with mixing weights, batch-norm statistics, scores of architectures."""
