"""Reading TFRecord files without TensorFlow. Each frame is a payload between its length and its checksum.

A frame is the payload's length (8 bytes, little-endian), the masked CRC-32C of these bytes (4), the payload, and its
masked CRC-32C (4); see tensorflow.org/tutorials/load_data/tfrecord.
"""

import struct
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import google_crc32c

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError

HEADER, FOOTER = struct.Struct("<QI"), struct.Struct("<I")
LONGEST = 2**24
"""Maximum length of a payload in bytes, far above any record's; a longer frame is not read into memory."""
_BLOCK = 4 * 2**20
_GZIP = b"\x1f\x8b"


def frames(path: Path, on_block: Callable[[bytes], None] = lambda block: None) -> Iterator[tuple[int, bytes]]:
    """Read a whole file in large blocks, and check every checksum.

    Args:
        path: the file.
        on_block: called with every block of bytes that is read, for a digest or a progress bar.

    Yields:
        The offset of each frame in bytes, and its payload.

    Raises:
        InvalidInputError: the file is empty, or is not a TFRecord file.
        DamagedFileError: a checksum is wrong, or the file ends within a frame.
        UserError: the file cannot be read.
    """
    start, data, splitter = 0, b"", _Splitter(path)
    for block in _blocks(path):
        on_block(block)
        data += block
        used = yield from splitter.whole_frames(start, data)
        start, data = start + used, data[used:]
    if data and start == 0 and len(data) < HEADER.size:
        raise splitter.no_tfrecord(data)
    if data:
        raise DamagedFileError(
            f"{path} ends within the record that begins at byte {start:,}: it is truncated; copy or download it again"
        )
    if start == 0:
        raise InvalidInputError(f"{path} is empty: give a file such as nasbench_only108.tfrecord")


def mask_checksum(checksum: int) -> int:
    """Return a CRC-32C as TFRecord files store it, masked because a CRC of data that contains CRCs is weak."""
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb", buffering=0) as file:
            while block := file.read(_BLOCK):
                yield block
    except OSError as error:
        raise UserError(
            f"cannot read {path} ({error.strerror or error}): check the path and its permissions"
        ) from error


class _Splitter:
    """Splits blocks of a file into frames; caches checked lengths, because there are few distinct ones."""

    def __init__(self, path: Path) -> None:
        self._path, self._lengths = path, dict[bytes, int]()

    def whole_frames(self, start: int, data: bytes) -> Generator[tuple[int, bytes], None, int]:
        """Yield the complete frames in `data`, which begins at byte `start`; return the number of bytes they take."""
        place, lengths = 0, self._lengths
        while place + HEADER.size <= len(data):
            header = data[place : place + HEADER.size]
            length = lengths.get(header)
            if length is None:
                length = lengths[header] = self._checked_length(header, start + place)
            begin = place + HEADER.size
            end = begin + length
            if end + FOOTER.size > len(data):
                break
            payload = data[begin:end]
            if FOOTER.unpack_from(data, end)[0] != mask_checksum(google_crc32c.value(payload)):
                raise self._damaged(start + place, "content")
            yield start + place, payload
            place = end + FOOTER.size
        return place

    def _checked_length(self, header: bytes, offset: int) -> int:
        length, checksum = HEADER.unpack(header)
        if checksum != mask_checksum(google_crc32c.value(header[:8])):
            raise self._damaged(offset, "length") if offset else self.no_tfrecord(header)
        if length > LONGEST:
            raise InvalidInputError(
                f"{self._path} has a record of {length:,} bytes at byte {offset:,}, so it is not a NAS-Bench-101 file: "
                "give one such as nasbench_only108.tfrecord"
            )
        return int(length)

    def _damaged(self, offset: int, part: str) -> DamagedFileError:
        return DamagedFileError(
            f"{self._path} is damaged: the {part} of the record that begins at byte {offset:,} does not match its "
            "checksum; copy or download the file again"
        )

    def no_tfrecord(self, header: bytes) -> UserError:
        """Return the error for a file whose first bytes are wrong."""
        if header.startswith(_GZIP):
            return InvalidInputError(f"{self._path} is compressed: unpack it with gunzip first")
        return InvalidInputError(
            f"{self._path} is not a TFRecord file, or is damaged at byte 0 (its first 12 bytes are not a length and a "
            "checksum): give a file such as nasbench_only108.tfrecord"
        )
