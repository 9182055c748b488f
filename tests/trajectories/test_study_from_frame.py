"""Trajectories of other programs from data frames: incumbents, regrets, refusals, comparison."""

import json
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from black_box_tables import S1, convolutions, s1_table, smooth_table
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import exits, refuses
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.experiments.comparison.comparing import compare_runs
from nasbench1shot1.nasbench201.architecture import EdgeArchitecture

matplotlib.use("agg")
QUIET = Console(quiet=True)
NB201 = nb.search_space("nb201")


@pytest.fixture(scope="module")
def smooth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with one value per cell; training takes `epochs` seconds."""
    folder = tmp_path_factory.mktemp("tables") / "smooth"
    smooth_table().save(folder)
    return folder


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with three different repeats of each cell."""
    folder = tmp_path_factory.mktemp("tables") / "noisy"
    accuracies = 0.5 + 0.1 * convolutions()[:, None, None] + np.array([-0.02, 0.0, 0.03]) + np.zeros((1, 4, 1))
    s1_table(accuracies, np.full(accuracies.shape, 100.0)).save(folder)
    return folder


def frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows)


def small(**changes: Any) -> pd.DataFrame:
    """Two runs of three trainings each, with changed columns; None removes a column."""
    columns = {"run": [0, 0, 0, 1, 1, 1], "seconds": [1.0, 2.0, 3.0] * 2, "architecture": [5, 700, 9000, 3, 4, 14579]}
    found = {name: values for name, values in {**columns, **changes}.items() if values is not None}
    return pd.DataFrame(found)


def test_a_trajectory_of_our_own_trainings_gives_our_own_study(noisy: Path, tmp_path: Path) -> None:
    rows = []
    with nb.objective("s1", table=noisy, evaluations=15, name="mine", out=tmp_path / "ours") as objective:
        for search in range(4):
            objective.reset(search)
            for _ in range(15):
                arch = S1.sample(objective.rng)
                answer = objective(arch, epochs=36 if search % 2 else 108)
                seen = {"seconds": answer.finished, "epochs": answer.epochs, "validation_error": answer.cost}
                rows.append({"run": f"seed {search}", "architecture": str(arch), **seen})
    ours = nb.open_run(tmp_path / "ours")
    found = nb.study_from_frame(frame(rows), "s1", table=noisy, name="mine", out=tmp_path / "theirs")
    assert found.lines == nb.open_run(tmp_path / "theirs").lines
    for line, own in zip(found.lines, ours.lines, strict=True):
        for entry, other in zip(line.pop("incumbents"), own.pop("incumbents"), strict=True):
            assert entry[:3] == other[:3] and entry[3:] == pytest.approx(other[3:], abs=0)
        assert line == own
    assert found.config["trajectory"]["runs"] == [f"seed {search}" for search in range(4)]
    assert found.feedback_repeats == {"36": [3, 3], "108": [3, 3]} == ours.feedback_repeats
    assert (tmp_path / "theirs" / "regret.png").is_file() and found.clock == "simulated_seconds"


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, len(S1) - 1), min_size=1, max_size=12), st.booleans())
def test_incumbents_are_the_lowest_table_errors_so_far(smooth: Path, numbers: list[int], is_timed: bool) -> None:
    at = np.arange(1, len(numbers) + 1)
    clock = {"seconds": at * 10.0} if is_timed else {"evaluation": at}
    table = nb.load_table(smooth)
    found = nb.study_from_frame(pd.DataFrame({"run": 0, "architecture": numbers, **clock}), "s1", table=table)
    errors = [1 - table.query(S1[number]).validation_accuracy for number in numbers]
    expected = [place for place in range(len(errors)) if errors[place] < min(errors[:place], default=2)]
    assert found.trajectory["evaluations"].tolist() == [place + 1 for place in expected]
    assert found.trajectory["validation_error"].tolist() == [errors[place] for place in expected]
    regrets = [table.regret(S1[numbers[place]]) for place in expected]
    assert found.trajectory["test_regret"].tolist() == pytest.approx(regrets)
    assert found.is_timed is is_timed
    assert found.clock == ("simulated_seconds" if is_timed else "evaluations")


