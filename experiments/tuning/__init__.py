"""Analyses of studies: incumbents over time, best configurations, importance of hyperparameters, transfer."""
