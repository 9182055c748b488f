"""The parts of the page of a report: commands that repeat runs, thinned curves, colours in the dark."""

import json
import shlex
import shutil
from collections.abc import Callable
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import compared_runs as make
import numpy as np
import pytest
import tiny_search
import tiny_studies
import tiny_training
from hypothesis import given
from hypothesis import strategies as st
from quick_ranking import tiny_ranking

import nasbench1shot1 as nb
from nasbench1shot1.black_box_search.options import black_box_options
from nasbench1shot1.cli import main
from nasbench1shot1.commands.arguments import parse_seeds
from nasbench1shot1.display.colours import FURTHER, MARKERS, METHODS, curve_styles
from nasbench1shot1.display.curves import Trace, pool
from nasbench1shot1.display.style import BACKGROUND
from nasbench1shot1.experiments.correlation.options import ranking_options
from nasbench1shot1.experiments.report_page.charts import SHAPES, line, rounded, thinned
from nasbench1shot1.experiments.report_page.page import FOLDER
from nasbench1shot1.experiments.report_page.panels import Scoring
from nasbench1shot1.experiments.report_page.repeating import repeated, seeds_text
from nasbench1shot1.experiments.report_page.searched import searched
from nasbench1shot1.experiments.report_page.trainings import Trained, Trainings
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.tuning.options import study_options

# Commands -------------------------------------------------------------------------------------------------------------

STARTED = (
    *("one_shot_search.searching.search", "one_shot_search.seeds.search_seeds", "black_box_search.studying.black_box"),
    *("tuning.tuning.tune", "cell_training.training.train_cell", "experiments.correlation.correlating.correlate"),
)
OF_PICTURES = ("format", "style", "spread")


class Started(Exception):
    """A run was started with these arguments."""