def test_without_losses_the_mean_decides_and_captions_say_so(noisy: Path) -> None:
    table = nb.load_table(noisy)
    archs = list(S1.architectures("unique"))
    by_error = sorted(archs[:400], key=lambda arch: table.query(arch).validation_accuracy)
    worse, better = by_error[0], by_error[-1]
    assert table.query(better).validation_accuracy > table.query(worse).validation_accuracy
    mean = nb.study_from_frame(small(architecture=[str(better), str(worse), str(worse)] * 2), "s1", table=noisy)
    assert mean.trajectory["architecture"].tolist() == [str(better)] * 2 and mean.feedback_repeats == {}
    assert mean.lines[0]["validation_error"] == pytest.approx(1 - table.query(better).validation_accuracy)
    axes = nb.compare([mean], over="simulated-time")
    texts = " ".join(text.get_text() for text in axes.figure.texts)
    assert "mean validation errors" in texts and "the clock of its file" in texts


def test_architectures_may_be_texts_hashes_strings_numbers_or_configurations(smooth: Path) -> None:
    archs = [S1[number] for number in (5, 700, 9000, 3, 4, 14579)]
    by_number = nb.study_from_frame(small(), "s1", table=smooth).final
    texts = nb.study_from_frame(small(architecture=[str(arch) for arch in archs]), "s1", table=smooth).final
    ids = nb.study_from_frame(small(architecture=[arch.network_id for arch in archs]), "s1", table=smooth).final
    values = pd.DataFrame([dict(S1.to_configuration(arch)) for arch in archs])
    columns = nb.study_from_frame(small(architecture=None, **values), "s1", table=smooth).final
    assert by_number.equals(texts) and by_number.equals(columns)
    assert ids["test_regret"].tolist() == texts["test_regret"].tolist()  # copies of a network have one identifier
    official = [str(NB201[number]).partition(":")[2] for number in (1, 2, 3, 4, 5, 6)]
    renamed = pd.DataFrame([nb.objective("nb201").configuration(EdgeArchitecture.parse(text)) for text in official])
    found = [
        nb.study_from_frame(small(architecture=given, **more), "nb201").final
        for given, more in ((official, {}), (None, renamed), ([1, 2, 3, 4, 5, 6], {}))
    ]
    assert found[0].equals(found[1]) and found[0].equals(found[2])


