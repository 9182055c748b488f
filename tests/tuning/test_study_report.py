"""`nb1shot1 report STUDY`, and the names of tuners on screens and in pictures."""

import json
import shutil
from io import StringIO
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from black_box_tables import convolutions, s1_table, saved, smooth_table
from refusals import exits, refuses
from rich.console import Console
from synthetic_study import write_study

from nasbench1shot1 import cli
from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.ground.files import write_json
from nasbench1shot1.jobs.pool import WorkerOptions
from nasbench1shot1.proposers.brackets import Brackets
from nasbench1shot1.proposers.configurations import observations_of_model
from nasbench1shot1.runs.folder import METRICS, read_lines, read_object
from nasbench1shot1.tables.table import load_table
from nasbench1shot1.tuning import drawing
from nasbench1shot1.tuning.drawing import SIMULATED, UNTIMED, trajectory_figure
from nasbench1shot1.tuning.options import TUNERS, Tuner
from nasbench1shot1.tuning.record import MEASURED, Study, are_timed, best, costs_of
from nasbench1shot1.tuning.screen import announce, show_result


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("studies") / "study"
    return write_study(folder, diverges=lambda configuration: configuration["weight_decay"] < 1e-4, iterations=3)


@pytest.mark.parametrize(
    "change",
    [
        {"search_options": {}},
        {"search_options": {"format": "gif"}},
        {"search_options": {"table": 3}},
        {"search_options": {"images": None}},
    ],
)
def test_damaged_options_of_the_searches_are_refused(study, tmp_path, change):
    folder = Path(shutil.copytree(study.folder, tmp_path / "study"))
    content = json.loads((folder / "config.json").read_text())
    options = {**content["search_options"], **change["search_options"]} if change["search_options"] else {}
    write_json(folder / "config.json", {**content, "search_options": options})
    with refuses(DamagedFileError, folder / "config.json"):
        Study.open(folder)


@pytest.mark.parametrize("best", [{}, [], {"loss": 0.1}, {"loss": None}])
def test_a_damaged_summary_of_a_study_is_refused(study, tmp_path, best):
    folder = Path(shutil.copytree(study.folder, tmp_path / "study"))
    found = {**study.summary["best"], **best} if best == {"loss": None} else best
    write_json(folder / "summary.json", {**study.summary, "best": found})
    with refuses(DamagedFileError, folder / "summary.json", "best"):
        _ = Study.open(folder).result


def test_a_report_rescores_a_study_without_changing_it(study, capsys):
    table = load_table()
    before = {path: path.read_bytes() for path in study.folder.rglob("*") if path.is_file()}
    cli.main(["report", str(study.folder)])
    out = study.folder / f"report-{table.id}"
    printed = capsys.readouterr().out
    assert f"Table {table.id}" in printed and f"Record: {out}; picture: {out / 'trajectory.png'}" in printed
    assert {path.name for path in out.iterdir()} == {
        "metrics.jsonl",
        "summary.json",
        "trajectory.png",
        "trajectory.csv",
    }
    lines, summary = read_lines(out / METRICS), read_object(out / "summary.json")
    least = min((line for line in study.lines if line["loss"] is not None), key=lambda line: line["loss"])
    assert summary["best"]["configuration_id"] == least["configuration_id"]
    assert summary["table_id"] == table.id and summary["observations"] == len(study.lines)
    for line, own in zip(lines, study.lines, strict=True):
        assert line["loss"] == own["loss"]
        if own["architecture"]:
            found = table.query(Architecture.parse(own["architecture"]))
            assert line["table_test_error"] == pytest.approx(1 - found.test_accuracy)
    assert {path: path.read_bytes() for path in before} == before
    cli.main(["report", str(study.folder)])  # a report may be written again
    with exits(capsys, "--spread", "tuning study"):
        cli.main(["report", str(study.folder), "--spread", "std"])


def test_sources_are_counted_over_the_drawn_values(study, monkeypatch):
    def caption(table):
        return trajectory_figure(study, study.lines, table).caption

    assert "; test regrets: predicted; validation regrets: predicted\n" in caption(load_table())
    architectures = {line["number"]: line["architecture"] for line in study.lines if line["architecture"]}
    shown = {found["number"] for n in range(1, 1 + len(study.lines)) if (found := best(study.lines[:n]))}
    measured = architectures[study.summary["best"]["number"]]
    monkeypatch.setattr(
        drawing,
        "measured_values",
        lambda study, line, table: dict.fromkeys(MEASURED, line["architecture"] == measured),
    )
    first = sum(architectures[number] == measured for number in shown)
    every = sum(of == measured for of in architectures.values())
    assert 0 < first < len(shown) and 0 < every < len(architectures)
    assert (
        f"test regrets: partly predicted: {first} of {len(shown)} values are measured; validation regrets: partly "
        f"predicted: {every} of {len(architectures)} values are measured"
    ) in caption(load_table()).replace("\n", " ")


def test_the_result_states_which_values_are_measured(study):
    for flags in ((False, True), (True, False)):
        out, sources = StringIO(), dict(zip(MEASURED, flags, strict=True))
        found = {**study.summary["best"], **sources, "table_validation_error": 0.0711, "test_regret": 0.0216}
        show_result({**study.summary, "best": found}, study.folder, Console(file=out, width=200))
        validated, tested = ("measured" if flag else "predicted" for flag in flags)
        assert f"Validation error 7.11 % ({validated}), test regret 2.16 % ({tested})\n" in out.getvalue()
    assert {name: study.summary["best"][name] for name in MEASURED} == dict.fromkeys(MEASURED, False)