@pytest.fixture
def asked_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[tuple[Any, ...], dict[str, Any]]]:
    """A function that returns what a command would start: arguments and options that are not None."""

    def start(*arguments: Any, **options: Any) -> None:
        raise Started(arguments, {name: value for name, value in options.items() if value not in (None, False)})

    def asked(command: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        program, *words = shlex.split(command)
        assert program == "nb1shot1"
        with monkeypatch.context() as patch, pytest.raises(Started) as caught:
            for name in STARTED:
                patch.setattr(f"nasbench1shot1.{name}", start)
            main(words)
        arguments, options = caught.value.args
        return arguments, {name: value for name, value in options.items() if name not in ("console", "table_object")}

    return asked


def recorded(config: Any, resolved: Any) -> None:
    """Check that resolved options equal those of a config.json, except the options of pictures."""
    for name, value in resolved.items():
        if name not in OF_PICTURES:
            assert config[name] == value, name


SEARCHES: dict[str, dict[str, Any]] = {
    "quick": {"optimizer": "darts", "space": "s1", "scale": "quick"},
    "full": {"optimizer": "gdas", "space": "s3", "scale": "full", "images": "cifar10-sample", "seed": 3},
    "own options": {
        **{"optimizer": "darts", "space": "nb201", "preset": "original", "scale": "quick", "relaxation": "gumbel"},
        **{"hessian_eigenvalue": True, "early_stopping": True, "nesterov": True, "batch_norm_affine": False},
    },
    "length": {"optimizer": "pc-darts", "space": "s2", "scale": "quick", "epochs": 100, "learning_rate": 0.1},
    "bounds": {"optimizer": "random-ws", "space": "s1", "scale": "quick", "max_parameters": 5e6},
}


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
def test_the_command_of_a_search_gives_the_recorded_options(options, asked_by, tmp_path):
    config = search_options({**options, "threads": 1, "device": "cpu"}).as_dict()
    (command,) = repeated(nb.Run(tmp_path / "a run", {**config, "grown": []})).commands
    _, asked = asked_by(command)
    assert asked.pop("out") == tmp_path / "a run"
    recorded(config, search_options(asked).as_dict())
    assert len(asked) < 8 + len(options)  # defaults are not repeated


def test_the_commands_of_a_longer_search_and_of_a_group(asked_by, tmp_path):
    group = make.group(tmp_path / "group", [(4, 3), (2, 1), (1, 1)], optimizer="gdas")
    (command,) = repeated(group).commands
    (seeds,), asked = asked_by(command)
    assert seeds == [0, 1, 2] and asked["optimizer"] == "gdas" and "seed" not in asked
    run = make.search(tmp_path / "grown", (3, 2))
    grown = [{"from": 1, "after_epoch": 1}, {"from": 2, "after_epoch": 2}]
    assert "grown" not in json.loads((run.folder / "config.json").read_text()) and len(repeated(run).commands) == 1
    first, second, third = repeated(nb.Run(run.folder, {**run.config, "grown": grown})).commands
    assert [asked_by(of)[1]["epochs"] for of in (first, second, third)] == [1, 2, 4]
    assert asked_by(third)[1]["resume"] == run.folder


def test_the_commands_of_studies_and_trainings(asked_by, tmp_path):
    own = {"population": 7, "deduplicate": True, "objective": "trainable_parameters"}
    study = make.black_box(tmp_path / "study", "regularized-evolution", repeats=2, **own)
    (command,) = repeated(study).commands
    _, asked = asked_by(command)
    recorded(
        study.config, black_box_options({**asked, "out": None} if "out" not in asked else without(asked)).as_dict()
    )
    tuned = tiny_studies.tiny_study(tmp_path / "tuned", tuner="random", iterations=3, config_space="cs1")
    (command,) = repeated(tuned).commands
    _, asked = asked_by(command)
    found = study_options(without(asked))
    recorded(tuned.config, found.as_dict())
    recorded(tuned.shared_options, found.shared(list(tuned.config_space)))
    images = tiny_training.write_images(tmp_path / "images.npz")
    training = tiny_training.train(tmp_path / "trained", images, epochs=1)
    (command,) = repeated(training).commands
    (x,), asked = asked_by(command)
    assert x == tiny_training.CELL and asked.pop("table").id == nb.load_table().id
    recorded(training.config, training.OPTIONS.from_options(without(asked)).as_dict())


@pytest.mark.parametrize(
    ("accuracies", "is_cut"), [([0.99] * 9 + [0.6], True), ([0.4, 0.5] * 5, False), ([0.01] * 9 + [0.4], False)]
)
def test_notes_on_trainings_say_whether_a_band_is_cut_at_zero(tmp_path, accuracies, is_cut):
    images = tiny_training.write_images(tmp_path / "images.npz")
    one = tiny_training.train(tmp_path / "trained", images, epochs=1)
    *_, line = one.lines
    trainings = [nb.open_run(one.folder) for _ in accuracies]
    for training, accuracy in zip(trainings, accuracies, strict=True):
        training.__dict__["lines"] = [{**line, "train_accuracy": accuracy}]
    shown = Trainings([Trained("cell", trainings)], Scoring())
    (axes,) = (curve["axes"]["train"] for curve in shown.chart(10)["curves"])
    assert (min(axes["low"]) == 0) is is_cut
    assert axes["result"]["low"] >= 0 and axes["result"]["high"] <= 100
    (said,) = (note for note in shown.notes() if "over n seeds" in note)
    assert ("cut at 0" in said) is is_cut


def test_the_commands_of_a_ranking_repeat_its_search_first(asked_by, tmp_path):
    ranking = tiny_ranking(tmp_path / "run")
    first, second = repeated(ranking).commands
    assert asked_by(first)[1]["keep_weights_every"] == 1
    (run,), asked = asked_by(second)
    assert run == ranking.run.folder and asked.pop("out") == ranking.folder
    recorded(ranking.config, ranking_options(asked).as_dict())
    shutil.rmtree(ranking.folder.parent / "weights")
    (ranking.folder.parent / "config.json").unlink()
    only, note = repeated(nb.open_run(ranking.folder))
    assert only == [second] and "is not there" in note


def without(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if name != "out"}


def test_runs_that_no_command_started_say_so(tmp_path):
    config = search_options({"space": "s1", "scale": "quick", "threads": 1}).as_dict()
    for optimizer in ("__main__:Mine", "not_imported:Mine"):
        commands, note = repeated(nb.Run(tmp_path, {**config, "optimizer": optimizer}))
        assert not commands and note.endswith(".")
    assert "--allow-module not_imported to nb1shot1 report" in note
    other_package = nb.Run(tmp_path, {**config, "optimizer": "elsewhere", "space": "own_space:SPACE"})
    assert repeated(other_package).note.endswith("Install its package first.")
    assert not repeated(make.group(tmp_path / "none", [(1,)], started=0)).commands


def test_the_screen_names_the_runs_without_a_command(tmp_path):
    own = make.with_facts(make.search(tmp_path / "own", (2,)).folder, optimizer="not_imported:Mine")
    said = list[str]()
    nb.write_report_page([make.search(tmp_path / "darts", (3,)), own], tmp_path / "page.html", report=said.append)
    (text,) = said
    assert text.startswith(
        "Warning: the page has no command that repeats Mine. The module of the optimizer not_imported:Mine "
    )
    assert text.endswith("add --allow-module not_imported to nb1shot1 report.")


def test_weights_of_an_optimizer_that_is_not_imported_come_with_the_option_that_imports_it(tmp_path):
    run = tiny_search.search(tmp_path / "run", epochs=1)
    run = nb.Run(run.folder, {**run.config, "optimizer": "not_imported:Mine"})
    (note,) = searched(run, "mine", None, 10)["notes"]
    assert note.startswith(run.reading_note) and "--allow-module not_imported to nb1shot1 report" in note
    run = nb.Run(run.folder, {**run.config, "optimizer": "__main__:OfAnotherScript"})
    (note,) = searched(run, "mine", None, 10)["notes"]
    assert note.startswith(run.reading_note) and "that script or notebook" in note and "allow" not in note


@given(st.sets(st.integers(0, 40), min_size=1).map(sorted))
def test_seeds_are_written_as_the_command_line_reads_them(seeds):
    assert parse_seeds(seeds_text(seeds)) == seeds


# Curves ---------------------------------------------------------------------------------------------------------------


@st.composite
def searches(draw: st.DrawFn) -> list[Trace]:
    """Up to four runs with incumbents at random times."""
    value = st.floats(0, 1).map(lambda of: round(of, 2))
    found = []
    for _ in range(draw(st.integers(1, 4))):
        at = sorted(draw(st.sets(st.integers(1, 10_000), min_size=1, max_size=30)))
        values = draw(st.lists(value, min_size=len(at), max_size=len(at)))
        found.append(Trace(at=np.array(at, float), values=np.array(values), holds=draw(st.booleans())))
    return found


def shown_at(curve: dict[str, Any], at: float, name: str = "mean") -> float:
    """The value that the page shows at a position: that of the last point that is not after it."""
    return curve[name][int(np.searchsorted(curve["at"], at, side="right")) - 1]


@given(searches(), st.booleans())
def test_a_thinned_curve_shows_the_same_values_everywhere(traces, is_step):
    whole = pool(traces, spread="range")
    curve = thinned(whole, 100, 10_000, is_step=is_step)
    assert curve["at"][0] == whole.at[0] and curve["at"][-1] == whole.at[-1]
    for at, mean, high in zip(whole.at, whole.centre, whole.high, strict=True):
        assert shown_at(curve, at) == rounded(100 * mean)
        assert len(traces) == 1 or shown_at(curve, at, "high") == rounded(100 * high)
    if is_step:
        kept = list(zip(*(curve[name] for name in ("mean", "low", "high") if name in curve), strict=True))
        assert all(a != b for a, b in pairwise(kept[:-1]))


@given(searches(), st.integers(3, 12))
def test_a_long_curve_keeps_few_of_its_points(traces, most):
    whole = pool(traces, spread="range")
    curve = thinned(whole, 100, most, is_step=True)
    assert len(curve["at"]) <= most + 1
    assert (curve["at"][0], curve["at"][-1]) == (whole.at[0], whole.at[-1])
    assert curve["mean"][0] == rounded(100 * whole.centre[0]) and curve["mean"][-1] == rounded(100 * whole.centre[-1])
    recorded_values = {rounded(100 * value) for value in whole.centre}
    assert set(curve["mean"]) <= recorded_values  # points are left out, not invented


def test_unknown_values_are_gaps():
    whole = pool([Trace(at=np.arange(4.0), values=np.array([0.5, np.nan, np.nan, 0.25]))], whole=True)
    assert thinned(whole, 100, 100, is_step=False) == {"at": [0, 1, 2, 3], "mean": [50, None, None, 25]}


def test_the_page_has_the_background_for_which_colours_are_chosen_in_the_dark():
    style = files(FOLDER).joinpath("page.css").read_text()
    assert f"--paper: {BACKGROUND};" in style.partition("prefers-color-scheme: dark")[2].partition("}")[0]


def test_curves_have_the_colours_dashes_and_markers_of_pictures():
    found = [line(look) for look in curve_styles(list(METHODS))]
    looks = [(of["light"], of["dark"], of.get("dash"), of.get("marker")) for of in found]
    assert len({look[2:] for look in looks}) == len(METHODS)
    assert {*MARKERS.values(), FURTHER} - {""} == set(SHAPES)


# Reports of black-box studies without a page --------------------------------------------------------------------------


def test_a_black_box_study_is_scored_on_another_table(tmp_path, measured_table, capsys):
    study = make.black_box(tmp_path / "study", repeats=4)
    main(["report", str(study.folder), "--out", str(tmp_path / "same")])
    assert (tmp_path / "same" / "metrics.jsonl").read_text() == (study.folder / "metrics.jsonl").read_text()
    measured = sum(of["test_measured"] for of in study.lines)
    known = {0: "predicted", 4: "measured"}.get(measured, f"partly predicted: {measured} of 4 values are measured")
    assert f" ({known})\n" in capsys.readouterr().out
    folder = str(measured_table.folder)
    main(["report", str(study.folder), "--table", folder, "--out", str(tmp_path / "measured"), "--format", "svg"])
    assert " (measured)\n" in capsys.readouterr().out
    assert (tmp_path / "measured" / "regret.svg").exists()
    for of, before in zip(read(tmp_path / "measured"), study.lines, strict=True):
        assert of["test_regret"] == pytest.approx(measured_table.regret(nb.Architecture.parse(before["architecture"])))
        assert of["test_measured"] and of["validation_error"] == before["validation_error"]
        assert [entry[:4] for entry in of["incumbents"]] == [entry[:4] for entry in before["incumbents"]]
        assert of["incumbents"][-1][5] == of["test_regret"]


def read(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_an_unfinished_black_box_study_is_reported_as_far_as_it_is(tmp_path, capsys):
    study = make.black_box(tmp_path / "study", repeats=4)
    (study.folder / "summary.json").unlink()
    lines = (study.folder / "metrics.jsonl").read_text().splitlines(keepends=True)
    (study.folder / "metrics.jsonl").write_text("".join(lines[:2]))
    main(["report", str(study.folder)])
    assert "Not finished: 2 of 4 searches." in capsys.readouterr().out
