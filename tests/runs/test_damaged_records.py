"""Records damaged after writing: every reader reports this in one sentence and invents nothing."""

import errno
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from refusals import exits, refuses
from rich.console import Console
from tiny_search import search

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.runs.folder import read_lines


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> nb.Run:
    return search(tmp_path_factory.mktemp("finished") / "run")


@pytest.fixture
def folder(finished, tmp_path) -> Path:
    return Path(shutil.copytree(finished.folder, tmp_path / "run"))


def resume(folder: Path) -> nb.Run:
    return nb.search(resume=folder, console=Console(quiet=True))


def without_last_line(text: str) -> str:
    return "".join(text.splitlines(keepends=True)[:-1])


def changed(**fields):
    """Change the values of some fields in the last line."""

    def change(text: str) -> str:
        *lines, last = text.splitlines()
        return "\n".join([*lines, json.dumps({**json.loads(last), **fields}), ""])

    return change


LINES = {
    "lost last line": without_last_line,
    "lost final newline": lambda text: text[:-1],
    "empty": lambda text: "",
    "null seconds": changed(search_seconds=None),
    "seconds as text": changed(search_seconds="2"),
    "an error that is NaN": changed(one_shot_validation_error=float("nan")),
    "an infinite error": changed(train_loss=float("inf")),
    "empty architecture": changed(architecture=""),
    "another architecture": changed(architecture="s1:0|0,1|0,1|1,2|0,2:conv1x1,conv1x1,conv1x1,conv1x1"),
    "a changed digit": changed(test_regret=0.0123456789),
    "a boolean instead of a number": changed(test_regret=True),
    "a number too large for a float": changed(search_seconds=10**400),
    "an extra field": changed(more=1),
    "deeply nested": lambda text: text + "[" * 100_000 + "\n",
    "not JSON": lambda text: text + "epoch 5\n",
}


@pytest.mark.parametrize("damage", LINES.values(), ids=LINES.keys())
def test_damaged_lines_of_a_finished_run_are_refused_by_report_and_on_resuming(folder, damage, capsys):
    path = folder / "metrics.jsonl"
    path.write_text(damage(path.read_text()))
    with pytest.raises(nb.DamagedFileError, match=r"metrics\.jsonl"):
        _ = nb.load_run(folder).metrics
    with exits(capsys):
        cli.main(["report", str(folder)])
    assert not list(folder.glob("report-*"))
    before = path.read_bytes()
    with pytest.raises(nb.DamagedFileError):
        resume(folder)
    assert path.read_bytes() == before


def test_a_finished_run_without_its_lines_is_refused(folder):
    (folder / "metrics.jsonl").unlink()
    with refuses(nb.DamagedFileError, "metrics.jsonl", "summary.json"):
        _ = nb.load_run(folder).lines


@pytest.mark.parametrize("searched", [None, [], {}, "four", 4.0, True])
def test_a_damaged_summary_is_refused(folder, searched):
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps({**summary, "searched_epochs": searched}))
    with pytest.raises(nb.DamagedFileError):
        _ = nb.load_run(folder).metrics


@pytest.mark.parametrize("regret", ["0.01", True, {}])
def test_a_summary_with_an_impossible_regret_is_refused(folder, regret):
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps({**summary, "test_regret": regret}))
    with refuses(nb.DamagedFileError, folder / "summary.json", "test_regret"):
        _ = nb.load_run(folder).result


@pytest.mark.parametrize("field", ["architecture", "table_test_error", "validation_measured", "other_datasets"])
def test_a_summary_without_a_field_is_refused(folder, field):
    summary = json.loads((folder / "summary.json").read_text())
    del summary[field]
    (folder / "summary.json").write_text(json.dumps(summary))
    with refuses(nb.DamagedFileError, folder / "summary.json", field):
        _ = nb.load_run(folder).summary


ELSEWHERE = dict.fromkeys(("table_validation_error", "table_test_error", "validation_regret", "test_regret"), 0.1)
OTHER_DATASETS = {
    "a number": '{"cifar100": 5}',
    "without fields": '{"cifar100": {}}',
    "infinite": json.dumps({"cifar100": ELSEWHERE}).replace("0.1", "1e400"),
    "text": json.dumps({"cifar100": {**ELSEWHERE, "test_regret": "low"}}),
    "in one line only": json.dumps({"cifar100": ELSEWHERE}),
}


