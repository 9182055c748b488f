"""Searches started by earlier versions, without later options, facts and fields."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
import torch

import nasbench1shot1 as nb

FEW = {
    "scale": "quick",
    "channels": 2,
    "cells": 1,
    "batch_size": 20,
    "images_per_half": 40,
    "image_side": 32,  # the images' own, as with None in earlier versions
    "threads": 1,
}


def made_earlier(folder: Path) -> None:
    """Remove everything that versions before nb201 did not write."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        del line["other_datasets"]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    config = json.loads((folder / "config.json").read_text())
    del config["options"]["nesterov"], config["options"]["image_side"], config["dataset"]
    (folder / "config.json").write_text(json.dumps(config))
    checkpoint = torch.load(folder / "checkpoint.pt", weights_only=True)
    del checkpoint["run"]["nesterov"], checkpoint["run"]["image_side"], checkpoint["recorded_sha256s"]
    torch.save(checkpoint, folder / "checkpoint.pt")


def test_a_search_of_a_version_without_nesterov_and_data_sets_is_resumed(tmp_path: Path) -> None:
    now = nb.search("darts", out=tmp_path / "now", epochs=1, **FEW).folder
    earlier = tmp_path / "earlier"
    shutil.copytree(now, earlier)
    (earlier / "summary.json").unlink()
    made_earlier(earlier)
    resumed, expected = (nb.search(resume=folder, epochs=2) for folder in (earlier, now))
    losses = [[line["train_loss"] for line in run.lines] for run in (resumed, expected)]
    assert losses[0] == losses[1]
    assert resumed.metrics.shape == expected.metrics.shape


def with_earlier_names(folder: Path) -> None:
    """Rewrite a search like versions that abbreviated "validation" in field names."""
    text = (folder / "metrics.jsonl").read_text()
    for current, earlier in (("validation_error", "valid_error"), ("validation_regret", "valid_regret")):
        text = text.replace(current, earlier)
    (folder / "metrics.jsonl").write_text(text := text.replace("validation_measured", "valid_measured"))
    recorded = hashlib.sha256(text.encode()).hexdigest()
    checkpoint = torch.load(folder / "checkpoint.pt", weights_only=True)
    checkpoint["recorded_sha256s"]["metrics_sha256"] = recorded
    torch.save(checkpoint, folder / "checkpoint.pt")
    summary = json.loads((folder / "summary.json").read_text())
    renamed = {name.replace("validation_", "valid_"): value for name, value in summary.items()}
    (folder / "summary.json").write_text(json.dumps({**renamed, "metrics_sha256": recorded}))


def test_records_with_earlier_field_names_are_read_resumed_and_checked(tmp_path: Path) -> None:
    now = nb.search("darts", out=tmp_path / "now", epochs=1, **FEW)
    shutil.copytree(now.folder, earlier := tmp_path / "earlier")
    with_earlier_names(earlier)
    assert '"valid_regret"' in (earlier / "metrics.jsonl").read_text()
    read = nb.load_run(earlier)
    assert read.metrics.equals(now.metrics)
    assert {**read.summary, "metrics_sha256": ""} == {**now.summary, "metrics_sha256": ""}

    shutil.copytree(earlier, changed := tmp_path / "changed")
    lines = (changed / "metrics.jsonl").read_text()
    (changed / "metrics.jsonl").write_text(lines.replace('"search_seconds": ', '"search_seconds": 1', 1))
    with pytest.raises(nb.DamagedFileError, match="summarises"):
        _ = nb.load_run(changed).lines

    resumed = nb.search(resume=earlier, epochs=2)
    assert [line["train_loss"] for line in resumed.lines[:2]] == [line["train_loss"] for line in now.lines]
    assert '"valid_regret"' not in (earlier / "metrics.jsonl").read_text()
