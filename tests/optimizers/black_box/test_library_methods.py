"""Common properties of Hyperband, BOHB, SMAC and TPE: determinism, valid proposals, free invalid configurations."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from zlib import crc32

import pytest
from library_methods import BUDGETS, asked, make

import nasbench1shot1 as nb
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.proposers.bracket_proposer import BracketProposer

METHODS = ("hyperband", "bohb", "smac", "tpe")
CODE = """
import json, warnings
warnings.simplefilter("ignore")
from test_library_methods import proposals
print(json.dumps(proposals()))
"""


def error_of(query):
    """Noise that depends only on the architecture."""
    return crc32(str(query.architecture).encode()) / 2**32


def proposals() -> dict[str, list[list[object]]]:
    numbers = {"hyperband": 45, "bohb": 60, "smac": 14, "tpe": 26}
    return {
        name: [[str(query.architecture), query.epochs] for query, _ in asked(make(name), error_of, number)]
        for name, number in numbers.items()
    }


def test_proposals_do_not_depend_on_the_hash_seed_of_the_process():
    folders = [str(Path(__file__).parent), *sys.path]
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == proposals()


@pytest.mark.parametrize("space", ["s1", "s3", "nb101", "nb201"])
@pytest.mark.parametrize("method", METHODS)
def test_proposals_are_in_the_space_and_at_its_budgets(method, space):
    number = 6 if method in ("smac", "tpe") else 60
    found = make(method, space)
    budgets = {query.epochs for query, _ in asked(found, lambda query: 0.1, number) if _in_space(query, space)}
    several = {12, 200} if space == "nb201" else set(BUDGETS)
    assert budgets == (several if method in ("hyperband", "bohb") else {found.epochs})


def _in_space(query, space):
    return nb.search_space(space).index(query.architecture) >= 0


@pytest.mark.parametrize("method", ["bohb", "smac", "tpe"])
def test_invalid_configurations_cost_nothing_and_count_as_the_worst(method, monkeypatch):
    told = []
    found = make(method, "nb101")
    listen(found, method, told, monkeypatch)
    assert len(list(asked(found, lambda query: 0.25, 20))) == 20
    counted = Counter(told)
    assert counted[0.25] == 20
    assert counted[1.0] >= 1  # a quarter of the configurations of nb101 is invalid
    assert set(counted) == {0.25, 1.0}


def listen(found, method, told, monkeypatch):
    """Record what is reported to the library."""
    if method == "bohb":
        observe = BracketProposer.observe
        monkeypatch.setattr(
            BracketProposer, "observe", lambda self, *given: (told.append(given[2]), observe(self, *given))
        )
        return
    library = found._facade if method == "smac" else found._study
    tell = library.tell
    monkeypatch.setattr(library, "tell", lambda trial, value: (told.append(value), tell(trial, value)))


def test_smac_retrains_its_incumbent_at_most_four_times():
    found = make("smac")
    space = nb.search_space("s1")
    queries = [query for query, _ in asked(found, lambda query: space.index(query.architecture) / len(space), 24)]
    counted = Counter(query.architecture for query in queries)
    assert max(counted.values()) == 4
    assert sum(number > 1 for number in counted.values()) < len(counted) / 2
    once = make("smac", configuration_trainings=1)
    assert max(Counter(query.architecture for query, _ in asked(once, lambda query: 0.1, 15)).values()) == 1


@pytest.mark.parametrize("method", ["smac", "tpe"])
def test_model_based_methods_find_better_architectures_than_random_search(method):
    def error(query):
        return 0.1 * sum(operation != 1 for operation in query.architecture.operations)

    options = {"random_fraction": 0.0} if method == "smac" else {}
    errors = [error for _, error in asked(make(method, **options), error, 45)]
    assert sum(errors[30:]) < 0.7 * sum(errors[:15])


def test_smac_works_on_several_workers():
    found = make("smac")
    queries = [found.ask() for _ in range(4)]
    for query in reversed(queries):
        found.tell(query, 0.2, 1.0)
    assert found.ask() is not None


def test_tpe_takes_categories_and_uniform_numbers():
    from ConfigSpace import ConfigurationSpace, Float, Integer, Normal

    from nasbench1shot1.optimizers.black_box.tpe import distributions

    found = distributions(ConfigurationSpace({"rate": Float("rate", (0.0, 1.0)), "n": Integer("n", (1, 9), log=True)}))
    assert (found["rate"].low, found["rate"].high, found["n"].low, found["n"].high) == (0.0, 1.0, 1, 9)
    assert (found["rate"].log, found["n"].log) == (False, True)
    with pytest.raises(InvalidInputError, match="'rate'"):
        distributions(ConfigurationSpace({"rate": Float("rate", (0.0, 1.0), distribution=Normal(0.5, 0.1))}))
