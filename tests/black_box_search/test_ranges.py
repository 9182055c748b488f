"""Black-box studies whose searches several processes, machines or people run in ranges."""

import json
import os
import shutil
import signal
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from command_line import command
from forked_jobs import fork_jobs
from local_cluster import dask_workers
from refusals import fails, refuses
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.black_box_search import ranges
from nasbench1shot1.black_box_search.ranges import SEARCHES, divide
from nasbench1shot1.black_box_search.repeats import Repeats
from nasbench1shot1.experiments.comparison.comparing import compare_runs
from nasbench1shot1.experiments.comparison.statistics import Contender
from nasbench1shot1.jobs.job import Job
from nasbench1shot1.runs.lock import locked

QUIET = Console(quiet=True)


@pytest.fixture(autouse=True)
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges of searches run in forked processes, which start quickly."""
    fork_jobs(monkeypatch)


def study(folder: Path, optimizer: Any = "random", **options: Any) -> nb.BlackBoxStudy:
    short = {"space": "s1", "evaluations": 12, "repeats": 20, "console": QUIET}
    return nb.black_box(optimizer, out=folder, **{**short, **options})


def resumed(folder: Path, **options: Any) -> nb.BlackBoxStudy:
    return nb.black_box(resume=folder, console=QUIET, **options)


def stop(made: nb.BlackBoxStudy, recorded: int) -> None:
    """Leave a study as if its process had been killed while it wrote the line after `recorded` lines."""
    metrics = made.folder / "metrics.jsonl"
    lines = metrics.read_text().splitlines(keepends=True)
    metrics.write_text("".join(lines[:recorded]) + '{"repeat": 2, "archi')
    (made.folder / "summary.json").unlink()


def compared(run: nb.BlackBoxStudy | Path) -> Contender:
    """Return what `nb.compare` reads from a study."""
    return compare_runs([run]).contenders[0]


def assert_same(made: nb.BlackBoxStudy, whole: nb.BlackBoxStudy) -> None:
    """Check that two studies read the same, bit for bit, whoever ran their searches."""
    assert json.dumps(made.lines) == json.dumps(whole.lines)
    assert made.summary == whole.summary
    assert made.is_finished
    for name in ("final", "trajectory", "metrics"):
        pandas.testing.assert_frame_equal(getattr(made, name), getattr(whole, name), check_exact=True)
    for drawn in (made,) if made.PICTURE is None else (made, made.folder):
        ours, theirs = (nb.draw_regret(run).get_lines()[0].get_xydata() for run in (drawn, whole))
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(compared(drawn).final, compared(whole).final)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> nb.BlackBoxStudy:
    """A study of 20 searches in this process."""
    return study(tmp_path_factory.mktemp("whole") / "study")


@pytest.mark.parametrize(("workers", "ranges"), [(2, [10, 10]), (3, [7, 7, 6])])
def test_the_searches_of_several_processes_read_as_one_study(
    tmp_path: Path, whole: nb.BlackBoxStudy, workers: int, ranges: list[int]
) -> None:
    made = study(tmp_path / "study", workers=workers)
    assert_same(nb.open_run(made.folder), whole)
    assert [len(part.lines) for part in made.ranges] == ranges
    assert [path.parent for path in made.folder.rglob("*.png")] == [made.folder], "only the whole study is drawn"
    for part in made.ranges:
        assert repr(nb.open_run(part.folder)).startswith(f"BlackBoxStudy('{part.folder}': random on s1, seed 0, ")
        assert part.lines == [whole.lines[repeat] for repeat in part.numbers]
    assert repr(made).endswith(repr(whole)[len(f"BlackBoxStudy('{whole.folder}") :])
    assert made._repr_html_().count("<img") == whole._repr_html_().count("<img") == 1


def test_a_terminal_shows_what_happens_after_the_last_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Console(file=StringIO(), force_terminal=True, width=100)
    study(tmp_path / "study", repeats=2, console=screen)
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "searches 2/2, writing summaries" in shown and "drawing regret.png" in shown


@pytest.mark.parametrize("workers", [None, 3])
def test_only_missing_searches_of_a_stopped_study_run_again(
    tmp_path: Path, whole: nb.BlackBoxStudy, workers: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = study(tmp_path / "study", workers=4)
    first, second, third, last = made.ranges
    (made.folder / "summary.json").unlink()
    stop(second, 2)
    shutil.rmtree(third.folder)
    stopped = nb.open_run(made.folder)
    assert repr(stopped).endswith("12 of 20 searches, unfinished)")
    assert [line["repeat"] for line in stopped.lines] == [0, 1, 2, 3, 4, 5, 6, *range(15, 20)]
    assert compared(stopped).entry.progress == "12 of 20 searches"
    assert nb.draw_regret(stopped).get_lines()
    if workers is None:  # in this process
        searched, line = list[int](), Repeats.line
        monkeypatch.setattr(Repeats, "line", lambda self, repeat: searched.append(repeat) or line(self, repeat))
    assert_same(resumed(made.folder, workers=workers), whole)
    assert workers or searched == [7, 8, 9, 10, 11, 12, 13, 14]
    assert {first.folder.name, second.folder.name, last.folder.name} < {part.folder.name for part in made.ranges}


def test_a_study_of_one_process_is_continued_by_several_and_grows(tmp_path: Path, whole: nb.BlackBoxStudy) -> None:
    made = study(tmp_path / "study", repeats=7)
    stop(made, 3)
    assert [len(part.lines) for part in resumed(made.folder, workers=2).ranges] == [2, 2]
    grown = resumed(made.folder, repeats=16, workers=2)
    assert [len(part.lines) for part in grown.ranges] == [2, 2, 5, 4]
    assert_same(resumed(made.folder, repeats=20), whole)
    with refuses(nb.InvalidInputError, 19, options="repeats"):
        resumed(made.folder, repeats=19)


@pytest.mark.parametrize("optimizer", ["hyperband", "bohb"])
def test_brackets_on_a_table_without_times_grow_and_run_in_several_processes(tmp_path: Path, optimizer: str) -> None:
    """Such a study records the budget of its table, which these methods refuse as an option."""
    given: dict[str, Any] = {"space": "nats-size", "objective": "test_accuracy", "evaluations": 5}
    if optimizer == "bohb":
        given["num_samples"] = 4
    whole = study(tmp_path / "whole", optimizer, repeats=4, **given)
    assert whole.config["epochs"] == 90
    grown = resumed(study(tmp_path / "grown", optimizer, repeats=2, **given).folder, repeats=4)
    assert_same(grown, whole)
    assert_same(study(tmp_path / "ranges", optimizer, repeats=4, workers=2, **given), whole)
    with refuses(nb.InvalidInputError, 90, options="epochs"):
        study(tmp_path / "new", optimizer, epochs=90, **given)


def test_ranges_that_two_people_run_are_joined(tmp_path: Path, whole: nb.BlackBoxStudy) -> None:
    second = study(tmp_path / "second", first_repeat=8, repeats=12)
    assert second.lines == whole.lines[8:]
    first = study(tmp_path / "first", repeats=8)
    joined = nb.BlackBoxStudy.join([second.folder, first])
    assert_same(joined, whole)
    assert joined.folder == first.folder and repr(joined) == repr(whole).replace(
        f"BlackBoxStudy('{whole.folder}", f"JoinedStudy('{first.folder}"
    )
    stop(second, 5)
    partial = nb.BlackBoxStudy.join([first.folder, second.folder])
    assert not partial.is_finished and len(partial.lines) == 13
    assert compared(partial).entry.progress == "13 of 20 searches"
    with refuses(nb.UserError, second.folder):
        partial.summary  # noqa: B018
    shutil.move(second.folder, first.folder / "repeats-of-a-colleague")
    assert_same(resumed(first.folder, repeats=20), whole)


def test_searches_of_a_range_beyond_the_study_do_not_count(tmp_path: Path) -> None:
    first = study(tmp_path / "first", repeats=6)
    second = study(tmp_path / "second", first_repeat=6, repeats=6)
    shutil.move(second.folder, first.folder / "repeats-of-a-colleague")
    found = nb.open_run(first.folder)
    assert found.recorded == len(found.lines) == 6
    assert "6 of 6 searches, " in repr(found)
    assert resumed(first.folder, repeats=9).recorded == 9


def test_a_study_recorded_without_a_first_repeat_starts_at_search_0(tmp_path: Path, whole: nb.BlackBoxStudy) -> None:
    made = study(tmp_path / "study", repeats=6)
    config = json.loads((made.folder / "config.json").read_text())
    del config["options"]["first_repeat"]
    (made.folder / "config.json").write_text(json.dumps(config))
    assert nb.open_run(made.folder).lines == made.lines
    assert_same(resumed(made.folder, repeats=20), whole)


def test_only_ranges_of_the_same_study_are_joined(tmp_path: Path, whole: nb.BlackBoxStudy) -> None:
    other = study(tmp_path / "other", seed=1, repeats=2)
    with refuses(nb.InvalidInputError, "1", "0", other.folder, whole.folder):
        nb.BlackBoxStudy.join([whole, other])
    with refuses(nb.InvalidInputError, "study"):
        nb.BlackBoxStudy.join([])
    again = study(tmp_path / "again", first_repeat=19, repeats=1)
    with refuses(nb.InvalidInputError, 19, whole.folder, again.folder, options="first_repeat"):
        nb.BlackBoxStudy.join([again, whole])
    with refuses(nb.InvalidInputError, 0, whole.folder, options="first_repeat"):
        nb.BlackBoxStudy.join([whole, whole.folder])
    with refuses(nb.InvalidInputError, whole.folder):
        nb.compare([nb.BlackBoxStudy.join([whole]), whole])


def test_a_changed_range_is_not_counted(tmp_path: Path) -> None:
    made = study(tmp_path / "study", repeats=4, workers=2)
    metrics = made.ranges[1].folder / "metrics.jsonl"
    metrics.write_text(metrics.read_text().replace('"evaluations": 12', '"evaluations": 11'))
    with refuses(nb.DamagedFileError, made.ranges[1].folder / "metrics.jsonl", "summary.json"):
        nb.open_run(made.folder).final  # noqa: B018
    shutil.rmtree(made.ranges[1].folder)
    with refuses(nb.DamagedFileError, made.folder / "metrics.jsonl", "summary.json"):
        nb.open_run(made.folder).final  # noqa: B018


def test_two_processes_do_not_write_one_study_at_once(tmp_path: Path, whole: nb.BlackBoxStudy) -> None:
    made = study(tmp_path / "study", workers=2)
    stop(made.ranges[0], 4)
    (made.folder / "summary.json").unlink()
    before = {path: path.read_bytes() for path in made.folder.rglob("*.json*")}
    with locked(made.folder):
        for workers in ("1", "2"):
            fails(
                command("blackbox", "--resume", str(made.folder), "--repeats", "21", "--workers", workers), made.folder
            )
        assert {path: path.read_bytes() for path in made.folder.rglob("*.json*")} == before
    with locked(made.ranges[0].folder), refuses(nb.UserError, "0 to 9", made.ranges[0].folder, options="resume"):
        resumed(made.folder, workers=2)
    assert_same(resumed(made.folder), whole)


class FailsFirst(nb.BlackBoxOptimizer):
    """Random search that refuses search 0 of a study with seed 0."""

    def ask(self) -> Query:
        first = np.random.default_rng(np.random.SeedSequence((0, 0)).spawn(2)[0]).bit_generator.state
        if self.rng.bit_generator.state == first:
            raise nb.InvalidInputError("search 0 is refused: try another seed")
        return self.query(self.space.sample(self.rng))

    def tell(self, query: Query, validation_error: float, seconds: float) -> None:
        pass


def test_finished_ranges_are_kept_if_another_range_fails(tmp_path: Path) -> None:
    with refuses(nb.UserError, "0 to 13", options="resume allow_module"):
        study(tmp_path / "made", FailsFirst, repeats=27, workers=2)
    stopped = nb.open_run(tmp_path / "made")
    assert [(part.folder.name, part.is_finished) for part in stopped.ranges] == [("repeats-00014", True)]
    assert repr(stopped).endswith("13 of 27 searches, unfinished)")
    assert compared(stopped).entry.progress == "13 of 27 searches"


def test_a_study_that_fails_before_its_first_record_leaves_no_folder(tmp_path: Path) -> None:
    with refuses(nb.UserError, "0 to 0", options=""):
        study(tmp_path / "made", FailsFirst, repeats=1, workers=2)
    assert not (tmp_path / "made").exists()


class KilledFirst(FailsFirst):
    """Random search whose process is killed if the current folder has a file `kill`."""

    def ask(self) -> Query:
        if Path("kill").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return self.query(self.space.sample(self.rng))


def test_a_study_whose_processes_are_killed_before_the_first_record_can_be_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kill").touch()
    with refuses(nb.UserError, "searches 0 to 0", "start the study again", options=""):
        study(Path("made"), KilledFirst, repeats=1, workers=2)
    assert not (tmp_path / "made").exists()
    (tmp_path / "kill").unlink()
    assert study(Path("made"), KilledFirst, repeats=1, workers=2).is_finished


@pytest.mark.parametrize(
    "left", [".lock", "environment.json", "metrics.jsonl", ".config.json.here.1.part", "../.{}.token"]
)
def test_nothing_that_a_range_leaves_before_its_first_record_prevents_a_new_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    def lose(jobs: list[Job], *_: object) -> dict[str, str]:
        for job in jobs:
            job.folder.mkdir()
            (job.folder / left.format(job.folder.name)).write_text("{")
        return {job.name: "it was lost" for job in jobs}

    with monkeypatch.context() as patch, refuses(nb.UserError, "it was lost", "start the study again", options=""):
        patch.setattr(ranges, "run_jobs", lose)
        study(tmp_path / "made", repeats=2, workers=2)
    assert not (tmp_path / "made" / "config.json").exists()
    assert study(tmp_path / "made", repeats=2).is_finished


def test_a_resumed_study_that_fails_before_its_first_record_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop_here(*_: object) -> dict[str, str]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ranges, "run_jobs", stop_here)
        study(tmp_path / "made", repeats=2, workers=2)
    with monkeypatch.context() as patch, refuses(nb.UserError, "it was lost", tmp_path / "made", options="resume"):
        patch.setattr(ranges, "run_jobs", lambda *_: {"searches 0 to 0": "it was lost"})
        resumed(tmp_path / "made", workers=2)
    assert resumed(tmp_path / "made").is_finished


@pytest.mark.parametrize(
    ("taken", "first", "last", "workers", "ranges"),
    [
        ([], 0, 500, 2, [(0, 125), (125, 250), (250, 375), (375, 500)]),
        ([], 0, 10, 3, [(0, 4), (4, 8), (8, 10)]),
        ([(0, 7)], 0, 9, 4, [(7, 8), (8, 9)]),
        ([(0, 10), (25, 50), (75, 100)], 0, 100, 2, [(10, 25), (50, 70), (70, 75)]),
        ([(90, 110)], 100, 120, 1, [(110, 120)]),
        ([(25, 50), (0, 25)], 0, 50, 2, []),
        ([(0, 5)], 0, 2 * SEARCHES + 5, 1, [(5, 130), (130, 255)]),
    ],
)
def test_ranges_divide_the_remaining_searches(
    taken: list[tuple[int, int]], first: int, last: int, workers: int, ranges: list[tuple[int, int]]
) -> None:
    assert divide(taken, first, last, workers) == ranges


def test_a_cluster_whose_workers_have_another_working_directory_searches_in_a_relative_folder(
    tmp_path: Path, whole: nb.BlackBoxStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dask_workers(1) as cluster:
        (tmp_path / "elsewhere").mkdir()
        cluster.get_client().run(os.chdir, str(tmp_path / "elsewhere"))
        monkeypatch.chdir(tmp_path)
        made = study(Path("study"), scheduler=cluster.scheduler_address)
    assert_same(made, whole)
    assert [part.folder for part in made.ranges] == [Path("study") / "repeats-00000"]
