"""Files of records with made-up searches, for tests that read their options, regrets and table ids."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas

from nasbench1shot1.runs.folder import CONFIG, SUMMARY

CONFIG_OF_SEARCHES = {
    "scale": "full",
    "preset": "corrected",
    "epochs": 50,
    "images": "cifar10",
    "images_per_half": 20_000,
    "image_side": 32,
    "channels": 16,
    "cells": 9,
    "precision": "float32",
    "dataset": "cifar10",
    "table_id": "made",
}


def write_records(
    path: Path, figure: str | None, regrets: Mapping[str, Sequence[float]], measured: bool = True, **options: Any
) -> None:
    """Write a file of records: for each "panel/curve", the constant test regret of each seed, in percent."""
    with zipfile.ZipFile(path, "w") as archive:
        if figure is not None:
            archive.writestr("figure.json", json.dumps({"figure": figure}))
        for place, values in regrets.items():
            panel, curve = place.split("/")
            for seed, value in enumerate(values):
                config = {**CONFIG_OF_SEARCHES, "space": panel, "optimizer": curve, **options}
                made = {"config": config, "regret": value / 100, "measured": measured}
                archive.writestr(f"{place}/seed-{seed}/{CONFIG}", json.dumps(made))
                archive.writestr(f"{place}/seed-{seed}/{SUMMARY}", "{}")


def open_made(folder: Path) -> SimpleNamespace:
    """Open a search of `write_records`, in place of `open_run`."""
    made = json.loads((folder / CONFIG).read_text())
    line = {"test_regret": made["regret"], "validation_regret": made["regret"], "test_measured": made["measured"]}
    lines = [{**line, "architecture": made["config"].get("architecture")}] * 2
    return SimpleNamespace(
        folder=folder, config=made["config"], lines=lines, summary={}, metrics=pandas.DataFrame(lines)
    )
