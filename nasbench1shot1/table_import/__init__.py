"""From files in the format of NAS-Bench-101 to a table."""
