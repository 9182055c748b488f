"""The checkpoint of a search or training: everything needed to resume it, in one file that is replaced atomically."""

import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.ground.files import atomic_write, blocked_error, open_regular

FORMAT = 1


def save_checkpoint(path: Path, content: dict[str, Any]) -> None:
    """Replace the checkpoint atomically; raises UserError if the disk is full."""
    import torch

    buffer = io.BytesIO()  # torch reports a full disk with an error of its own, so it writes to memory
    torch.save({"format": FORMAT, **content}, buffer)
    with atomic_write(path) as file:
        file.write(buffer.getbuffer())


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Return what `save_checkpoint` wrote, with tensors on the CPU.

    Raises DamagedFileError if the file is damaged or is not a checkpoint of this format.
    """
    import torch

    try:
        with open_regular(path) as file:
            with zipfile.ZipFile(file) as archive:  # PyTorch does not verify the checksums
                if archive.testzip() is not None:
                    raise _damaged(path)
            file.seek(0)
            content: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
        if content["format"] == FORMAT:
            return content
    except Exception as error:  # a damaged archive can fail in any way
        raise blocked_error(path, error) or _damaged(path) from error
    raise _damaged(path)


@contextmanager
def checked_restore(content: Mapping[str, Any], path: Path, identity: Mapping[str, Any], what: str) -> Iterator[None]:
    """Check a checkpoint's identity, and report missing parts while the caller restores its state from it.

    Args:
        content: the result of `load_checkpoint`; its "run" is the identity of the run that wrote it.
        path: path of the checkpoint, for messages.
        identity: identity of the run that is resumed.
        what: "run" or "training", for messages.

    Raises:
        InvalidInputError: the checkpoint belongs to another run.
        DamagedFileError: the checkpoint is incomplete.
    """
    recorded = content.get("run")
    if not isinstance(recorded, Mapping):
        raise _damaged(path)
    for name, ours in identity.items():
        if (theirs := recorded.get(name)) != ours:
            raise InvalidInputError(
                f"{path} is of another {what} ({name} {theirs}, here {ours}): restore this {what}'s own"
            )
    try:
        yield
    except (KeyError, RuntimeError, ValueError, TypeError) as error:
        raise DamagedFileError(f"{path} is incomplete: restore it, or start a new {what}") from error


def _damaged(path: Path) -> DamagedFileError:
    return DamagedFileError(
        f"{path} is damaged, or is not a checkpoint of this version: restore it, or start a new run; the record is kept"
    )
