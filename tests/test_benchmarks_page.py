"""The numbers of docs/benchmarks.md are those of the spaces and of the bundled tables."""

import re
from pathlib import Path

import pytest

import nasbench1shot1 as nb

PAGE = (Path(__file__).parent.parent / "docs" / "benchmarks.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("|")]
SPACES = {name[1]: row for row in ROWS if (name := re.match(r"\[`([\w-]+)`\]", row[0]))}
REGRETS = [row for row in ROWS if len(row) == 5 and row[0] in SPACES]
DATA_SETS = {"CIFAR-10": "cifar10", "CIFAR-100": "cifar100", "ImageNet16-120": "ImageNet16-120"}


@pytest.mark.parametrize("name", SPACES)
def test_counts(name):
    space = nb.search_space(name)
    if name in ("nb201", "nats-size"):
        assert SPACES[name][2] == SPACES[name][3] == f"{len(space):,}"
    else:
        counts = [space.count("loose_ends"), space.count("unique")]
        assert SPACES[name][2:4] == [f"{count:,}" for count in counts]


@pytest.mark.parametrize("row", REGRETS, ids=" ".join)
def test_best_and_mean(row):
    name, title, source, accuracy, regret = row
    table = nb.load_table(name if name in ("nb201", "nats-size") else "embedded")
    assert source.startswith(f"`{table.id}`")
    assert ("predicted" in source) == (table.name.startswith("nb101"))
    chosen = {} if name.startswith("s") else {"dataset": DATA_SETS[title]}
    _, best = table.best(name, split="test", **chosen)
    assert (accuracy, regret) == (
        f"{100 * float(best.test_accuracy):.2f}",
        f"{100 * table.mean_regret(name, **chosen):.2f}",
    )


def test_all_spaces_and_tables_are_listed():
    assert len(SPACES) == 8 and len(REGRETS) == 9
