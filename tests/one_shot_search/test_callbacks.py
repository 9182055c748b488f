"""Callbacks receive every epoch and cannot change a search."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.conformance.tiny_search import TINY, differences, random_images, tiny_search
from nasbench1shot1.one_shot_search.callbacks import Epoch

BACKENDS: Any = torch.backends


def modify_everything(epoch: Epoch) -> None:
    """Modify everything that a callback can reach."""
    torch.manual_seed(epoch.line["epoch"])
    torch.rand(100)
    torch.set_num_threads(2)
    BACKENDS.cudnn.conv.fp32_precision = "tf32"
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    epoch.line["other_datasets"]["cifar100"] = {"test_regret": 0.0}
    for values in epoch.architecture_parameters.values():
        values[:] = 7.0


def test_callbacks_receive_every_recorded_epoch_and_cannot_change_the_search(tmp_path: Path) -> None:
    options = {"optimizer": "gdas", "images": str(random_images(tmp_path))}
    seen, precisions = list[Epoch](), list[str]()
    before = BACKENDS.cudnn.conv.fp32_precision

    def look(epoch: Epoch) -> None:
        precisions.append(BACKENDS.cudnn.conv.fp32_precision)

    plain = tiny_search(tmp_path / "plain", options)
    called = tiny_search(tmp_path / "called", {**options, "callbacks": [look, seen.append, modify_everything]})
    assert precisions == ["ieee"] * len(called.lines)  # convolutions of float32 are not rounded to TF32
    assert BACKENDS.cudnn.conv.fp32_precision == before
    assert differences(plain, called) == []
    assert [dict(epoch.line) for epoch in seen] == called.lines
    assert [epoch.architecture for epoch in seen] == called.architectures
    assert {epoch.folder for epoch in seen} == {called.folder}
    assert "callbacks" not in called.config
    with pytest.raises(TypeError):
        seen[0].line["test_regret"] = 0.0  # type: ignore[index]
    meddled = {key: np.full_like(values, 7.0) for key, values in seen[0].architecture_parameters.items()}
    assert all((values != meddled[key]).any() for key, values in seen[0].architecture_parameters.items())


def test_callbacks_cannot_move_a_search_to_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (other := tmp_path / "data" / "run").mkdir(parents=True)
    (other / "mine.txt").touch()
    monkeypatch.chdir(tmp_path)
    options: dict[str, Any] = {"images": str(random_images(tmp_path)), "epochs": 1}
    plain = tiny_search(Path("plain"), options)
    options["callbacks"] = [lambda epoch: os.chdir(tmp_path / "data")]
    run = tiny_search(Path("run"), options)
    assert run.folder == tmp_path / "run" and plain.folder == tmp_path / "plain"
    assert [path.name for path in other.iterdir()] == ["mine.txt"]
    os.chdir(tmp_path)
    assert plain.folder == Path("plain") and differences(plain, run) == []
    group = nb.search_seeds([0, 1], out="group", console=Console(quiet=True), **{**TINY, **options})
    assert group.is_finished and group.folder == Path("group") and Path.cwd() == tmp_path


FEW = {"candidates": 3, "candidate_batches": 1, "finalists": 2}


@pytest.mark.parametrize(
    "options",
    [
        {"optimizer": "spos", **FEW, "generations": 2, "population": 4, "crossovers": 1, "mutations": 1},
        {"optimizer": "gaea", "returned_epoch": "best", "epochs": 4, "architecture_learning_rate": 3.0},
        {"optimizer": "random-ws", **FEW, "final_candidates": 20},
    ],
    ids=lambda options: options["optimizer"],
)
def test_callbacks_receive_lambda_as_it_is_recorded(tmp_path: Path, options: dict[str, Any]) -> None:
    """A final selection ends the record, and is undone in the search."""
    seen = list[Epoch]()
    run = tiny_search(tmp_path / "run", {"images": str(random_images(tmp_path)), **options, "callbacks": [seen.append]})
    assert len(seen) == len(run.lines)
    for number, epoch in enumerate(seen):
        assert set(epoch.architecture_parameters) == set(run.architecture_parameters)
        for key, values in epoch.architecture_parameters.items():
            assert values.dtype == np.float32
            np.testing.assert_array_equal(values, run.architecture_parameters[key][number])


def test_a_run_with_a_failing_callback_can_be_resumed(tmp_path: Path) -> None:
    options = {"images": str(random_images(tmp_path))}
    seen = list[int]()

    def fail(epoch: Epoch) -> None:
        if epoch.line["epoch"] == 1:
            raise RuntimeError("the dashboard is away")

    with pytest.raises(RuntimeError, match="dashboard"):
        tiny_search(tmp_path / "failed", {**options, "callbacks": [fail]})
    resumed = nb.search(resume=tmp_path / "failed", callbacks=[lambda epoch: seen.append(epoch.line["epoch"])])
    assert seen == [2]
    assert differences(tiny_search(tmp_path / "whole", options), resumed) == []


def test_callbacks_must_be_a_list_of_functions(tmp_path: Path) -> None:
    for wrong in (print, [3], (function for function in [print])):
        with pytest.raises(nb.InvalidInputError, match=r"callbacks=\[function\]"):
            nb.search(callbacks=wrong, out=tmp_path / "run", scale="quick")
    assert not (tmp_path / "run").exists()
