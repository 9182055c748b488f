"""Recorded errors that differ from the table's values are reported, and only these."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import compared_runs as make
import pytest

import nasbench1shot1 as nb
from nasbench1shot1.evaluator import Judge
from nasbench1shot1.experiments.comparison.comparing import compare_runs
from nasbench1shot1.experiments.reports import write_report, write_study_report
from nasbench1shot1.experiments.rescoring import ERRORS, difference
from nasbench1shot1.proposers.configurations import parse_id
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tuning.evaluation import loss_of
from nasbench1shot1.tuning.record import Study
from nasbench1shot1.tuning.trials import Trial


def change(folder: Path, number: int, **values: float) -> None:
    """Change recorded values of a line of an unfinished run."""
    (folder / "summary.json").unlink(missing_ok=True)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    lines[number] |= values
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_equal_values_are_not_mentioned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, study = make.search(tmp_path / "run", [3, 2, 1]), make.tuning(tmp_path / "study")
    compare_runs([run, study])
    write_report(run, nb.load_table(), tmp_path / "report")
    write_study_report(study, nb.load_table(), tmp_path / "study-report")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("field", ["table_validation_error", "table_test_error"])
def test_a_changed_error_of_a_search_is_reported(
    tmp_path: Path, field: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make.search(tmp_path / "run", [3, 2, 1], finished=False)
    change(tmp_path / "run", 1, **{field: 0.4321})
    run = nb.load_run(tmp_path / "run")
    acts: list[Callable[[], Any]] = [
        lambda: compare_runs([run]),
        lambda: compare_runs([run], table=nb.load_table()),
        lambda: write_report(run, nb.load_table(), tmp_path / "report"),
    ]
    for act in acts:
        act()
        [line] = capsys.readouterr().err.splitlines()
        for part in (str(run.folder), "epoch 1", "43.21 %", nb.load_table().id):
            assert part in line


def with_losses(folder: Path, table: Table, **options: Any) -> Study:
    """A study whose losses are what its trials would record with a table."""
    study = make.tuning(folder, **options)
    make.with_facts(folder, table_id=table.id)
    study = Study.open(folder)
    for number, line in enumerate(study.lines):
        arch, identity = nb.Architecture.parse(line["architecture"]), line["configuration_id"]
        trial = Trial(parse_id(identity), study.configuration(identity), line["budget"])
        found = Judge.from_config(study.config, folder / "config.json").score(arch, table)
        errors = {field: getattr(found, field) for field in ERRORS}
        change(folder, number, **errors, loss=loss_of(study, table, arch, trial))
    return Study.open(folder)


@pytest.mark.parametrize("objective", [None, "test_accuracy"])
@pytest.mark.parametrize("repeat", ["mean", "random"])
def test_a_changed_loss_of_a_trial_is_reported(
    tmp_path: Path, measured_table: Table, repeat: str, objective: str | None
) -> None:
    study = with_losses(tmp_path / "study", measured_table, repeat=repeat, objective=objective)
    assert difference(study, measured_table) == ""
    guide = "table_test_error" if objective else "table_validation_error"
    means_only = all(line["loss"] == line[guide] for line in study.lines)
    assert means_only == (repeat == "mean")  # the repeats of the table differ
    change(study.folder, 1, loss=study.lines[1]["loss"] + 0.001)
    said = difference(Study.open(study.folder), measured_table)
    assert "observation 1" in said and "loss" in said


def test_runs_of_another_table_are_not_compared(tmp_path: Path) -> None:
    make.search(tmp_path / "run", [3, 2, 1], finished=False)
    change(tmp_path / "run", 1, table_test_error=0.4321)
    make.with_facts(tmp_path / "run", table_id="another-v1-0000000")
    assert difference(nb.load_run(tmp_path / "run"), nb.load_table()) == ""
