"""What every kind of run shares: its folder, lock, record, options, checkpoints and place of computation."""
