"""`check_own_name`: the tables that an import without a given folder may replace."""

import json
import os
from pathlib import Path

import official_files as official
import pytest

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.tables import formats
from nasbench1shot1.tables.importing import check_own_name, import_table

ANOTHER = "contains the table of another file with this name: replace it with overwrite=True, or give another folder"


@pytest.fixture
def file(tmp_path: Path, real_cells: Path) -> Path:
    return official.write_file(tmp_path / "a.tfrecord", official.made_up(official.graphs_of(real_cells, slice(0, 3))))


@pytest.fixture
def table(file: Path, tmp_path: Path) -> Path:
    """The folder of the table imported from this file."""
    import_table(file, tmp_path / "a", report=lambda line: None)
    return tmp_path / "a"


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Files read from start to end."""
    read: list[Path] = []

    def counted(path: Path, real=formats.sha256) -> str:
        read.append(path)
        return real(path)

    monkeypatch.setattr(formats, "sha256", counted)
    return read


def test_an_unchanged_file_is_not_read_again(file: Path, table: Path, hashed: list[Path]) -> None:
    check_own_name(file, table)
    assert hashed == []


def test_a_copied_or_touched_file_is_recognised_by_its_content(
    file: Path, table: Path, hashed: list[Path], tmp_path: Path
) -> None:
    os.utime(file, ns=(1, 1))
    check_own_name(file, table)
    (tmp_path / "other").mkdir()
    copy = file.rename(tmp_path / "other" / "a.tfrecord")
    check_own_name(copy, table)
    assert hashed == [file, copy]


def test_different_content_of_the_same_size_is_refused(file: Path, table: Path, hashed: list[Path]) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(file, ns=(1, 1))
    with pytest.raises(InvalidInputError, match=ANOTHER):
        check_own_name(file, table)
    assert hashed == [file]


def test_a_file_of_another_size_is_refused_without_reading(file: Path, table: Path, hashed: list[Path]) -> None:
    file.write_bytes(file.read_bytes() + b"more")
    with pytest.raises(InvalidInputError, match=ANOTHER):
        check_own_name(file, table)
    assert hashed == []


@pytest.mark.parametrize("source", [{}, {"source": None}, {"source": {"key": None}}])
def test_a_table_that_was_not_imported_is_not_replaced(source: dict[str, object], file: Path, table: Path) -> None:
    about = json.loads((table / "meta.json").read_text())
    del about["source"]
    (table / "meta.json").write_text(json.dumps({**about, **source}))
    with pytest.raises(InvalidInputError, match=ANOTHER):
        check_own_name(file, table)


@pytest.mark.parametrize("content", ["[]", "null", '"text"'])
def test_invalid_descriptions_belong_to_no_file(content: str, file: Path, table: Path) -> None:
    (table / "meta.json").write_text(content)
    with pytest.raises(InvalidInputError, match=ANOTHER):
        check_own_name(file, table)


def test_an_unreadable_description_is_reported(file: Path, table: Path) -> None:
    (table / "meta.json").write_text("{")
    with pytest.raises(DamagedFileError, match=r"meta.json.*JSON"):
        check_own_name(file, table)


@pytest.mark.parametrize("name", ["embedded", "nb101-sample", ".locks"])
def test_names_of_other_tables_are_refused(name: str, file: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=f"{name}.*out="):
        check_own_name(file, tmp_path / name)


def test_new_names_are_free_and_missing_files_are_ignored(table: Path, tmp_path: Path) -> None:
    check_own_name(tmp_path / "a.tfrecord", tmp_path / "new")
    check_own_name(tmp_path / "missing.tfrecord", table)
