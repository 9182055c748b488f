"""Proposals of configurations: Hyperband's brackets, and the generators of Hyperband, BOHB, SMAC and TPE."""
