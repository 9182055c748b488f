"""Reading `.npz` files: plain arrays, or one sentence that the file is damaged."""

import random
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.ground.files import read_npz

ARRAYS = {"counts": np.arange(24, dtype=np.uint16).reshape(2, 3, 4), "empty": np.empty((0, 3)), "one": np.array(7.5)}


def written(path: Path, compressed: bool = True) -> Path:
    (np.savez_compressed if compressed else np.savez)(path, **ARRAYS)
    return path


def header(shape: str, dtype: str = "<f8") -> bytes:
    """An .npy file with only a header."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def refused(path: Path, *words: str) -> None:
    with pytest.raises(DamagedFileError) as refusal:
        read_npz(path, "restore it")
    assert str(refusal.value).startswith(f"{path} cannot be read as an .npz of plain arrays (")
    assert str(refusal.value).endswith("): restore it") and "\n" not in str(refusal.value)
    assert all(word in str(refusal.value) for word in words)


@pytest.mark.parametrize("compressed", [True, False])
def test_arrays_are_read_like_numpy(tmp_path: Path, compressed: bool) -> None:
    read = read_npz(written(tmp_path / "a.npz", compressed))
    assert list(read) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert read[name].dtype == array.dtype and read[name].shape == array.shape and (read[name] == array).all()
        assert read[name].flags.writeable


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(4294967296, 4294967296)", "(-1,)", "(" * 3000, "()" * 99])
def test_a_header_that_claims_missing_data_is_refused(tmp_path: Path, shape: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("big.npy", header(shape))
    refused(tmp_path / "a.npz")


def test_a_member_larger_than_deflate_allows_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("big.npy", header("(1000000000000,)"))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    directory = content.rindex(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = struct.pack("<I", 2**32 - 2)  # the size before compression
    (tmp_path / "a.npz").write_bytes(content)
    refused(tmp_path / "a.npz", "claims")


@pytest.mark.parametrize("flag", [0x01, 0x20, 0x40])  # encrypted; patched; strongly encrypted
def test_flipped_flag_bits_are_refused(tmp_path: Path, flag: int) -> None:
    content = bytearray(written(tmp_path / "a.npz").read_bytes())
    content[content.index(b"PK\x03\x04") + 6] |= flag
    content[content.index(b"PK\x01\x02") + 8] |= flag
    (tmp_path / "a.npz").write_bytes(content)
    refused(tmp_path / "a.npz")


def test_changed_values_are_detected_by_crc(tmp_path: Path) -> None:
    content = written(tmp_path / "a.npz", compressed=False).read_bytes()
    (tmp_path / "a.npz").write_bytes(content.replace(ARRAYS["counts"].tobytes(), bytes(48)))
    refused(tmp_path / "a.npz", "CRC")


def test_pickled_objects_and_missing_files_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", objects=np.array([{}], dtype=object))
    refused(tmp_path / "objects.npz", "object")
    refused(tmp_path / "nothing.npz", "No such file")


def test_any_flipped_byte_or_truncation_gives_the_same_arrays_or_one_sentence(tmp_path: Path) -> None:
    rng, content, path = random.Random(0), written(tmp_path / "a.npz").read_bytes(), tmp_path / "b.npz"
    for turn in range(600):
        damaged = bytearray(content)
        if turn % 3:
            damaged[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        else:
            damaged = damaged[: rng.randrange(len(content))]
        path.write_bytes(damaged)
        try:
            read = read_npz(path)
        except DamagedFileError:
            continue
        for name in ARRAYS.keys() & read.keys():  # names have no checksum
            assert (read[name] == ARRAYS[name]).all()
