"""The regret curves of NAS-Bench-1Shot1, each figure with one command: searches, CSV and picture."""
