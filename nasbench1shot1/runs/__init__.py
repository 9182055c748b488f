"""Code shared by all kinds of runs: folder, lock, record, options, checkpoints, device and threads."""
