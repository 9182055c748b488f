"""What moves the weights: one-shot optimizers, one file per method."""
