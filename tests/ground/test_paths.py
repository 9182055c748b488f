"""Paths given by users: usable or refused in one sentence."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.experiments.reproduction.reproducing import reproduce
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.tables.importing import import_table, open_official

UNUSABLE = {
    "~nosuchuser/x": "no such user's home folder",
    "a" * 300: "File name too long",
    "a/" * 3000: "File name too long",
    "not-utf-8-\udcff": "it is not UTF-8",
    "a\0b": "null byte",
    "": "it is empty",
}


@pytest.mark.parametrize("value", UNUSABLE)
def test_refusals_of_unusable_paths_name_the_option_and_the_value(value: str) -> None:
    with pytest.raises(InvalidInputError, match=UNUSABLE[value]) as refusal:
        as_path(value, "out", is_option=True)
    said = str(refusal.value)
    assert said.startswith('out="') and said.endswith(": give another") and said.isprintable()
    assert len(said) < 400


@pytest.mark.parametrize("value", [3, b"bytes", None])
def test_a_path_that_is_not_text_is_refused(value: object) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(f"out {value} is")):
        as_path(value, "out")  # type: ignore[arg-type]


def test_circular_symbolic_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    with refuses(InvalidInputError, tmp_path / "circle", options="out"):
        as_path(tmp_path / "circle", "out", is_option=True)


def test_a_folder_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[str] = []

    def refuse(path: str) -> None:  # root, which often runs the tests, may read everything
        refused.append(path)
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("nasbench1shot1.ground.files.os.stat", refuse)
    with refuses(InvalidInputError, tmp_path / "locked", options="out"):
        as_path(tmp_path / "locked", "out", is_option=True)
    monkeypatch.undo()
    assert refused == [f"{tmp_path}/locked/."]


def test_valid_paths_are_returned_whether_or_not_the_file_exists(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (
        tmp_path,
        tmp_path / "missing" / "x",
        tmp_path / "file" / "x",
        Path("/dev/full"),
        tmp_path / "[/red] ü",
    ):
        assert as_path(path, "out", is_option=True) == as_path(str(path), "out", is_option=True) == path
    assert as_path("~/x", "out", is_option=True) == Path.home() / "x"


@pytest.mark.parametrize(
    "call",
    [
        lambda path, _: import_table(path, "out"),
        lambda path, file: import_table(file, path),
        lambda path, _: open_official(path),
        lambda path, _: nb.load_table().save(path),
        lambda path, _: reproduce("figure2", out=path),
    ],
    ids=["import file", "import out", "open", "save", "reproduce"],
)
def test_functions_refuse_unusable_paths_in_one_sentence(
    call: Callable[[str, Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tfrecord").touch()
    with refuses(InvalidInputError, "~nosuchuser/x.tfrecord"):
        call("~nosuchuser/x.tfrecord", tmp_path / "a.tfrecord")
