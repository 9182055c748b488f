"""The questions that NAS-Bench-101 asked of its table, each a function from a table to a frame and a figure."""
