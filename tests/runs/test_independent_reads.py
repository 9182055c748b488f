"""What callers read from records and comparisons is a copy: changing it has no effect on later reads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nasbench1shot1 as nb
from nasbench1shot1.experiments.comparison.statistics import Comparison
from nasbench1shot1.experiments.comparison.tasks import TaskComparison


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def recorded(folder: Path) -> Path:
    space = nb.search_space("s1")
    with nb.Recorder(folder / "recorded", space, notes={"rate": 1.0}) as recorder:
        for number in range(3):
            recorder.record(space[number], own=number)
    return recorder.folder


@pytest.fixture(scope="module")
def studies(folder: Path) -> list[Path]:
    found = []
    for optimizer in ("random", "local-search"):
        study = nb.black_box(optimizer, space="s1", evaluations=3, repeats=6, out=folder / optimizer)
        found.append(study.folder)
    return found


def spoil(value: Any) -> None:
    """Change everything in a value that can be changed."""
    if isinstance(value, np.ndarray):
        value[...] = 0
    elif hasattr(value, "iloc"):
        for name in list(value):
            del value[name]
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            spoil(part)
        value.clear()
    elif hasattr(value, "values") and isinstance(value.values, np.ndarray):  # a curve
        for name in ("at", "centre", "low", "high", "values"):
            spoil(getattr(value, name))


def assert_unchangeable(open_again: Callable[[], Any], names: list[str]) -> None:
    one = open_again()
    for name in names:
        expected = repr(getattr(open_again(), name))
        assert repr(getattr(one, name)) == expected
        spoil(getattr(one, name))
        assert repr(getattr(one, name)) == expected, name


RECORD = ["config", "lines", "summary", "environment", "metrics", "search_config"]


def test_records_of_searches_cannot_be_changed_by_what_is_read(recorded: Path) -> None:
    assert_unchangeable(lambda: nb.load_run(recorded), [*RECORD, "architectures", "architecture_parameters"])
    run = nb.open_run(recorded)
    run.config["notes"]["rate"] = 2.0
    run.to_frame().attrs["config"]["notes"]["rate"] = 2.0
    assert run.config["notes"] == {"rate": 1.0}
    run.lines[1]["other_datasets"]["x"] = {}
    assert run.final_epoch == 2 and run.progress == nb.open_run(recorded).progress


def test_records_of_studies_cannot_be_changed_by_what_is_read(studies: list[Path]) -> None:
    names = [*RECORD, "final", "trajectory", "feedback_repeats"]
    assert_unchangeable(lambda: nb.open_run(studies[0]), names)
    study = nb.open_run(studies[0])
    study.metrics["incumbents"][0].clear()
    assert study.metrics["incumbents"][0]


def test_joined_studies_cannot_be_changed_by_what_is_read(folder: Path) -> None:
    for first in (0, 2):
        nb.black_box("random", space="s1", evaluations=3, repeats=2, first_repeat=first, out=folder / f"range-{first}")
    ranges = [folder / "range-0", folder / "range-2"]
    assert_unchangeable(lambda: nb.BlackBoxStudy.join(ranges), ["config", "lines", "summary", "metrics"])


def test_comparisons_cannot_be_changed_by_what_is_read(studies: list[Path]) -> None:
    def tasks() -> TaskComparison:
        return nb.compare_tasks(studies)

    def comparison() -> Comparison:
        (found,) = tasks().tasks.values()
        return found

    assert_unchangeable(comparison, ["results", "rank_tests", "samples", "curves"])
    assert_unchangeable(tasks, ["results", "rank_tests", "win_tie_loss", "distributions", "relative", "profile"])
    one = comparison()
    table = tasks().table().markdown()
    spoil(one.results)
    spoil(one.curves)
    assert TaskComparison({"s1": one}).table().markdown() == table


def test_groups_cannot_be_changed_by_what_is_read() -> None:
    group = nb.load_run(Path(__file__).parents[2] / "docs" / "demo")
    assert isinstance(group, nb.SearchGroup)
    first = group[0]
    group.runs.clear()
    group.options.clear()
    assert len(group) == 3 and group.options["optimizer"] == "darts" and group[0] is first
