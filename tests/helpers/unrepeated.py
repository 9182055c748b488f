"""Skip work that every run repeats and few tests check: disk syncs, version look-ups, digests and image decoding.

Importing this module does not patch anything. `conftest.py` and `undrawn_server` patch all processes except new
interpreters.
"""

import hashlib
import importlib.metadata
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from nasbench1shot1.ground.files import PACKAGE_DATA
from nasbench1shot1.images import image_set, sources
from nasbench1shot1.runs import machine


def skip_repetitions(patch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk; look up the commit and versions, and decode the sample, only once."""
    patch.setattr(os, "fsync", skip_wait)
    patch.setattr(importlib.metadata, "version", cache(importlib.metadata.version))
    real = machine._commit
    known = cache(lambda file: real())  # `file`: a test pretends that the package is in another checkout
    patch.setattr(machine, "_commit", lambda: known(machine.__file__))
    machine.environment("cpu")  # processes forked from this one know it, too
    decode_once(patch)
    hash_once(patch)


def skip_wait(descriptor: int) -> None:
    """Replace `os.fsync`, which only protects against power failures: data that a killed process wrote is kept.

    Tests of full disks replace `os.fsync` themselves, and fail if nothing calls it.
    """


def decode_once(patch: pytest.MonkeyPatch) -> None:
    """Decode and shrink the bundled images only once; tests of the decoder call `sources.read_sample` directly."""
    decoded, shrink = cache(sources.read_sample), image_set._shrink
    patch.setattr(image_set, "read_sample", decoded)

    @cache
    def shrunk(side: int) -> Tensor:
        return shrink(torch.from_numpy(decoded()[0].images), side)

    def shrink_once(images: Tensor, side: int) -> Tensor:
        sample = decoded()[0].images
        is_sample = images.data_ptr() == sample.ctypes.data and images.shape == sample.shape
        return shrunk(side) if is_sample else shrink(images, side)

    patch.setattr(image_set, "_shrink", shrink_once)


def hash_once(patch: pytest.MonkeyPatch) -> None:
    """Compute the digest of each file of the installed package only once: no test changes them."""
    digest, known = hashlib.file_digest, {}
    installed = {(about.st_dev, about.st_ino) for about in map(Path.stat, PACKAGE_DATA.rglob("*.*"))}

    def digest_once(file: Any, algorithm: Any) -> Any:
        about = os.fstat(file.fileno())
        key = (about.st_dev, about.st_ino)
        if key not in installed:
            return digest(file, algorithm)
        if (key, algorithm) not in known:
            known[key, algorithm] = digest(file, algorithm)
        return known[key, algorithm]

    patch.setattr(hashlib, "file_digest", digest_once)