BAD: dict[str, tuple[dict[str, Any], tuple[object, ...]]] = {
    "no run": ({"run": None}, ("row 4", "seconds", "add the column 'run'")),
    "numbers from 0": ({"seconds": None, "evaluation": [0, 1, 2] * 2}, ("row 1", "evaluation", "add 1 to all")),
    "no clock": ({"seconds": None}, ("seconds", "evaluation")),
    "no architecture": ({"architecture": None}, ("architecture", "choice_block_1_op")),
    "misspelled": ({"epoch": 4}, ("epoch", "epochs")),
    "in capitals": ({"Epochs": 4}, ("Epochs", "epochs")),
    "a budget": ({"budget": 4}, ("budget", "epochs")),
    "another program's error": ({"val_error": 0.4}, ("val_error", "validation_error")),
    "a third name of an error": ({"Valid Error": 0.4}, ("Valid Error", "validation_error")),
    "an accuracy": ({"validation_accuracy": 0.6}, ("validation_accuracy", "validation_error", "1 - accuracy")),
    "an abbreviated accuracy": ({"validation_acc": 0.6}, ("validation_acc", "validation_error", "1 - accuracy")),
    "an architecture in capitals": (
        {"architecture": None, "Architecture": 5},
        ("'Architecture' is probably 'architecture'", "rename"),
    ),
    "too many trainings": ({"seconds": None, "evaluation": [1, 2, 1e300] * 2}, ("row 3", "evaluation", "1e+300")),
    "missing run": ({"run": [0, 0, None, 1, 1, 1]}, ("row 3", "run")),
    "NA as run": ({"run": pd.array([0, 0, None, 1, 1, 1], "Int64")}, ("row 3", "run", "missing")),
    "missing architecture": ({"architecture": ["5", "6", "7", None, "8", "9"]}, ("row 4", "architecture")),
    "outside": ({"architecture": [5, 6, 14580, 7, 8, 9]}, ("row 3", "architecture", 14580)),
    "another text": ({"architecture": ["s1:none", *"56789"]}, ("row 1", "architecture", "s1:none")),
    "a fraction": ({"architecture": [5, 6, 7.5, 7, 8, 9]}, ("row 3", "architecture", 7.5)),
    "NaN clock": ({"seconds": [1, 2, np.nan, 1, 2, 3]}, ("row 3", "seconds", "nan")),
    "negative clock": ({"seconds": [1, 2, 3, -1, 2, 3]}, ("row 4", "seconds")),
    "decreasing clock": ({"seconds": [1, 2, 3, 1, 3, 2]}, ("row 6", "seconds", "row 5", "run '1'")),
    "a text as clock": ({"seconds": [1, 2, 3, 1, 3, "soon"]}, ("row 6", "seconds", "soon")),
    "a clock with an underscore": ({"seconds": [1, 2, 3, 1, 3, "1_000"]}, ("row 6", "seconds", "1_000")),
    "a clock that cannot be drawn": ({"seconds": [1, 2, 3, 1, 2, 1e300]}, ("row 6", "seconds", "1e+300", "1e+20")),
    "a clock beyond floats": ({"seconds": [1, 2, 3, 1, 2, 10**400]}, ("row 6", "seconds", "1e+20")),
    "an unknown hash": ({"architecture": ["f" * 32, *"56789"]}, ("row 1", "architecture", "no network", "f" * 32)),
    "zero clock": ({"seconds": 0, "architecture": [5, 6, 7, 8, 9, 10]}, ("seconds", "evaluation")),
    "training 0": ({"evaluation": [0, 1, 2] * 2}, ("row 1", "evaluation")),
    "twice numbered": ({"evaluation": [1, 2, 2, 1, 2, 3]}, ("rows 2 and 3", "evaluation", "run '0'")),
    "twice": ({"seconds": [1, 2, 2, 1, 2, 3], "architecture": [5, 6, 6, 7, 8, 9]}, ("rows 2 and 3", "seconds")),
    "epochs": ({"epochs": [4, 4, 0, 4, 4, 4]}, ("row 3", "epochs")),
    "another loss": ({"validation_error": [0.4, 0.4, 0.4, 0.4, 0.4, 0.123]}, ("row 1", "validation_error", 0.4)),
    "a loss in percent": ({"validation_error": [0.4, 40.0, 0.4, 0.4, 0.4, 0.4]}, ("row 2", "validation_error", 100)),
    "missing loss": ({"validation_error": [np.nan, 1, 1, 1, 1, 1]}, ("row 1", "validation_error")),
    "no rows": ({"run": [], "seconds": [], "architecture": []}, ("rows",)),
}


@pytest.mark.parametrize(("changes", "named"), BAD.values(), ids=BAD)
def test_every_problem_is_one_sentence_and_nothing_is_written(
    changes: dict[str, Any], named: tuple[object, ...], smooth: Path, tmp_path: Path
) -> None:
    with refuses(nb.InvalidInputError, *named):
        nb.study_from_frame(small(**changes), "s1", table=smooth, out=tmp_path / "study")
    assert not list(tmp_path.iterdir())


def test_a_frame_without_runs_is_one_run(smooth: Path) -> None:
    frame = small().iloc[:3]
    expected = nb.study_from_frame(frame, "s1", table=smooth)
    found = nb.study_from_frame(frame.drop(columns="run"), "s1", table=smooth)
    assert found.final.equals(expected.final) and len(found.lines) == 1
    with refuses(nb.InvalidInputError, "seed", "run"):
        nb.study_from_frame(frame.rename(columns={"run": "seed"}), "s1", table=smooth)


def test_other_columns_are_ignored(smooth: Path) -> None:
    expected = nb.study_from_frame(small(epochs=108), "s1", table=smooth)
    found = nb.study_from_frame(small(epochs=108, budget=4, note="x", test_accuracy=0.5), "s1", table=smooth)
    assert found.final.equals(expected.final)


