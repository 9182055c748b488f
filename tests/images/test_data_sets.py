"""Properties of a data set: classes, size, normalisation and border, for every source of images."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from image_builders import made_images
from refusals import refuses

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.data_sets import CIFAR10, CIFAR100, DATA_SETS, IMAGENET16_120, DataSet, data_set, moments
from nasbench1shot1.images.image_set import ImageSet, describe_images, load_images
from nasbench1shot1.images.sources import import_images

pytestmark = pytest.mark.usefixtures("home")


def write_npz(path: Path, rows: int = 24, side: int = 32, classes: int = 10, **arrays: object) -> Path:
    images, labels = made_images(rows, side=side, classes=classes)
    np.savez(path, **{"images": images, "labels": labels, **arrays})
    return path


def test_the_three_data_sets_of_nasbench201() -> None:
    found = {s.name: (s.classes, s.side, s.training_images, s.test_images, s.crop) for s in DATA_SETS.values()}
    assert found == {
        "cifar10": (10, 32, 50_000, 10_000, 4),
        "cifar100": (100, 32, 50_000, 10_000, 4),
        "ImageNet16-120": (120, 16, 151_700, 6_000, 2),
    }
    assert CIFAR10.mean == (0.49139968, 0.48215827, 0.44653124)
    in_255 = [255 * np.array((known.mean, known.std)) for known in (CIFAR100, IMAGENET16_120)]
    assert in_255[0] == pytest.approx(np.array([[129.3, 124.1, 112.4], [68.2, 65.4, 70.4]]))
    assert in_255[1] == pytest.approx(np.array([[122.68, 116.66, 104.01], [63.22, 61.26, 65.09]]))
    with pytest.raises(InvalidInputError, match="mean 'ImageNet16-120'"):
        data_set("imagenet16-120")


@pytest.mark.parametrize("known", DATA_SETS.values(), ids=DATA_SETS)
def test_an_image_set_takes_the_properties_of_its_data_set(known: DataSet) -> None:
    black = torch.zeros(4, known.side, known.side, 3, dtype=torch.uint8)
    images = ImageSet("mine", black, torch.arange(4), torch.arange(4), "", dataset=known.name)
    assert (images.classes, images.mean, images.std, images.crop) == (known.classes, known.mean, known.std, known.crop)
    assert images.side == known.side
    of = Augmentation.of(images, cutout_length=5, cutout_probability=0.5)
    assert of == Augmentation(known.crop, 0.5, 5, 0.5, known.mean, known.std)
    assert of(black, torch.Generator().manual_seed(0)).shape == (4, 3, known.side, known.side)
    with pytest.raises(InvalidInputError, match="'mnist'"):
        replace(images, dataset="mnist", classes=None)


def test_the_augmentation_of_cifar10_is_unchanged() -> None:
    assert Augmentation.of(load_images("cifar10-sample")) == Augmentation()


@pytest.mark.parametrize(
    ("arrays", "side", "classes", "expected"),
    [
        ({}, 32, 10, "cifar10"),
        ({"train_index": np.arange(24)}, 32, 10, "cifar10"),
        ({"dataset": "cifar10"}, 32, 10, "cifar10"),
        ({"dataset": "cifar100", "train_index": np.arange(24) + 49_976}, 32, 100, "cifar100"),
        ({"dataset": "ImageNet16-120", "train_index": np.arange(24) + 151_676}, 16, 120, "ImageNet16-120"),
        ({"dataset": "other"}, 32, 10, "other"),
        ({}, 16, 10, "other"),
        ({}, 32, 100, "other"),
        ({}, 64, 3, "other"),
    ],
)
def test_an_npz_belongs_to_the_data_set_that_it_names_or_resembles(
    arrays: dict[str, object], side: int, classes: int, expected: str, tmp_path: Path
) -> None:
    path = write_npz(tmp_path / "mine.npz", side=side, classes=classes, is_test=np.arange(24) % 6 == 0, **arrays)
    import_images(path)
    own = int(np.load(path)["labels"].max()) + 1
    for loaded in (load_images(path), load_images("mine")):
        assert loaded.dataset == expected
        assert loaded.classes == (DATA_SETS[expected].classes if expected in DATA_SETS else own)
        assert loaded.side == side
        if expected == "other":
            assert loaded.crop == side // 8
            pixels = loaded.images.numpy().reshape(-1, 3) / 255
            assert loaded.mean == pytest.approx(pixels.mean(axis=0))
            assert loaded.std == pytest.approx(pixels.std(axis=0))
    described = describe_images()[-1]
    assert (described["dataset"], described["classes"], described["side"]) == (expected, loaded.classes, side)


@pytest.mark.parametrize(
    ("arrays", "side", "classes", "sentence"),
    [
        ({"dataset": "mnist"}, 32, 10, "'dataset'.*mnist"),
        ({"dataset": np.array(["cifar10", "cifar100"])}, 32, 10, "'dataset'"),
        ({"dataset": "ImageNet16-120"}, 32, 10, r"uint8.*\(N, 16, 16, 3\)"),
        ({"dataset": "cifar100", "labels": np.full(24, 100)}, 32, 10, "0 to 99.*100"),
        ({"dataset": "cifar100", "train_index": np.arange(24) + 49_999}, 32, 100, "0 to 49,999"),
        ({"dataset": "other", "train_index": np.arange(24)}, 32, 10, "'train_index' needs a 'dataset'"),
        ({"labels": np.full(24, 2**62)}, 32, 10, "0 to 99999"),
        ({"images": np.zeros((24, 16, 8, 3), np.uint8)}, 16, 10, r"uint8.*\(N, side, side, 3\)"),
        ({}, 2, 10, "least 4.*4 pixels"),
    ],
)
def test_an_npz_that_contradicts_its_name_is_refused(
    arrays: dict[str, object], side: int, classes: int, sentence: str, tmp_path: Path
) -> None:
    path = write_npz(tmp_path / "bad.npz", side=side, classes=classes, **arrays)
    for read in (import_images, load_images):
        with pytest.raises(DamagedFileError, match=sentence):
            read(path)


def test_names_of_data_sets_are_reserved_for_complete_sets(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "mine.npz", classes=100, dataset="cifar100", train_index=np.arange(24))
    with refuses(InvalidInputError, "CIFAR-100", "'cifar100'"):
        import_images(path, "cifar100")
    with refuses(UserError, "CIFAR-100", "cifar100"):
        load_images("cifar100")
    with refuses(UserError, "ImageNet16-120", "ImageNet16"):
        load_images("ImageNet16-120")


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": None},
        {"dataset": "mnist"},
        {"dataset": ["other"]},
        {"dataset": "cifar100", "side": 16},
        {"side": 8},
        {"side": None},
        {"classes": 1},
        {"classes": "x"},
        {"mean": [0.5]},
        {"std": [0.5, 0.5, 0]},
    ],
)
def test_damaged_descriptions_of_data_sets_are_refused(change: dict[str, object], tmp_path: Path) -> None:
    meta_path = import_images(write_npz(tmp_path / "mine.npz", side=16)) / "meta.json"
    meta_path.write_text(json.dumps({**json.loads(meta_path.read_text()), **change}))
    with pytest.raises(DamagedFileError, match="damaged"):
        load_images("mine")


def test_the_standard_deviation_of_single_coloured_images_is_not_zero() -> None:
    mean, std = moments(np.full((3, 8, 8, 3), 51, np.uint8))
    assert mean == pytest.approx((0.2, 0.2, 0.2))
    assert std == (1 / 255,) * 3


def test_batches_address_test_images_after_the_training_images() -> None:
    images, tests = torch.arange(5).byte().view(5, 1, 1, 1), torch.arange(10, 14).byte().view(4, 1, 1, 1)
    both = ImageSet("mine", images, torch.arange(5), torch.arange(5), "", tests, torch.arange(10, 14))
    for rows in ([0, 4], [5, 8, 5], [8, 1, 5, 0, 7, 1], []):
        pixels, labels = both.batch(torch.tensor(rows, dtype=torch.int64))
        assert labels.tolist() == pixels.flatten().tolist() == [row if row < 5 else row + 5 for row in rows]
    with pytest.raises(IndexError):
        both.batch(torch.tensor([9]))
