"""Names of the files that only a search's folder has (docs/run_folder.md)."""

PARAMETERS, FIGURE, WEIGHTS = "architecture_parameters.npz", "regret.png", "weights"
SEEDS = "seeds.json"
"""In the folder of a group of searches, one for each of several seeds."""
