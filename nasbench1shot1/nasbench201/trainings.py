"""The trainings of NAS-Bench-201: data sets, sizes, and what scores a search (Dong and Yang 2020, section 2.2)."""

DATASETS = ("cifar10-valid", "cifar10", "cifar100", "ImageNet16-120")
"""The trainings by data set: "cifar10-valid" has half of CIFAR-10's training images, "cifar10" has all of them."""

CLASSES = {"cifar10-valid": 10, "cifar10": 10, "cifar100": 100, "ImageNet16-120": 120}
SIDES = {"cifar10-valid": 32, "cifar10": 32, "cifar100": 32, "ImageNet16-120": 16}
"""Width and height of the images in pixels."""

IMAGES = {
    "cifar10-valid": {"train": 25_000, "validation": 25_000, "test": 10_000},
    "cifar10": {"train": 50_000, "test": 10_000},
    "cifar100": {"train": 50_000, "validation": 5_000, "test": 5_000},
    "ImageNet16-120": {"train": 151_700, "validation": 3_000, "test": 3_000},
}
"""How many images each split has. No image is left to validate "cifar10"."""

OFFICIAL_SETS = {
    "cifar10-valid": {"train": "train", "validation": "x-valid", "test": "ori-test"},
    "cifar10": {"train": "train", "test": "ori-test"},
    "cifar100": {"train": "train", "validation": "x-valid", "test": "x-test"},
    "ImageNet16-120": {"train": "train", "validation": "x-valid", "test": "x-test"},
}
"""What the official APIs call each split. Their "ori-test" of the last two is validation and test images together."""

EPOCHS = (12, 200)
SEEDS = (111, 777, 888, 999)
"""Random seeds that the published files have; an architecture has one to three of them for each training."""

OBJECTIVES = (
    {"dataset": "cifar10", "validation": "cifar10-valid", "test": "cifar10"},
    {"dataset": "cifar100", "validation": "cifar100", "test": "cifar100"},
    {"dataset": "ImageNet16-120", "validation": "ImageNet16-120", "test": "ImageNet16-120"},
)
"""For each data set that a search can have, the trainings of its validation and test values."""