@pytest.mark.parametrize("is_finished", [True, False])
@pytest.mark.parametrize("values", OTHER_DATASETS.values(), ids=OTHER_DATASETS.keys())
def test_damaged_values_of_other_data_sets_are_refused(folder, values, is_finished):
    if not is_finished:
        (folder / "summary.json").unlink()
    *lines, last = (folder / "metrics.jsonl").read_text().splitlines()
    (folder / "metrics.jsonl").write_text(
        "\n".join([*lines, last.replace('"other_datasets": {}', f'"other_datasets": {values}'), ""])
    )
    with refuses(nb.DamagedFileError, folder / "metrics.jsonl"):
        nb.load_run(folder).to_frame()


@pytest.mark.parametrize("is_finished", [True, False])
def test_a_folder_in_place_of_the_lines_is_refused(folder, is_finished):
    if not is_finished:
        (folder / "summary.json").unlink()
    (folder / "metrics.jsonl").unlink()
    (folder / "metrics.jsonl").mkdir()
    with refuses(nb.DamagedFileError, folder / "metrics.jsonl"):
        _ = nb.load_run(folder).lines


def test_weights_that_the_system_does_not_list_are_not_called_missing(folder, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    with refuses(nb.UserError, folder / "weights", "permissions"):
        nb.load_run(folder).supernet(1)


def test_a_newly_started_run_without_lines_is_valid(folder):
    (folder / "summary.json").unlink()
    (folder / "metrics.jsonl").unlink()
    run = nb.load_run(folder)
    assert run.lines == []
    assert run.metrics.empty
    assert not run.is_finished


def saved(path: Path, change) -> None:
    with np.load(path) as stored:
        arrays = {key: change(stored[key]) for key in stored.files}
    np.savez(path, **arrays)


LAMBDA = {
    "changed digits": lambda values: values + np.float32(1e-3),
    "NaN": lambda values: np.full_like(values, np.nan),
    "a missing epoch": lambda values: values[:-1],
    "an epoch of one array too many": lambda values: values if values.ndim < 3 else np.concatenate([values, values]),
    "text": lambda values: np.full(values.shape, "x"),
    "no axis": lambda values: np.float32(0),
}


@pytest.mark.parametrize("change", LAMBDA.values(), ids=LAMBDA.keys())
def test_damaged_architecture_parameters_are_refused(folder, change):
    saved(folder / "architecture_parameters.npz", change)
    with pytest.raises(nb.DamagedFileError, match="architecture_parameters"):
        _ = nb.load_run(folder).architecture_parameters
    before = (folder / "metrics.jsonl").read_bytes()
    with pytest.raises(nb.DamagedFileError, match="architecture_parameters"):
        resume(folder)
    assert (folder / "metrics.jsonl").read_bytes() == before


def test_a_changed_digit_before_the_checkpoint_of_a_stopped_run_is_refused(folder):
    (folder / "summary.json").unlink()
    lines = read_lines(folder / "metrics.jsonl")
    lines[1]["search_seconds"] += 1
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with refuses(nb.DamagedFileError, folder, "metrics_sha256"):
        resume(folder)


CONFIG = {
    "an option is missing": lambda content: content["options"].pop("seed"),
    "a method option is missing": lambda content: content["optimizer_options"].pop("relaxation"),
    "an option has another type": lambda content: content["options"].update(epochs="4"),
    "an option is out of range": lambda content: content["options"].update(channels=0),
    "a section is a list": lambda content: content.update(options=[]),
    "the kind is a number": lambda content: content.update(kind=3),
    "an option too large for a float": lambda content: content["options"].update(learning_rate=10**400),
    "an option that cannot be a path": lambda content: content["options"].update(images="\ud800"),
    "a fact is missing": lambda content: content.pop("weight_images"),
    "a fact is null": lambda content: content.update(table_id=None),
}


@pytest.mark.parametrize("change", CONFIG.values(), ids=CONFIG.keys())
def test_a_damaged_configuration_is_refused(folder, change):
    path = folder / "config.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(nb.DamagedFileError, match=r"config\.json"):
        resume(folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_a_run_without_a_first_line_is_unfinished_and_not_damaged(folder):
    (folder / "metrics.jsonl").unlink()
    assert repr(nb.load_run(folder)).endswith("files missing or damaged)")
    (folder / "summary.json").unlink()
    assert repr(nb.load_run(folder)).endswith(", unfinished)")
