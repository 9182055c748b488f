"""`nb1shot1 report` with only core dependencies: studies and rankings may come from another machine."""

from pathlib import Path

from command_line import CODE, new_process
from quick_ranking import quick_ranking
from rich.console import Console
from synthetic_study import write_study
from tiny_search import search

import nasbench1shot1 as nb

OF_EXTRAS = {
    "dask", "distributed", "hpbandster", "hypershap", "joblib", "lightgbm", "optuna", "Pyro4", "sklearn", "smac",
    "statsmodels", "tensorflow", "yaml",
}  # fmt: skip
"""What the extras install, and what comes with it, as imports name it."""

WITHOUT_EXTRAS = f"""
import sys
from importlib.machinery import PathFinder

class Core(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {OF_EXTRAS!r} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Core
{CODE.replace("main()", "[main(['report', folder]) for folder in sys.argv[1:]]")}
"""


def test_studies_and_rankings_are_reported(tmp_path: Path):
    study = write_study(tmp_path / "study", iterations=1)
    run = search(tmp_path / "run", epochs=1, keep_weights_every=1)
    options = {"architectures": 12, "images": 40, "resamples": 5, "threads": 1, "device": "cpu", "budgets": 108}
    with quick_ranking():
        ranking = nb.correlate(run, console=Console(quiet=True), **options)
    done = new_process(str(study.folder), str(ranking.folder), code=WITHOUT_EXTRAS)
    assert done.returncode == 0, done.stderr
    table = nb.load_table()
    assert done.stdout.count(f"Table {table.id}") == 2
    for folder in (study.folder, ranking.folder):
        assert (folder / f"report-{table.id}" / "summary.json").is_file()
