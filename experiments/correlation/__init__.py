"""One-shot versus true ranking of architectures: criteria, intervals and the reliability of a ranking."""