def test_the_size_of_shrunk_images_is_on_the_screen_and_in_the_picture(tmp_path: Path):
    for side, said in ((8, "at 8 × 8 pixels"), (None, "pixels")):
        study, out = write_study(tmp_path / f"{side}", iterations=1, searches={"image_side": side}), StringIO()
        announce(study, load_table(), Brackets(1, 2), 0, WorkerOptions(), Console(file=out, width=250))
        title = trajectory_figure(study, study.lines, load_table()).get_suptitle()
        assert [said in text for text in (out.getvalue(), title)] == [side is not None] * 2


def test_an_unfinished_study_is_reported_up_to_its_last_record(tmp_path: Path, capsys):
    unfinished = write_study(tmp_path / "study", iterations=1, finished=False)
    cli.main(["report", str(unfinished.folder)])
    (out,) = unfinished.folder.glob("report-*")
    searches = len(unfinished.lines)
    assert f"Not finished: {searches} of {unfinished.options.brackets.planned} searches." in capsys.readouterr().out
    assert json.loads((out / "summary.json").read_text())["observations"] == searches
    assert (out / "trajectory.png").is_file()


def test_a_study_without_searches_is_refused_by_report(tmp_path: Path, capsys):
    unfinished = write_study(tmp_path / "study", iterations=1, finished=False)
    (unfinished.folder / "metrics.jsonl").write_text("")
    with exits(capsys, f"nb1shot1 tune --resume {unfinished.folder}"):
        cli.main(["report", str(unfinished.folder)])
    assert not list(unfinished.folder.glob("report-*"))


@pytest.mark.parametrize("tuner", get_args(Tuner))
def test_every_tuner_is_named_on_the_screen_and_in_the_picture(tuner, tmp_path: Path):
    study, out = write_study(tmp_path / "study", iterations=1, tuner=tuner), StringIO()
    announce(study, load_table(), Brackets(1, 2), 0, WorkerOptions(), Console(file=out, width=200))
    assert f"with {TUNERS[tuner]} on s1, seed 0" in out.getvalue()
    figure = trajectory_figure(study, study.lines, load_table())
    assert figure.get_suptitle().startswith(f"{TUNERS[tuner]} tunes ")
    assert ": 1 search, " in trajectory_figure(study, study.lines[:1], load_table()).get_suptitle()
    ends = [line.get_marker() for line in figure.axes[0].get_lines() if line.get_linestyle() != "None"]
    assert set(ends) <= {"", "None"}, "a dot at the end of a line would look like a search"


@pytest.mark.parametrize(
    ("iterations", "said"), [(2, "; in this study, at most 4 will have, so no model is fitted."), (64, ".")]
)
def test_the_announcement_says_when_the_model_starts(iterations, said, tmp_path: Path):
    for tuner in get_args(Tuner):
        study, out = write_study(tmp_path / tuner, iterations=1, tuner=tuner), StringIO()
        brackets, console = Brackets(25, 100, 2, iterations), Console(file=out, width=200)
        announce(study, load_table(), brackets, 0, WorkerOptions(), console)
        needed = observations_of_model(study.config_space)
        until = f"Until {needed} searches of the same number of epochs have ended, all configurations but the first,"
        sentence = f"{until} the default, are random{said}"
        assert (sentence in out.getvalue()) == (tuner != "random")


@pytest.mark.parametrize("unknown", ["all", "one"])
def test_a_table_without_training_times_gives_wall_clock_times(unknown, study, tmp_path: Path):
    accuracies = 0.5 + convolutions()[:, None, None] / 20 + np.zeros((1, 4, 1))
    seconds, found = np.ones_like(accuracies), Architecture.parse(study.summary["best"]["architecture"])
    seconds[slice(None) if unknown == "all" else smooth_table().row_of(found)] = np.nan
    table = saved(s1_table(accuracies, seconds), tmp_path / "table")
    cli.main(["report", str(study.folder), "--table", str(table.folder)])
    out = study.folder / f"report-{table.id}"
    walls = [line["finished"] - line["started"] for line in study.lines]
    lines = read_lines(out / METRICS)
    assert read_object(out / "summary.json")["simulated_seconds"] is None
    assert not are_timed(lines) and costs_of(lines) == walls
    axes = trajectory_figure(study, lines, table).axes[0]
    assert axes.get_xlabel() == UNTIMED
    best = axes.get_lines()[-1]
    np.testing.assert_allclose(best.get_xdata(), np.cumsum(walls) / 3600)


def test_a_diverged_search_takes_wall_clock_time(study):
    lines = study.lines
    assert are_timed(lines) and any(line["loss"] is None for line in lines)
    assert costs_of(lines) == [
        line["finished"] - line["started"] if line["loss"] is None else line["simulated_seconds"] for line in lines
    ]
    assert trajectory_figure(study, lines, load_table()).axes[0].get_xlabel() == SIMULATED
    assert study.summary["simulated_seconds"] == round(sum(costs_of(lines)), 3)
