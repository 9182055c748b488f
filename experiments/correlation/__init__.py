"""Comparison of one-shot and true rankings: criteria, confidence intervals and split-half reliability."""
