"""Numbers that NAS-Bench-201 (Dong and Yang 2020) reports, by data set and split, in the order of its tables."""

COLUMNS = tuple(
    (dataset, split) for dataset in ("cifar10", "cifar100", "ImageNet16-120") for split in ("validation", "test")
)

TABLE_5 = {
    "optimal": (91.61, 94.37, 73.49, 73.51, 46.77, 47.31),
    "ResNet": (90.83, 93.97, 70.42, 70.86, 44.53, 43.63),
    "all skip": (39.77, 54.30, 15.03, 15.61, 16.43, 16.32),
}
"""Accuracies in percent of table 5. "optimal" is the best of each column; "all skip" is the row of DARTS."""

TABLE_6 = {
    (12, 12): (0.9110, 0.8983, 0.9361, 0.9368, 0.9062, 0.8952),
    (200, 200): (0.9993, 0.9937, 0.9672, 0.9671, 0.8259, 0.8124),
}
"""Rows of table 6, by (epoch, epochs of the schedule), that a table without training curves can reproduce."""

TABLE_6_CURVES = ((6, 12), (12, 200), (24, 200), (100, 200), (150, 200), (175, 200))
"""The other rows of table 6, which need accuracies after an epoch in the middle of a schedule."""


def published_value(row: tuple[float, ...], dataset: str, split: str) -> float:
    """Return the number of a row in the column of a data set and split; NaN if the paper has no such column."""
    return row[COLUMNS.index((dataset, split))] if (dataset, split) in COLUMNS else float("nan")
