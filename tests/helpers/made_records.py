"""Files of records with made-up searches, for tests that read their options, regrets and table ids."""

import io
import json
import tarfile
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
    files = {} if figure is None else {"figure.json": json.dumps({"figure": figure}).encode()}
    for place, values in regrets.items():
        panel, curve = place.split("/")
        for seed, value in enumerate(values):
            config = {**CONFIG_OF_SEARCHES, "space": panel, "optimizer": curve, **options}
            made = {"config": config, "regret": value / 100, "measured": measured}
            files[f"{place}/seed-{seed}/{CONFIG}"] = json.dumps(made).encode()
            files[f"{place}/seed-{seed}/{SUMMARY}"] = b"{}"
    write_packed(path, files)


def write_packed(path: Path, files: Mapping[str, bytes], **options: Any) -> None:
    """Write an archive in the format of `reproduce --pack`. Further arguments are passed to `tarfile.open`."""
    with tarfile.open(path, "w:xz", **options) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def read_packed_files(path: Path) -> dict[str, bytes]:
    """Return the files of an archive of `reproduce --pack` by name, without the product's reader."""
    with tarfile.open(path) as archive:
        files = {member.name: archive.extractfile(member) for member in archive}
        return {name: file.read() for name, file in files.items() if file is not None}


def open_made(folder: Path) -> SimpleNamespace:
    """Open a search of `write_records`, in place of `open_run`."""
    made = json.loads((folder / CONFIG).read_text())
    line = {"test_regret": made["regret"], "validation_regret": made["regret"], "test_measured": made["measured"]}
    lines = [{**line, "architecture": made["config"].get("architecture")}] * 2
    return SimpleNamespace(
        folder=folder,
        config=made["config"],
        lines=lines,
        shared_lines=lines,
        summary={},
        metrics=pandas.DataFrame(lines),
    )
