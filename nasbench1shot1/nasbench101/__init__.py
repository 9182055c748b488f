"""What belongs to NAS-Bench-101 alone: its cells and their hash, encodings, numbering, skeleton and network."""
