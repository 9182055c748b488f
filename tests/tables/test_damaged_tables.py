"""Damaged tables give a correct answer or one sentence, never another exception or an endless loop."""

import json
import random
import shutil
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refuses
from test_table import official_shape

from nasbench1shot1.cli import main
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.ground.files import PACKAGE_DATA
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench101.encoding import are_possible, is_possible
from nasbench1shot1.tables.columns import STANDARD
from nasbench1shot1.tables.description import CHECKSUM, content_sha256
from nasbench1shot1.tables.metrics import Metrics
from nasbench1shot1.tables.table import Table, load_table
from nasbench1shot1.tables.writing import write_table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table with counts of images that are read back as float32, and with an order."""
    columns, meta = official_shape()
    counts = np.rint(columns["validation_accuracy"] * 9984).astype(np.uint16)
    about = meta["columns"]["validation_accuracy"] | {"rounded": "float32"}
    meta["columns"] |= {"validation_accuracy": about, "order": {}}
    order = np.array([2, 0, 1], np.int32)
    write_table(tmp_path / "tiny", columns | {"validation_accuracy": counts, "order": order}, meta)
    return tmp_path / "tiny"


@pytest.fixture
def large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The table opened without checksums, like tables of more than 32 MB."""
    monkeypatch.setattr("nasbench1shot1.tables.folder.CHECKED_AT_LOAD", 0)
    return folder


def described(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "meta.json").read_text())
    return found


def describe(folder: Path, meta: dict[str, Any]) -> None:
    (folder / "meta.json").write_text(json.dumps(meta))


def sealed(meta: dict[str, Any]) -> dict[str, Any]:
    """A description with the checksum that belongs to it."""
    return meta | {CHECKSUM: content_sha256(meta)}


def header_end(content: bytes) -> int:
    return 10 + int(struct.unpack("<H", content[8:10])[0])


def overwrite(folder: Path, column: str, values: list[int]) -> None:
    """Overwrite the first values of a column, like a damaged disk."""
    file = folder / f"{column}.npy"
    content, stored = file.read_bytes(), np.load(file)
    start = header_end(content)
    damaged = np.array(values, np.uint64).astype(stored.dtype).tobytes()
    file.write_bytes(content[:start] + damaged + content[start + len(damaged) :])


# meta.json ---------------------------------------------------------------------------------------------------------


def edit_rounded(meta: dict[str, Any]) -> None:
    del meta["columns"]["validation_accuracy"]["rounded"]


def edit_spaces(meta: dict[str, Any]) -> None:
    meta["spaces"] = []


def edit_images(meta: dict[str, Any]) -> None:
    meta["columns"]["test_accuracy"]["images"] = 10_000


