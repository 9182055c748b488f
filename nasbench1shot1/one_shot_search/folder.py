"""Names of the files that only a search's folder has (docs/run_folder.md)."""

from nasbench1shot1.runs.folder import SEEDS as SEEDS

PARAMETERS, FIGURE, WEIGHTS = "architecture_parameters.npz", "regret.png", "weights"
CELLS = "cells.png"
EVENTS = "tensorboard"
"""A folder with the event files that `search --tensorboard` writes."""