def test_configurations_outside_the_space_are_refused(smooth: Path) -> None:
    values = pd.DataFrame([dict(S1.to_configuration(S1[number])) for number in range(6)])
    values.loc[2, "choice_block_1_op"] = "conv7x7"
    with refuses(nb.InvalidInputError, "row 3", "choice_block_1_op", "conv7x7"):
        nb.study_from_frame(small(architecture=None, **values), "s1", table=smooth)
    with refuses(nb.InvalidInputError, "random", "nb.black_box"):
        nb.study_from_frame(small(), "s1", table=smooth, name="random")
    with refuses(nb.InvalidInputError, "data frame"):
        nb.study_from_frame([1], "s1", table=smooth)  # type: ignore[arg-type]


def test_a_partial_table_fails_trainings_of_architectures_that_it_lacks() -> None:
    nb101, table, rng = nb.search_space("nb101"), nb.load_table("nb101-sample"), np.random.default_rng(0)
    drawn = [nb101.sample(rng) for _ in range(300)]
    known = next(arch for arch in drawn if arch in table)
    lacking = [str(arch) for arch in drawn if arch not in table][:5]
    rows = small(architecture=[*lacking[:2], str(known), str(known), *lacking[2:4]])
    with refuses(nb.UserError, "reference"):
        nb.study_from_frame(rows, "nb101", table=table)
    found = nb.study_from_frame(rows, "nb101", table=table, reference="present")
    assert found.trajectory["architecture"].tolist() == [str(known)] * 2
    assert found.trajectory["evaluations"].tolist() == [3, 1]
    with refuses(nb.InvalidInputError, "run '1'"):
        nb.study_from_frame(
            small(architecture=[str(known)] * 3 + lacking[:3]), "nb101", reference="present", table=table
        )


def test_a_clock_counts_on_a_table_without_training_times(tmp_path: Path) -> None:
    timed = s1_table(*[np.full((2685, 4, 1), 0.5)] * 2)
    columns = {name: values for name, values in timed.columns().items() if name != "training_time"}
    about = timed.description
    about["columns"] = {name: of for name, of in about["columns"].items() if name != "training_time"}
    nb.Table.from_columns(columns, about).save(tmp_path / "table")
    found = nb.study_from_frame(small(), "s1", table=tmp_path / "table")
    assert found.is_timed and found.trajectory["simulated_seconds"].tolist() == [1.0, 1.0]
    numbered = nb.study_from_frame(small(seconds=None, evaluation=[2, 5, 9] * 2), "s1", table=tmp_path / "table")
    assert numbered.config["evaluations"] == 9 and numbered.trajectory["evaluations"].tolist() == [2, 2]


def test_without_epochs_the_budget_is_the_objectives_default() -> None:
    found = nb.study_from_frame(small(architecture=[9, 9, 9] * 2), "nb201")
    error = 1 - nb.load_table("nb201").query(NB201[9], epochs=12, dataset="cifar10-valid").validation_accuracy
    assert nb.objective("nb201").default_epochs == 12 and found.lines[0]["validation_error"] == pytest.approx(error)


def test_a_temporary_study_is_removed_and_another_program_is_not_continued(smooth: Path, tmp_path: Path) -> None:
    found = nb.study_from_frame(small(), "s1", table=smooth)
    folder = found.folder
    assert folder.is_dir() and "trajectory on s1" in repr(found)
    del found
    assert not folder.exists() and not folder.parent.exists()
    nb.study_from_frame(small(), "s1", table=smooth, out=tmp_path / "kept")
    with refuses(nb.InvalidInputError, tmp_path / "kept", options="out"):
        nb.objective(resume=tmp_path / "kept")
    with refuses(nb.InvalidInputError, tmp_path / "kept", options="out"):
        nb.study_from_frame(small(), "s1", table=smooth, out=tmp_path / "kept")


