"""The checkpoint of a search or training: all it needs to go on, in one file that is replaced whole."""

import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from nasbench1shot1.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.files import replacing

FORMAT = 1


def save_checkpoint(path: Path, content: dict[str, Any]) -> None:
    """Replace the checkpoint; until that is done, the old one stands.

    Raises UserError where the disk is full.
    """
    buffer = io.BytesIO()  # torch reports a full disk in words of its own, so it writes to memory
    torch.save({"format": FORMAT, **content}, buffer)
    with replacing(path) as file:
        file.write(buffer.getbuffer())


def load_checkpoint(path: Path) -> dict[str, Any]:
    """What `save_checkpoint` wrote, tensors on the CPU.

    Raises DamagedFileError where the file is not whole or not a checkpoint of this format.
    """
    try:
        with zipfile.ZipFile(path) as archive:  # PyTorch does not look at the checksums
            if archive.testzip() is not None:
                raise _damaged(path)
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        if content["format"] == FORMAT:
            return content
    except Exception as error:  # a damaged archive can fail in any way
        raise _damaged(path) from error
    raise _damaged(path)


@contextmanager
def taking_up(content: Mapping[str, Any], path: Path, identity: Mapping[str, Any], what: str) -> Iterator[None]:
    """Around the taking up of a checkpoint's parts: it must be of the run with that identity, and lack nothing.

    Args:
        content: what `load_checkpoint` gave; its "run" is the identity of the run that wrote it.
        path: where it lies.
        identity: of the run that goes on.
        what: "run" or "training", for the sentence.

    Raises:
        InvalidInputError: it is another run's.
        DamagedFileError: something is missing from it.
    """
    recorded = content.get("run")
    if not isinstance(recorded, Mapping):
        raise _damaged(path)
    for name, ours in identity.items():
        if (theirs := recorded.get(name)) != ours:
            raise InvalidInputError(
                f"{path} is of another {what} ({name} {theirs}, here {ours}): put back this {what}'s own"
            )
    try:
        yield
    except (KeyError, RuntimeError, ValueError, TypeError) as error:
        raise DamagedFileError(f"{path} lacks something: restore it, or start a new {what}") from error


def _damaged(path: Path) -> DamagedFileError:
    return DamagedFileError(
        f"{path} is damaged or no checkpoint of this version: restore it, or start a new run; what is recorded stays"
    )
