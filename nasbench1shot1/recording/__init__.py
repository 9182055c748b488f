"""Recording your own search loop as a run that `report`, `compare` and `load_run` can open."""
