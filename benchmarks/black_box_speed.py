"""Processor time per training of black-box searches and of the published loops, on a table as large as NAS-Bench-101.

    python benchmarks/black_box_speed.py [--peer PATH] [--seconds 1e7] [--searches 3]

Both sides use one in-memory table of all 423,624 cells with synthetic values. `--peer` is a clone of
github.com/google-research/nasbench. Random search and evolution of its NASBench.ipynb then run on its own `NASBench`
object, alternating with ours. They run in a separate process, because the dictionaries with millions of objects would
slow down our code. In this comparison, both evolutions have a population of 50, tournaments of 10 and a mutation rate
of 1.
"""

import argparse
import datetime
import json
import multiprocessing
import random
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from unittest.mock import MagicMock

import numpy as np
from space_statistics import whole_table

from nasbench1shot1.api.nasbench import build_config
from nasbench1shot1.black_box_search.options import black_box_options
from nasbench1shot1.black_box_search.repeats import Repeats
from nasbench1shot1.nasbench101.encoding import to_arrays
from nasbench1shot1.search_spaces.nasbench101 import SPACE

OURS = {
    "random": {},
    "regularized-evolution": {"population": 50, "tournament": 10, "mutation": "rate", "mutation_rate": 1.0},
}
DEFAULTS = ("random", "regularized-evolution", "non-regularized-evolution", "reinforce", "local-search")
PUBLISHED = {"random": "run_random_search", "regularized-evolution": "run_evolution_search"}
STUBS = ("tensorflow", "nasbench.lib.config", "nasbench.lib.evaluate", "nasbench.lib.model_metrics_pb2")
"""Modules of the clone that are only needed for reading its files or for training."""


def timed(search):
    """Return the processor seconds and the number of trainings of a search."""
    started = time.process_time()
    trainings = search()
    return time.process_time() - started, trainings


def ours(table, name, seconds, **own):
    """Return a function that runs our search with a given number and returns its number of trainings."""
    options = black_box_options({"optimizer": name, "space": "nb101", "seconds": seconds, **own})
    repeats = Repeats(options, table)
    return lambda number: repeats.search(number).evaluations


@cache
def peer(clone):
    """Return the published loops, created once per process."""
    return Peer(clone, whole_table())


def published(clone, name, seconds, number):
    """Return the processor seconds and the number of trainings of a published search, run in this process."""
    loops = peer(clone)
    return timed(lambda: loops.search(name, seconds, number))


class Peer:
    """The published loops on the published object, which holds the values of our table at 108 epochs."""

    def __init__(self, clone, table):
        self._folder = TemporaryDirectory()
        archive = subprocess.run(
            ["git", f"--git-dir={git_dir(clone)}", "archive", "HEAD"], capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", self._folder.name], input=archive.stdout, check=True)
        sys.path.insert(0, self._folder.name)
        for name in STUBS:
            sys.modules[name] = MagicMock(spec=ModuleType(name))
        from nasbench import api

        self.bench = object.__new__(api.NASBench)
        self.bench.config = build_config()
        self.bench.fixed_statistics, self.bench.computed_statistics = statistics(table)
        self.bench.valid_epochs = {108}
        self.bench.training_time_spent = self.bench.total_epochs_spent = 0
        self.bench.history = {}
        self.names = {"api": api, "nasbench": self.bench}
        for source in cells_of(Path(self._folder.name) / "NASBench.ipynb"):
            exec(compile(source, "NASBench.ipynb", "exec"), self.names)

    def search(self, name, seconds, number):
        """Run a published search; return its number of trainings."""
        random.seed(number)
        np.random.seed(number)  # noqa: NPY002  the notebook draws from this generator
        times, *_ = self.names[PUBLISHED[name]](max_time_budget=seconds)
        return len(times) - 1


def git_dir(clone):
    return Path(clone) / ".git" if (Path(clone) / ".git").exists() else Path(clone)


def cells_of(notebook):
    """Yield the notebook cells with imports and with the definitions of the searches."""
    for cell in json.loads(notebook.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and ("OP_SPOTS =" in source or "def run_random_search" in source):
            yield source.replace("import matplotlib.pyplot as plt\n", "")


def statistics(table):
    """Return NASBench's two dictionaries with the values of the table."""
    numbers = np.asarray(SPACE.encodings("unique"))
    hashes = SPACE.distinct_cells.hashes
    rows = table.rows_of_encodings(numbers)
    values = {name: table.values(name, 108)[rows] for name in ("validation_accuracy", "test_accuracy", "training_time")}
    adjacency, operations, *_ = to_arrays(numbers)
    fixed, computed = {}, {}
    for place, digest in enumerate(hashes):
        digest = digest if isinstance(digest, str) else bytes(digest).hex()
        fixed[digest] = {
            "module_adjacency": adjacency[place],
            "module_operations": operations[place],
            "trainable_parameters": 1,
        }
        computed[digest] = {
            108: [
                {
                    "final_training_time": float(values["training_time"][place, repeat]),
                    "final_train_accuracy": 1.0,
                    "final_validation_accuracy": float(values["validation_accuracy"][place, repeat]),
                    "final_test_accuracy": float(values["test_accuracy"][place, repeat]),
                }
                for repeat in range(3)
            ]
        }
    return fixed, computed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer")
    parser.add_argument("--seconds", type=float, default=1e7)
    parser.add_argument("--searches", type=int, default=3)
    options = parser.parse_args()
    table = whole_table()
    table.rows_of_encodings(np.asarray(table.column("cell")[:1]))  # builds the index of encodings before timing
    found = {}
    for name in DEFAULTS:
        search = ours(table, name, options.seconds)
        search(0)
        found[f"ours, {name}, defaults"] = [timed(lambda n=n, s=search: s(n)) for n in range(1, 1 + options.searches)]
    if options.peer:
        in_turns(table, options, found)
    report(found, options)


def in_turns(table, options, found):
    """Run published searches and ours alternately, each side in its own process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as other:
        other.submit(published, options.peer, "random", options.seconds, 0).result()
        for name, own in OURS.items():
            search, label = ours(table, name, options.seconds, **own), f"{name}, the notebook's options"
            for number in range(1, 1 + options.searches):
                theirs = other.submit(published, options.peer, name, options.seconds, number).result()
                found.setdefault(f"published, {label}", []).append(theirs)
                found.setdefault(f"ours, {label}", []).append(timed(lambda n=number, s=search: s(n)))


def report(found, options):
    """Print and save the microseconds per training and the processor seconds of 500 searches."""
    command = " ".join(["python", *sys.argv]).replace(str(options.peer), "PEER")  # omits the local path
    figures = {"date": datetime.date.today().isoformat(), "command": command}
    for name, runs in found.items():
        seconds, trainings = map(sum, zip(*runs, strict=True))
        figures[name] = {
            "µs per training": round(1e6 * seconds / trainings, 1),
            "trainings per search": round(trainings / len(runs)),
            f"processor seconds of 500 searches to {options.seconds:g} s": round(500 * seconds / len(runs)),
        }
    for name in PUBLISHED:
        if (peer := figures.get(f"published, {name}, the notebook's options")) is not None:
            own = figures[f"ours, {name}, the notebook's options"]
            figures[f"{name}: published / ours"] = round(peer["µs per training"] / own["µs per training"], 1)
    Path(__file__).with_name("results").joinpath("black_box_speed.json").write_text(
        json.dumps(figures, indent=1, ensure_ascii=False) + "\n"
    )
    print(json.dumps(figures, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
