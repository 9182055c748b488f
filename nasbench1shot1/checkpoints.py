"""The checkpoint of a search: all it needs to go on after an epoch, in one file that is replaced whole."""

import io
import zipfile
from pathlib import Path
from typing import Any

import torch

from nasbench1shot1.errors import DamagedFileError
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


def _damaged(path: Path) -> DamagedFileError:
    return DamagedFileError(
        f"{path} is damaged or no checkpoint of this version: restore it, or start a new run; what is recorded stays"
    )
