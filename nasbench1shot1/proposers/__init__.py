"""What to evaluate next: Hyperband's brackets and the configuration generators of Hyperband, BOHB and SMAC."""
