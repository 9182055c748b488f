"""Images shrunk for a smaller proxy: pixels, test images, borders and searches."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from image_builders import made_images

import nasbench1shot1 as nb
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.images.image_set import ImageSet, load_images
from nasbench1shot1.images.sources import import_images
from nasbench1shot1.one_shot_search.beginning import begin
from nasbench1shot1.one_shot_search.options import SearchConfig, search_options

pytestmark = pytest.mark.usefixtures("home")
TINY = {"scale": "quick", "channels": 2, "cells": 3, "batch_size": 20, "images_per_half": 40, "threads": 1}


@pytest.fixture
def imported(tmp_path: Path) -> ImageSet:
    images, labels = made_images(30)
    np.savez(tmp_path / "mine.npz", images=images, labels=labels, is_test=np.arange(30) % 5 == 0)
    import_images(tmp_path / "mine.npz")
    return load_images("mine")


@pytest.mark.parametrize("side", [4, 8, 16])
def test_a_shrunk_pixel_is_the_mean_of_its_block(imported: ImageSet, side: int) -> None:
    shrunk, factor = imported.downsample(side), 32 // side
    for before, after in ((imported.images, shrunk.images), (imported.test_images, shrunk.test_images)):
        assert before is not None and after is not None
        squares = before.numpy().astype(np.float64).reshape(len(before), side, factor, side, factor, 3)
        np.testing.assert_array_equal(after.numpy(), np.rint(squares.mean(axis=(2, 4))))
    assert (shrunk.side, shrunk.crop, shrunk.dataset) == (side, side // 8, "cifar10")
    assert shrunk.labels is imported.labels and shrunk.sha256 == imported.sha256


def test_images_of_the_target_side_are_unchanged(imported: ImageSet) -> None:
    assert imported.downsample(32) is imported


@pytest.mark.parametrize("side", [2, 5, 33, 64])
def test_other_sides_are_refused(imported: ImageSet, side: int) -> None:
    with pytest.raises(InvalidInputError, match=f"{side} × {side}.*4, 8, 16 or 32.*image_side="):
        imported.downsample(side)


def test_quick_searches_shrink_images_and_full_searches_do_not() -> None:
    quick = {space: search_options({"space": space, "scale": "quick"}).common for space in ("s1", "nb201")}
    assert {space: (common.image_side, common.batch_size) for space, common in quick.items()} == {
        "s1": (16, 64),
        "nb201": (16, 32),
    }
    assert search_options({"space": "nb201"}).common.image_side is SearchConfig.image_side is None


@pytest.mark.parametrize(("own", "side"), [(40, 20), (24, 24), (12, 12), (48, 16)])
def test_quick_searches_shrink_user_images_towards_16_pixels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: int, side: int
) -> None:
    labels = np.arange(12) % 3
    np.savez(tmp_path / "mine.npz", images=np.zeros((12, own, own, 3), np.uint8), labels=labels)
    import_images(tmp_path / "mine.npz")
    for images in (str(tmp_path / "mine.npz"), "mine"):
        quick = search_options({"scale": "quick", "images": images}).common
        assert (quick.image_side, load_images(images).downsample(quick.image_side).side) == (side, side)
        assert search_options({"scale": "quick", "images": images, "image_side": 9}).common.image_side == 9
        assert search_options({"images": images}).common.image_side is None
    monkeypatch.setenv("HOME", str(tmp_path))
    assert search_options({"scale": "quick", "images": "~/mine.npz"}).common.image_side == side
    (tmp_path / "mine.npz").write_bytes(b"damaged")
    assert search_options({"scale": "quick", "images": str(tmp_path / "mine.npz")}).common.image_side == 16


def test_a_search_trains_on_shrunk_images_and_records_their_side(tmp_path: Path) -> None:
    state = begin(search_options({"space": "s1", "image_side": 8, **TINY}))
    batch = state.images_of(torch.arange(3), state.augmentation(1), state.generator("test", 1))
    assert batch.images.shape == (3, 3, 8, 8)
    run = nb.search("darts", space="s1", out=tmp_path / "run", epochs=1, image_side=8, **TINY)
    assert json.loads((run.folder / "config.json").read_text())["options"]["image_side"] == 8
    with pytest.raises(InvalidInputError, match="image_side="):
        nb.search(resume=run.folder, epochs=2, image_side=16)
