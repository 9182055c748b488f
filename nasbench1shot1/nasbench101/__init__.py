"""Code specific to NAS-Bench-101: cells and their hash, encodings, numbering, skeleton and network."""
