"""Names of the files that only a search's folder has (docs/run_folder.md)."""

PARAMETERS, FIGURE = "architecture_parameters.npz", "regret.png"
CELLS = "cells.png"
EVENTS = "tensorboard"
"""A folder with the event files that `search --tensorboard` writes."""