def test_a_trajectory_with_the_name_of_a_bounded_studys_folder_is_not_compared_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bounded = nb.black_box("random", space="nb201", bounds={"flops": 1e8}, evaluations=3, out="mine", console=QUIET)
    found = nb.study_from_frame(small(seconds=None, evaluation=[1, 2, 3] * 2), "nb201", name="mine")
    with refuses(nb.InvalidInputError, "'mine' has", f"'{found.folder}' has no bounds"):
        compare_runs([bounded, found], over="evaluations", labels=["ours", "theirs"])


@pytest.mark.parametrize("damage", [["mine"], {"losses": False, "source": 5}])
def test_a_damaged_description_of_a_trajectory_is_named(smooth: Path, tmp_path: Path, damage: Any) -> None:
    found = nb.study_from_frame(small(), "s1", table=smooth, out=tmp_path / "kept")
    config = json.loads((found.folder / "config.json").read_text())
    (found.folder / "config.json").write_text(json.dumps({**config, "trajectory": damage}))
    with refuses(nb.DamagedFileError, found.folder / "config.json", "trajectory"):
        nb.open_run(found.folder)


def test_compare_reads_csv_files(
    smooth: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ours = nb.black_box("random", space="s1", table=smooth, seconds=900, repeats=3, out="random", console=QUIET)
    small().to_csv("mine.csv", index=False)
    small(seconds=None, evaluation=[1, 2, 3] * 2).to_csv("other.csv", index=False)
    cli.main(["compare", "random", "--csv", "mine.csv:My method", "--out", "figure"])
    results = pd.read_csv("figure/comparison.csv")
    assert results["label"].tolist() == ["random", "My method"] and results["n"].tolist() == [3, 2]
    assert results["folder"].tolist() == ["random", "mine.csv"]
    both = ["--csv", "mine.csv", "--csv", "other.csv:B", "--over", "evaluations", "--space", "s1"]
    cli.main(["compare", *both, "--table", str(smooth), "--out", "figure"])
    assert pd.read_csv("figure/comparison.csv")["label"].tolist() == ["mine", "B"]
    with exits(capsys, "'mine.csv'", "--over"):
        cli.main(["compare", *both[:4], "--over", "epochs", "--space", "s1", "--table", str(smooth), "--out", "new"])
    small().to_csv("darts.csv", index=False)
    cli.main(["compare", "random", "--csv", "darts.csv", "--out", "figure"])
    assert pd.read_csv("figure/comparison.csv")["label"].tolist() == ["random", "darts.csv"]
    found = compare_runs([ours, nb.study_from("mine.csv", "s1", table=smooth, name="mine")])
    assert found.results["label"].tolist() == ["random", "mine"] and found.over == "simulated-time"
    frames = [nb.study_from_frame(small(), "s1", table=smooth, name=name) for name in ("A", "B")]
    assert compare_runs(frames).results["folder"].tolist() == ["A", "B"]
    with refuses(nb.InvalidInputError, "'A' is given twice:"):
        compare_runs([frames[0], frames[0]])
    with exits(capsys, "--space"):
        cli.main(["compare", "--csv", "mine.csv"])
    for name, value in (("--space", "s1"), ("--epochs", "4")):
        with exits(capsys, "--csv", name):
            cli.main(["compare", "random", name, value])
    with exits(capsys, "--epochs", "0"):
        cli.main(["compare", "random", "--csv", "mine.csv:A", "--epochs", "0", "--out", "new"])
    cli.main(["compare", "random", "--csv", "mine.csv:A", "--epochs", "4", "--out", "figure"])
    assert pd.read_csv("figure/comparison.csv")["label"].tolist() == ["random", "A"]
    with exits(capsys, "missing.csv"):
        cli.main(["compare", "random", "--csv", "missing.csv:A", "--out", "new"])
    for label, *said in (("A,B", "'B'", "comma"), ("50%", "50%", "label"), ("random", "random", "label")):
        with exits(capsys, *said, "--csv"):
            cli.main(["compare", "random", "--csv", f"mine.csv:{label}", "--out", "new"])
    small(seconds=[1, 2, 3, 1, 3, 2]).to_csv("wrong.csv", index=False)
    with exits(capsys, "wrong.csv", "row 6", "seconds"):
        cli.main(["compare", "random", "--csv", "wrong.csv:A", "--out", "new"])
    assert not Path("new").exists()
