"""The questions that NAS-Bench-201 and NATS-Bench asked of their tables, each a function to a frame and a figure."""
