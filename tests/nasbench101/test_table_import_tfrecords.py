"""TFRecord files: contents, and detection of every damaged byte."""

import gzip
import hashlib
import struct
from pathlib import Path

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st
from official_files import frame
from refusals import refuses

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.nasbench101 import tfrecords
from nasbench1shot1.nasbench101.tfrecords import frames, mask_checksum

PAYLOADS = [b"first", b"", b"third " * 50]
WHOLE = b"".join(map(frame, PAYLOADS))
OFFSETS = [0, 21, 37]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(WHOLE)
    return path


def test_crc_32c_agrees_with_rfc_3720_and_is_masked_like_tensorflows() -> None:
    assert google_crc32c.value(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4
    assert google_crc32c.value(bytes(range(32))) == 0x46DD794E
    assert mask_checksum(0) == 0xA282EAD8
    assert mask_checksum(0xFFFFFFFF) == 0xA282EAD7
    assert mask_checksum(0x8A9136AA) == ((0x8A9136AA // 2**15 + (0x8A9136AA % 2**15) * 2**17) + 0xA282EAD8) % 2**32


def test_frames_are_read_with_their_offsets(file: Path) -> None:
    assert list(frames(file)) == list(zip(OFFSETS, PAYLOADS, strict=True))


@pytest.mark.parametrize("block", [1, 7, 16, 21, 100])
def test_frames_across_blocks_are_read(block: int, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tfrecords, "_BLOCK", block)
    digest = hashlib.sha256()
    sizes: list[int] = []

    def seen(part: bytes) -> None:
        digest.update(part)
        sizes.append(len(part))

    assert [payload for _, payload in frames(file, seen)] == PAYLOADS
    assert digest.digest() == hashlib.sha256(WHOLE).digest()
    assert max(sizes) <= block


@given(place=st.integers(0, len(WHOLE) - 1), bit=st.integers(0, 7))
def test_every_flipped_bit_is_detected_and_located(
    place: int, bit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    flipped = bytearray(WHOLE)
    flipped[place] ^= 1 << bit
    path = tmp_path_factory.mktemp("flipped") / "a.tfrecord"
    path.write_bytes(flipped)
    begin = max(offset for offset in OFFSETS if offset <= place)
    part = "length" if place < begin + 12 else "content"
    kind, *named = (InvalidInputError, "byte 0") if place < 12 else (DamagedFileError, f"byte {begin}", part)
    with refuses(kind, *named):
        list(frames(path))


@pytest.mark.parametrize("size", [n for n in range(1, len(WHOLE)) if n not in OFFSETS])
def test_every_truncation_is_detected(size: int, tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(WHOLE[:size])
    begin = max(offset for offset in OFFSETS if offset <= size)
    if size < 12:
        with pytest.raises(InvalidInputError, match="TFRecord"):
            list(frames(path))
        return
    with pytest.raises(DamagedFileError, match=rf"byte {begin}\b.*truncated"):
        list(frames(path))


def test_intact_records_before_the_damage_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(WHOLE[:-1])
    reader = frames(path)
    assert [next(reader), next(reader)] == [(0, b"first"), (21, b"")]
    with pytest.raises(DamagedFileError, match="byte 37"):
        next(reader)


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"")
    with pytest.raises(InvalidInputError, match="empty"):
        list(frames(path))
    path.write_text("hash,epochs,accuracy\n")
    with pytest.raises(InvalidInputError, match="TFRecord"):
        list(frames(path))
    path.write_bytes(gzip.compress(WHOLE))
    with pytest.raises(InvalidInputError, match="compressed"):
        list(frames(path))
    for unreadable in (tmp_path, tmp_path / "none"):
        with pytest.raises(UserError, match="path"):
            list(frames(unreadable))


def test_an_impossible_length_with_a_valid_checksum_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    length = struct.pack("<Q", 2**40)
    path.write_bytes(WHOLE + length + struct.pack("<I", mask_checksum(google_crc32c.value(length))) + bytes(100))
    with pytest.raises(InvalidInputError, match=r"1,099,511,627,776 bytes.*byte 353"):
        list(frames(path))