@pytest.mark.parametrize("edit", [edit_rounded, edit_spaces, edit_images])
def test_an_edited_description_is_refused(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    table, meta = load_table(folder), described(folder)
    edit(meta)
    describe(folder, meta)
    with pytest.raises(DamagedFileError, match=r"meta\.json"):
        load_table(folder)
    with pytest.raises(DamagedFileError, match=r"meta\.json"):
        table.verify()


def test_the_layout_of_a_description_does_not_matter(folder: Path) -> None:
    meta = described(folder)
    (folder / "meta.json").write_text(json.dumps(dict(reversed(meta.items())), separators=(",", ":")))
    load_table(folder).verify()


def test_a_description_without_its_checksum_is_refused(folder: Path) -> None:
    meta = described(folder)
    assert meta.pop(CHECKSUM) == content_sha256(meta)
    describe(folder, meta)
    with pytest.raises(DamagedFileError, match=r"meta\.json"):
        load_table(folder)


def test_the_embedded_table_has_its_checksum_and_id() -> None:
    embedded = load_table(PACKAGE_DATA / "table")
    assert embedded.id == "nb101-embedded-v2-5915e9e"
    assert embedded.info()[CHECKSUM] == content_sha256(described(PACKAGE_DATA / "table"))


def test_a_resaved_table_has_a_new_checksum(folder: Path, tmp_path: Path) -> None:
    load_table(folder).save(tmp_path / "again")
    assert described(tmp_path / "again") == described(folder)


@pytest.mark.parametrize(
    "about",
    [{"images": 10**40}, {"images": 10**9}, {"rounded": "float16"}, {"fidelity": []}, {"images": None}],
    ids=str,
)
def test_impossible_descriptions_with_a_matching_checksum_are_refused(folder: Path, about: dict[str, Any]) -> None:
    meta = described(folder)
    meta["columns"]["validation_accuracy"] |= about
    describe(folder, sealed(meta))
    with pytest.raises(DamagedFileError, match="validation_accuracy"):
        load_table(folder)


def test_a_description_nested_too_deeply_is_refused(folder: Path) -> None:
    start = json.dumps(described(folder)).removesuffix("}")
    for depth in (*range(850, 1_010), 100_000):  # some of these can be read but not written again
        (folder / "meta.json").write_text(f'{start}, "more": {"[" * depth}{"]" * depth}}}')
        with pytest.raises(DamagedFileError, match=r"meta\.json"):
            load_table(folder)


@pytest.mark.parametrize("name", ["../meta", "/dev/zero", "a\0b", "x" * 300, ""], ids=repr)
def test_a_column_must_be_a_file_in_the_folder(folder: Path, name: str) -> None:
    meta = described(folder)
    meta["columns"][name] = meta["columns"]["order"]
    describe(folder, sealed(meta))
    with pytest.raises(DamagedFileError, match="invalid"):
        load_table(folder)


def test_verify_distinguishes_a_replaced_table_from_a_damaged_one(folder: Path) -> None:
    table = load_table(folder)
    write_table(folder, *official_shape())
    with pytest.raises(InvalidInputError, match="tiny-v2-"):
        table.verify()


# Columns of a large table ------------------------------------------------------------------------------------------

HEADERS = {
    "no closing bracket": (b"(3", b"((("),
    "an unterminated string": (b"'shape", b"'''shap"),
    "another version": (b"\x01\x00", b"\x03\x00"),
    "columns first": (b"False", b"True "),
    "terabytes": (b"(3,", b"(10**13,"),
    "a pickle": (b"'<f4'", b"'|O' "),
    "bytes that are not text": (b"descr", b"\xff\xff\xff\xff\xff"),
    "a longer header": (b"\x76\x00", b"\xff\xff"),
    "a shorter header": (b"\x76\x00", b"\x00\x00"),
    "another type": (b"<f4", b"|S4"),
}


@pytest.mark.parametrize("old_new", HEADERS.values(), ids=HEADERS)
def test_a_damaged_header_names_the_column(
    large: Path, old_new: tuple[bytes, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    file = large / "training_time.npy"
    content = file.read_bytes()
    changed = content[:6] + content[6:].replace(*old_new, 1)
    assert changed != content
    file.write_bytes(changed[: len(content)])
    with pytest.raises(DamagedFileError, match="training_time") as refusal:
        load_table(large)
    assert "\n" not in str(refusal.value)
    with pytest.raises(SystemExit) as left:
        main(["table", "verify", "--table", str(large)])
    assert (left.value.code, "training_time" in capsys.readouterr().err) == (2, True)


def no_file(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("damage", [Path.unlink, no_file, lambda file: file.write_bytes(b"")])
@pytest.mark.parametrize("name", ["training_time", "cell", "encoding_row"])
def test_verify_handles_files_changed_after_opening(folder: Path, name: str, damage: Callable[[Path], None]) -> None:
    table = load_table(folder)
    damage(folder / f"{name}.npy")
    with pytest.raises(DamagedFileError, match=rf"column {name}\b"):
        table.verify()


CELLS = {
    "vertices": (2**33 - 1) << 31,
    "all bits": 2**64 - 1,
    "operation": 3 << 31 | 3 << 21,
    "edge": 3 << 31 | 1 << 20,
}


@pytest.mark.parametrize("code", CELLS.values(), ids=CELLS)
def test_an_impossible_cell_is_refused(large: Path, code: int) -> None:
    overwrite(large, "cell", [code])
    table = load_table(large)
    uses: list[Callable[[], object]] = [
        lambda: table.cell(0).hash,
        lambda: table.column("cell"),
        lambda: table.keys.verify(),
        lambda: table.save(large.with_name("copy")),
        table.verify,
    ]
    for use in uses:
        with refuses(DamagedFileError, "column", "cell"):
            use()
    assert table.cell(1).is_valid


def test_a_table_without_its_index_is_refused(large: Path) -> None:
    meta = described(large)
    meta["columns"] = {name: about for name, about in meta["columns"].items() if not name.startswith("encoding")}
    describe(large, sealed(meta))
    with pytest.raises(DamagedFileError, match="encoding"):
        load_table(large)


def test_impossible_rows_of_index_and_order_are_refused(large: Path) -> None:
    cells = [load_table(large).cell(row) for row in range(3)]
    for name in ("encoding_row", "order"):
        overwrite(large, name, [1_000_000_000, 1_000_000_000, 1_000_000_000])
    table = load_table(large)
    codes = np.array([cell.encoding for cell in cells], np.uint64)
    for use in (lambda: table.row_of(cells[0]), lambda: table.rows(cells), lambda: table.rows_of_encodings(codes)):
        with pytest.raises(DamagedFileError, match="encoding_row"):
            use()
    with pytest.raises(DamagedFileError, match=r"\border\b"):
        table.column("order")


def test_more_correct_answers_than_images_are_refused(large: Path) -> None:
    overwrite(large, "validation_accuracy", [60_000] * 6)
    table = load_table(large)
    hashes = table.hashes([0, 1])
    uses: list[Callable[[], object]] = [
        lambda: table.query(hashes[0], run=0).validation_accuracy,
        lambda: table.query(hashes).validation_accuracy,
        lambda: table.values("validation_accuracy"),
        lambda: table.column("validation_accuracy"),
        lambda: table.best("s1", "validation") and table.best("nb101", "validation"),
    ]
    for use in uses:
        with pytest.raises(DamagedFileError, match=r"validation_accuracy.*than 9,984 images"):
            use()


def test_every_real_cell_is_accepted(real_cells: Path) -> None:
    for table in (load_table(PACKAGE_DATA / "table"), load_table("nb101-sample")):
        assert are_possible(table.column("cell")).all()
        assert are_possible(table.column("encoding")).all()
    rng = random.Random(0)
    for _ in range(2_000):
        code = rng.getrandbits(rng.choice([33, 34, 34, 64]))
        assert are_possible(np.array([code], np.uint64)).tolist() == [is_possible(code)]
        if is_possible(code):
            matrix, ops = Cell.from_encoding(code)._given
            assert len(matrix) == len(ops) == code >> 31
            assert Cell(matrix, ops)._given == (matrix, ops)


def test_an_impossible_encoding_does_not_loop_forever(folder: Path) -> None:
    with pytest.raises(InvalidInputError, match="encoding"):
        load_table(folder).row_of_encoding(2**63)


# Random damage -----------------------------------------------------------------------------------------------------


def whole(metrics: Metrics) -> list[object]:
    """Read all values of an answer."""
    return [repr(metrics), *(getattr(metrics, name) for name in (*STANDARD, "hash"))]


def use(folder: Path, hashes: list[str], cells: list[Cell]) -> Table:
    """Run every query; each one is answered or refused separately."""
    table = load_table(folder)
    questions: list[Callable[[], object]] = [
        table.info,
        lambda: [table.fidelity(epochs) for epochs in table.epochs],
        lambda: [whole(table.query(one, run=run)) for one in (*hashes, *cells) for run in ("mean", 0)],
        lambda: [whole(table.query(many, epochs=e, run="all")) for many in (hashes, cells) for e in table.epochs],
        lambda: table.query(cells, epochs=table.epochs[0], halfway=True).validation_accuracy,
        lambda: [table.regret(cells, space) for space in (*table.spaces, "nb101")],
        lambda: [table.best(space, split) for space in table.spaces for split in ("test", "validation")],
        lambda: [table.cell(row).hash for row in range(len(table))],
        lambda: [table.column(name) for name in table.info()["columns"]],
        lambda: [table.measured(metric, epochs) for metric in ("test_accuracy",) for epochs in table.epochs],
        lambda: table.keys.verify(),
        table.verify,
    ]
    for question in questions:
        try:
            question()
        except UserError as error:
            assert str(error)
    return table


TURNS, SEED = 250, 0


def damage(rng: random.Random, content: bytes) -> bytes:
    """Flip bits, mostly in the header, or truncate, extend or zero a part."""
    damaged = bytearray(content)
    end = 128 if rng.random() < 0.6 else len(content)
    match rng.randrange(6):
        case 0:
            return content[: rng.randrange(len(content))]
        case 1:
            return content + bytes(rng.randrange(1, 20))
        case 2:
            start = rng.randrange(len(content))
            return content[:start] + bytes(min(8, len(content) - start)) + content[start + 8 :]
        case 3:
            damaged[rng.randrange(min(end, len(content)))] = rng.choice(b"\0\xff()[]{}'\"\\,#\n0129-<>|OfiuVSU")
        case _:
            for _ in range(rng.randrange(1, 4)):
                damaged[rng.randrange(min(end, len(content)))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # from sums of values that became infinite by damage
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("is_sealed", [False, True], ids=["damaged checksum", "matching checksum"])
def test_any_damage_gives_an_answer_or_a_refusal(large: Path, is_sealed: bool) -> None:
    rng, table = random.Random(SEED + int(not is_sealed)), load_table(large)
    hashes, cells = table.hashes([0, 1, 2]), [table.cell(row) for row in range(3)]
    files = sorted(large.iterdir())
    use(large, hashes, cells)
    noticed = 0
    for turn in range(TURNS):
        broken = large.with_name("broken")
        shutil.rmtree(broken, ignore_errors=True)
        shutil.copytree(large, broken)
        file = broken / files[turn % len(files)].name
        content = file.read_bytes()
        file.write_bytes(damage(rng, content))
        if is_sealed and file.name == "meta.json":
            with suppress(ValueError, RecursionError, AttributeError, TypeError):
                describe(broken, sealed(described(broken)))
        try:
            opened = use(broken, hashes, cells)
        except UserError:
            noticed += 1
            continue
        if file.suffix == ".npy" and file.read_bytes() != content:
            with pytest.raises(DamagedFileError, match=file.stem):
                opened.verify()
            noticed += 1
    assert noticed > 0.75 * TURNS
