"""Tuning the hyperparameters of one-shot optimizers: studies, and the processes that work on them."""
