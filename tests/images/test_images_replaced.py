"""An image set reimported while it is read, and a set whose import was killed between two renames."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from image_builders import made_images

from nasbench1shot1.ground.folder_swap import temporary_sibling
from nasbench1shot1.images import store
from nasbench1shot1.images.image_set import describe_images, load_images
from nasbench1shot1.images.sources import import_images

pytestmark = pytest.mark.usefixtures("home")


def imported(folder: Path, count: int) -> Path:
    images, labels = made_images(count)
    np.savez(folder / "mine.npz", images=images, labels=labels)
    return import_images(folder / "mine.npz", overwrite=True)


@pytest.mark.parametrize("read", [lambda: len(load_images("mine")), lambda: describe_images()[1]["training_images"]])
def test_a_set_replaced_during_reading_is_read_consistently(
    read: Callable[[], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported(tmp_path, 30)
    real = store.read_json

    def replaced_afterwards(path: Path) -> Any:
        monkeypatch.setattr(store, "read_json", real)
        meta = real(path)
        imported(tmp_path, 40)
        return meta

    monkeypatch.setattr(store, "read_json", replaced_afterwards)
    assert read() == 40


def test_a_set_moved_aside_by_a_killed_import_is_found(tmp_path: Path) -> None:
    folder = imported(tmp_path, 30)
    folder.rename(temporary_sibling(folder, ".old"))
    assert len(load_images("mine")) == 30
