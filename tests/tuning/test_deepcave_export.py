"""The export of a study for DeepCAVE, read back as its `DataFrameRun` (1.4.1) reads the two files."""

import re
from pathlib import Path

import ConfigSpace as CS
import pandas as pd
import pytest
from refusals import exits, refuses
from rich.console import Console
from synthetic_study import write_study

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.tuning.deepcave import export_deepcave
from nasbench1shot1.tuning.record import Study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("deepcave") / "study"
    return write_study(
        folder, config_space="cs3", diverges=lambda c: c["learning_rate"] > 0.3, min_budget=2, max_budget=8
    )


def read_space(folder: Path) -> CS.ConfigurationSpace:
    """Follow the steps of `DataFrameRun.load_configspace`."""
    frame, space = pd.read_csv(folder / "configspace.csv"), CS.ConfigurationSpace()
    for _, row in frame.iterrows():
        name, default = str(row["name"]), row["default"]
        if row["type"] == "categorical":
            items = [str(row[column]) for column in frame if column.startswith("item_") and pd.notna(row[column])]
            ordered = False if pd.isna(row["ordered"]) else row["ordered"]
            space.add(CS.Categorical(name, items, default=default, ordered=ordered))
            continue
        kind, make = (float, CS.Float) if row["type"] == "float" else (int, CS.Integer)
        default = None if pd.isna(default) else kind(default) if kind is float else default
        space.add(make(name, (kind(row["lower"]), kind(row["upper"])), default=default, log=bool(row["log"])))
    return space


def test_deepcave_reads_every_observation(study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "exported"
    cli.main(["export", str(study.folder), "--deepcave", str(folder)])
    assert f"{len(study.lines)} trials" in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == ["configspace.csv", "trials.csv"]
    space, trials = read_space(folder), pd.read_csv(folder / "trials.csv")
    assert list(space) == list(study.config_space)
    (metric,) = [column for column in trials if column.startswith("metric")]
    form = r"metric:(\w+) \[(-?\d+\.?\d*|[-+]inf); (-?\d+\.?\d*|[-+]inf)\] \((\w+)\)"
    named = re.match(form, metric)
    assert named is not None and named.groups() == ("loss", "0.0", "1.0", "minimize")
    for (_, row), line in zip(trials.iterrows(), study.lines, strict=True):
        read = CS.Configuration(space, values=dict(row[list(space)]))
        own = study.configuration(line["configuration_id"])
        assert {name: str(value).removeprefix("choice ") for name, value in read.items()} == {
            name: str(value) for name, value in own.items()
        }
        assert row["status"] == ("crashed" if line["loss"] is None else "success")
        assert pd.isna(row[metric]) if line["loss"] is None else row[metric] == line["loss"]
        assert (row["budget"], row["start_time"], row["end_time"]) == (
            line["budget"],
            line["started"],
            line["finished"],
        )
    assert {"crashed", "success"} == set(trials["status"])


def test_what_deepcave_cannot_express_is_refused(study: Study, tmp_path: Path) -> None:
    conditional = CS.ConfigurationSpace({"learning_rate": (0.1, 0.5), "weight_decay": (1e-5, 1e-3)})
    conditional.add(CS.GreaterThanCondition(conditional["weight_decay"], conditional["learning_rate"], 0.2))
    object.__setattr__(study, "_config_space", conditional)
    with refuses(nb.InvalidInputError, "weight_decay", study.folder):
        export_deepcave(study, tmp_path / "exported")
    assert not list(tmp_path.iterdir())


def test_refusals_write_nothing(study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    with exits(capsys, "--deepcave", taken):
        cli.main(["export", str(study.folder), "--deepcave", str(taken)])
    with exits(capsys, "--optuna", "--deepcave"):
        cli.main(["export", str(study.folder)])
    nb.black_box("random", space="s1", evaluations=2, repeats=1, out=tmp_path / "random", console=Console(quiet=True))
    with exits(capsys, tmp_path / "random", "incumbents"):
        cli.main(["export", str(tmp_path / "random"), "--deepcave", str(tmp_path / "new")])
    assert not list(taken.iterdir()) and not (tmp_path / "new").exists()
