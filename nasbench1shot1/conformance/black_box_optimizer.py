"""The conformance suite for black-box optimizers: complete searches on spaces with a bundled table."""
# ruff: noqa: D102  a test's name states what it checks

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer, Query
from nasbench1shot1.black_box_search import studying
from nasbench1shot1.black_box_search.options import black_box_options
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.black_box_search.repeats import Repeats, table_of_study
from nasbench1shot1.black_box_search.simulation import Limits, TableTrainings, TrainingResult, simulate
from nasbench1shot1.registry import name_of_optimizer
from nasbench1shot1.runs.writer import RunWriter
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.bounds import Bounds

SPACES = ("s1", "s3", "nb201")
"""Spaces with a bundled table of all architectures."""
SEARCHES = 3


class _Killed(BaseException):
    """Stops a study after a written line, like a killed process."""


class BlackBoxOptimizerConformance:
    """Tests of a black-box optimizer. Subclass this class in a test module and provide the fixture `optimizer`.

    Override the fixture `options` if the optimizer needs other options for short searches.

    Attributes:
        trainings: number of trainings per search; lower it for an optimizer with slow decisions.
    """

    trainings: ClassVar[int] = 40

    @pytest.fixture
    def optimizer(self) -> str | type[BlackBoxOptimizer]:
        """Return the optimizer's class, its name, or "module:Class"."""
        raise NotImplementedError("override the fixture 'optimizer'")

    @pytest.fixture
    def options(self) -> dict[str, Any]:
        """Return the optimizer's own options for all searches."""
        return {}

    @pytest.fixture(params=SPACES)
    def space(self, request: pytest.FixtureRequest) -> str:
        """Return the name of a registered space."""
        return str(request.param)

    @pytest.fixture
    def study_options(self, optimizer: str | type[BlackBoxOptimizer], options: dict[str, Any]) -> dict[str, Any]:
        """Return all options of a study except its space."""
        name = name_of_optimizer(optimizer)
        return {"optimizer": name, "evaluations": self.trainings, "repeats": SEARCHES, **options}

    @pytest.fixture
    def study(self, study_options: dict[str, Any]) -> Callable[..., BlackBoxStudy]:
        """Return a function that runs a study in a folder without output."""
        from rich.console import Console

        def run(folder: Path, **changes: Any) -> BlackBoxStudy:
            return studying.black_box(
                out=folder, console=Console(quiet=True), **{**study_options, "space": "s1", **changes}
            )

        return run

    def test_queries_are_in_space_and_have_known_budgets(self, study_options: dict[str, Any], space: str) -> None:
        repeats = _repeats(study_options, space)
        method, asked = _method(repeats, 0), list[Query]()
        trainings = _trainings(repeats, 0)

        def train(query: Query, now: float) -> TrainingResult:
            asked.append(query)
            return trainings(query, now)

        found = simulate(method, train, Limits(evaluations=self.trainings))
        assert found.evaluations == len(asked) == self.trainings
        for query in asked:
            assert repeats.space[repeats.space.index(query.architecture)] == query.architecture
            assert query.epochs in repeats.table.epochs

    def test_generator_determines_search(self, study_options: dict[str, Any], space: str) -> None:
        repeats = _repeats(study_options, space)
        first = repeats.search(0)
        assert repeats.search(0) == first
        others = [repeats.search(number) for number in (1, 2)]
        assert any(other.incumbents != first.incumbents for other in others)

    def test_searches_stay_within_bounds(self, study_options: dict[str, Any], space: str) -> None:
        without = _repeats(study_options, space)
        table, rows = without.table, without.table.members(space)
        costs = table.values("trainable_parameters", dataset=without.objective.dataset)[rows, 0]
        if not np.isfinite(median := float(np.median(costs))):
            pytest.skip(f"the table {table.id} has no number of parameters that could be bounded")
        repeats = _repeats({**study_options, "max_parameters": median}, space)
        trained, trainings = list[Architecture](), _trainings(repeats, 0)

        def train(query: Query, now: float) -> TrainingResult:
            trained.append(query.architecture)
            return trainings(query, now)

        found = simulate(_method(repeats, 0), train, Limits(evaluations=self.trainings, workers=2))
        assert found.evaluations == len(trained) == self.trainings
        within = table.resolve(Bounds.of(trainable_parameters=median))
        for arch in (*trained, *(incumbent.architecture for incumbent in found.incumbents)):
            assert within.allows(table, arch), "an architecture outside the bounds was trained"

    def test_search_ends_at_time_limit(self, study_options: dict[str, Any]) -> None:
        repeats = _repeats({**study_options, "evaluations": None, "seconds": 20_000.0}, "s1")
        found = repeats.search(0)
        assert 0 < found.seconds <= 20_000
        assert found.incumbents[-1].seconds <= found.seconds

    def test_trainings_run_in_parallel(self, study_options: dict[str, Any]) -> None:
        one = _repeats(study_options, "s1").search(0)
        four = _repeats({**study_options, "simulated_workers": 4}, "s1").search(0)
        assert four.evaluations == one.evaluations == self.trainings
        assert four.seconds < one.seconds

    def test_worker_processes_give_identical_record(self, study: Callable[..., BlackBoxStudy], tmp_path: Path) -> None:
        assert study(tmp_path / "there", workers=2).lines == study(tmp_path / "here").lines

    def test_resumed_study_gives_identical_record(
        self, study: Callable[..., BlackBoxStudy], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = study(tmp_path / "whole")

        def append_and_stop(self: RunWriter[Any], line: dict[str, Any]) -> None:
            append(self, line)
            raise _Killed

        append = RunWriter.append_line
        with monkeypatch.context() as patch, suppress(_Killed):
            patch.setattr(RunWriter, "append_line", append_and_stop)
            study(tmp_path / "stopped")
        assert len(BlackBoxStudy.open(tmp_path / "stopped").lines) == 1
        resumed = studying.black_box(resume=tmp_path / "stopped", allow_module=_module(whole))
        assert resumed.lines == whole.lines


def _module(study: BlackBoxStudy) -> str | None:
    module, colon, _ = study.config["optimizer"].partition(":")
    return module if colon else None


def _repeats(study_options: dict[str, Any], space: str) -> Repeats:
    options = black_box_options({**study_options, "space": space})
    return Repeats(options, table_of_study(options))


def _method(repeats: Repeats, seed: int) -> BlackBoxOptimizer:
    return repeats.method(np.random.default_rng(seed))


def _trainings(repeats: Repeats, seed: int) -> TableTrainings:
    space: SearchSpace = repeats.space
    return TableTrainings(space, repeats.table, None, np.random.default_rng(seed))
