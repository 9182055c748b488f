"""Damaged or malicious image files give one sentence in bounded time and memory, never wrong pixels."""

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import random
import struct
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from image_builders import ROWS, made_images, official_files, planar, python2_batch, python3_batch, write_tar
from refusals import refuses

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.images import official_files as official_module
from nasbench1shot1.images.image_set import describe_images, load_images
from nasbench1shot1.images.official_files import read_data_set, read_python_batch
from nasbench1shot1.images.sources import import_images
from nasbench1shot1.images.store import images_folder

pytestmark = pytest.mark.usefixtures("home")
HEADER = 10
"""Bytes that a gzip file starts with: its time, its system; no checksum protects them, and no pixel is in them."""


def unpacked_tar(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return file.getvalue()


def official_tar(pax_headers: dict[str, str] | None = None) -> bytes:
    files, members = official_files("binary", ROWS)[0], []
    for name, content in files.items():
        member = tarfile.TarInfo(name)
        member.pax_headers = pax_headers or {}
        members.append((member, content))
    return unpacked_tar(members)


@pytest.mark.usefixtures("small_archives")
@pytest.mark.parametrize("compress", [lambda tar: gzip.compress(tar, 6, mtime=0), bz2.compress, lzma.compress])
def test_a_flipped_bit_anywhere_is_refused(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    whole, path, rng = compress(official_tar()), tmp_path / "cifar-10-binary.tar.gz", random.Random(0)
    path.write_bytes(whole)
    read_data_set(path)
    for _ in range(25):
        flipped = bytearray(whole)
        flipped[rng.randrange(HEADER, len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(DamagedFileError, match="cifar-10-binary"):
            read_data_set(path)


@pytest.mark.usefixtures("small_archives")
def test_a_flipped_bit_of_the_checksum_itself_is_refused(tmp_path: Path) -> None:
    whole, path = gzip.compress(official_tar(), 6), tmp_path / "cifar.tar.gz"
    for place in (-8, -4):  # CRC and length
        flipped = bytearray(whole)
        flipped[place] ^= 1
        path.write_bytes(flipped)
        with pytest.raises(DamagedFileError, match="truncated"):
            import_images(path)
    assert not images_folder().exists()


@pytest.mark.usefixtures("small_archives")
@pytest.mark.parametrize(
    "header",
    [
        {"GNU.sparse.size": "x"},
        {"GNU.sparse.map": "1,"},
        {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"},
        {"size": "-512"},
        {"size": str(10**18)},
    ],
)
def test_pax_headers_that_break_tarfile_are_refused(header: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "odd.tar").write_bytes(official_tar(header))
    with pytest.raises(DamagedFileError, match=r"odd\.tar"):
        read_data_set(tmp_path / "odd.tar")


@pytest.mark.usefixtures("small_archives")
def test_changed_tar_headers_give_one_sentence_or_the_same_images(tmp_path: Path) -> None:
    whole, path, rng = official_tar({"comment": "x"}), tmp_path / "odd.tar", random.Random(0)
    path.write_bytes(whole)
    expected = read_data_set(path).batches
    headers = [place for place in range(0, len(whole), 512) if whole[place + 257 : place + 262] == b"ustar"]
    for _ in range(300):
        changed, place = bytearray(whole), rng.choice(headers)
        for _ in range(rng.randrange(1, 6)):
            changed[place + rng.randrange(512)] = rng.randrange(256)
        changed[place + 148 : place + 156] = b" " * 8
        changed[place + 148 : place + 156] = b"%06o\0 " % sum(changed[place : place + 512])  # its checksum is valid
        path.write_bytes(changed)
        try:
            read = read_data_set(path).batches
        except DamagedFileError:
            continue
        for batch, wanted in zip(read, expected, strict=True):
            assert all(map(np.array_equal, batch, wanted))


def test_endless_chains_of_headers_are_refused(tmp_path: Path) -> None:
    link = tarfile.TarInfo("././@LongLink")
    link.type = tarfile.GNUTYPE_LONGNAME
    (tmp_path / "chain.tar").write_bytes(unpacked_tar([(link, b"x")] * 5_000))
    with pytest.raises(DamagedFileError, match=r"chain\.tar"):
        read_data_set(tmp_path / "chain.tar")


@pytest.mark.usefixtures("small_archives")
@pytest.mark.parametrize("limit", ["_LARGEST_ARCHIVE", "_LARGEST", "_LARGEST_DESCRIPTION", "_MOST_MEMBERS"])
def test_reading_stops_at_archives_larger_than_cifar10(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zeros = bytes(8 * 2**20)
    contents = {
        "_LARGEST_ARCHIVE": official_tar() + zeros,
        "_LARGEST": unpacked_tar([(tarfile.TarInfo("large"), zeros)]),
        "_LARGEST_DESCRIPTION": official_tar({"comment": "x" * 2**20}),
        "_MOST_MEMBERS": unpacked_tar([(tarfile.TarInfo(str(i)), b"") for i in range(200)]),
    }
    monkeypatch.setattr(official_module, limit, {"_MOST_MEMBERS": 100}.get(limit, 2**20))
    (tmp_path / "bomb.tar.gz").write_bytes(gzip.compress(contents[limit], 1))
    with refuses(DamagedFileError, "bomb.tar.gz", "large"):
        read_data_set(tmp_path / "bomb.tar.gz")


def test_an_oversized_batch_file_in_a_folder_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "data_batch_1").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(DamagedFileError, match="large"):
        read_data_set(tmp_path)


def test_special_files_are_refused() -> None:
    with pytest.raises(DamagedFileError, match="/dev/full"):
        import_images("/dev/full")


@pytest.mark.parametrize("content", [b"0" * 350_000, b"(" * 350_000, b"\x8e" + b"\xff" * 8])
def test_memory_filling_or_truncated_pickles_are_refused(content: bytes) -> None:
    with pytest.raises(DamagedFileError, match="pickle"):
        read_python_batch(content, "x")


@pytest.mark.usefixtures("small_archives")
@pytest.mark.parametrize("form", ["archive", "folder"])
def test_images_that_are_not_the_official_ones_are_reported_and_recorded(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, _ = official_files("python", ROWS)
    if form == "archive":
        path = write_tar(tmp_path / "cifar.tar.gz", files)
    else:
        path = tmp_path / "unpacked" / "cifar-10-batches-py"
        path.mkdir(parents=True)
        for name, content in files.items():
            (path.parent / name).write_bytes(content)
    lines: list[str] = []
    folder = import_images(path, "mine", report=lines.append)
    meta = json.loads((folder / "meta.json").read_text())
    assert len(lines) == 1 and lines[0].startswith(f"warning: '{path}' is not one of the two official archives")
    assert meta["official"] is False
    assert (meta["file_sha256"] or "a folder has no SHA-256") in lines[0]
    assert capsys.readouterr().err == ""
    import_images(path, "mine")
    assert capsys.readouterr().err == lines[0] + "\n"
    assert [row["official"] for row in describe_images()] == [False, False]


@pytest.fixture
def npz(tmp_path: Path) -> Path:
    images, labels = made_images(8)
    np.savez_compressed(tmp_path / "mine.npz", images=images, labels=labels)
    return tmp_path / "mine.npz"


@pytest.mark.parametrize("flag", [0x01, 0x20, 0x40])  # encrypted; patched; strongly encrypted
def test_flipped_flag_bits_of_an_npz_are_refused(flag: int, npz: Path) -> None:
    content = bytearray(npz.read_bytes())
    content[content.index(b"PK\x03\x04") + 6] |= flag
    content[content.index(b"PK\x01\x02") + 8] |= flag
    npz.write_bytes(content)
    for read in (import_images, load_images):
        with pytest.raises(DamagedFileError, match=r"mine\.npz"):
            read(npz)
    assert not images_folder().exists()


def npy_header(shape: str) -> bytes:
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


CLAIMS = ["(1000000000000, 32, 32, 3)", "(-1, 32, 32, 3)", "(" * 100, "(8, 32, 32, 3" + " " * 40 + "'", "()"]


@pytest.mark.parametrize("shape", CLAIMS)
def test_an_npz_with_a_false_header_is_refused(shape: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("images.npy", npy_header(shape))
        archive.writestr("labels.npy", npy_header("(0,)"))
    with pytest.raises(DamagedFileError, match=r"a\.npz"):
        import_images(tmp_path / "a.npz")


@pytest.mark.parametrize("shape", CLAIMS)
@pytest.mark.parametrize("column", ["images", "test_images"])
def test_columns_with_a_false_header_are_refused(column: str, shape: str, npz: Path) -> None:
    file = import_images(npz) / f"{column}.npy"
    file.write_bytes(npy_header(shape) + file.read_bytes()[128:])
    for read in (lambda: load_images("mine", verify=False), describe_images):
        with pytest.raises(DamagedFileError, match="damaged"):
            read()


@pytest.mark.parametrize("content", ["[" * 100_000, "null", '{"training_images": null}'])
def test_damaged_descriptions_are_refused(content: str, npz: Path) -> None:
    (import_images(npz) / "meta.json").write_text(content)
    with pytest.raises(DamagedFileError):
        load_images("mine")


@pytest.mark.parametrize("value", ["~nosuchuser/x.npz", "a" * 300 + ".npz", "\udcff.npz", "a\0.npz", ""])
def test_unusable_image_paths_are_refused(value: str) -> None:
    for read in (import_images, load_images):
        with pytest.raises(InvalidInputError, match="path"):
            read(value)


@pytest.mark.parametrize("folder", ["~nosuchuser/x", "a" * 300, "\udcff"])
def test_unusable_data_folders_are_refused(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NB1SHOT1_DATA", folder)
    for read in (lambda: load_images("mine"), describe_images, images_folder):
        with pytest.raises(InvalidInputError, match=r"^NB1SHOT1_DATA '"):
            read()


# Pickles of batches ---------------------------------------------------------------------------------------------------

IMAGES, LABELS = made_images(2_100)  # more than two pickle chunks of 1,000 items


def assert_read(content: bytes) -> None:
    pixels, labels = read_python_batch(content, "batch")
    assert np.array_equal(pixels, planar(IMAGES))
    assert np.array_equal(labels, LABELS)
    assert (pixels.dtype, labels.dtype) == (np.uint8, np.int64)


def test_pickles_written_by_python_2_are_read() -> None:
    content = python2_batch(IMAGES, LABELS)
    assert_read(content)
    loaded = pickle.loads(content, encoding="latin1")  # noqa: S301  that what we built is what Python reads
    assert np.array_equal(loaded["data"], planar(IMAGES))
    assert loaded["labels"] == LABELS.tolist()


@pytest.mark.parametrize("protocol", range(1, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("text", [False, True])
def test_pickles_written_by_python_3_are_read(protocol: int, order: str, text: bool) -> None:
    assert_read(python3_batch(IMAGES, LABELS, protocol, order, text))


@pytest.mark.parametrize("module", [b"numpy.core", b"numpy._core"])
def test_pickles_with_either_module_path_of_numpy_are_read(module: bytes) -> None:
    assert_read(python2_batch(IMAGES, LABELS).replace(b"numpy.core", module))


def test_pickles_are_not_executed(tmp_path: Path) -> None:
    trap = tmp_path / "executed"

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(trap),)

    content = {b"trap": Trap(), b"labels": LABELS.tolist(), b"data": planar(IMAGES)}
    with pytest.raises(InvalidInputError, match=r"'(posix|nt)\.mkdir'"):
        read_python_batch(pickle.dumps(content), "batch")
    assert not trap.exists()


@pytest.mark.parametrize(
    "content",
    [
        {b"data": planar(IMAGES)},
        {b"labels": LABELS.tolist()},
        {b"labels": [], b"data": planar(IMAGES[:0])},
        {b"labels": LABELS.tolist()[:-1], b"data": planar(IMAGES)},
        {b"labels": [*LABELS.tolist()[:-1], -1], b"data": planar(IMAGES)},
        {b"fine_labels": LABELS.tolist(), b"data": planar(IMAGES)},
        {b"labels": ["cat"] * len(LABELS), b"data": planar(IMAGES)},
    ],
)
def test_other_pickles_are_refused(content: dict[bytes, object]) -> None:
    with pytest.raises(DamagedFileError, match="not a CIFAR-10 batch"):
        read_python_batch(pickle.dumps(content), "batch")


@pytest.mark.parametrize("content", [b"c\\\x00\n", b"S'\\d'\np0\n."])
@pytest.mark.parametrize("action", ["error", "ignore"])
def test_invalid_escape_sequences_are_damage_under_any_warning_filter(
    content: bytes, action: Literal["error", "ignore"]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter(action)
        with pytest.raises(DamagedFileError, match=r"^batch .*pickle"):
            read_python_batch(content, "batch")


SMALL = made_images(3)


@settings(max_examples=200)
@given(
    st.binary(max_size=200) | st.integers(0, len(python2_batch(*SMALL)) - 1).map(lambda n: python2_batch(*SMALL)[:n])
)
def test_broken_streams_are_reported_in_one_sentence(content: bytes) -> None:
    with pytest.raises((DamagedFileError, InvalidInputError), match="batch"):
        read_python_batch(content, "batch")


@settings(max_examples=200)
@given(at=st.integers(0, 400), byte=st.integers(0, 255), protocol=st.integers(2, 4))
def test_a_flipped_byte_never_raises_another_error(at: int, byte: int, protocol: int) -> None:
    content = bytearray(python3_batch(*SMALL, protocol))
    content[at] = byte
    try:
        pixels, labels = read_python_batch(bytes(content), "batch")
    except (DamagedFileError, InvalidInputError):
        return
    assert len(pixels) == len(labels)
