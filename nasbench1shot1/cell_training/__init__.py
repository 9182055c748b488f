"""Training a single cell as NAS-Bench-101 trained its own."""
