"""Storage of accuracies and times: values equal the source bit for bit, for single and batched lookups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nasbench1shot1.tables.columns import MetricColumn

IMAGES = 9984
COUNTS = st.lists(st.lists(st.integers(0, IMAGES), min_size=3, max_size=3), min_size=1, max_size=5)
KINDS = ("counts", "rounded counts", "rounded quotients", "values")


def column(kind: str, counts: np.ndarray) -> tuple[MetricColumn, np.ndarray]:
    """A column with these counts in one storage format, and the values that it represents."""
    exact = counts / IMAGES
    return {
        "counts": (MetricColumn(counts.astype(np.uint16), (108,), IMAGES), exact),
        "rounded counts": (
            MetricColumn(counts.astype(np.uint16), (108,), IMAGES, rounded=True),
            exact.astype(np.float32).astype(np.float64),
        ),
        "rounded quotients": (MetricColumn(exact.astype(np.float32), (108,), IMAGES), exact),
        "values": (MetricColumn(exact, (108,)), exact),
    }[kind]


@given(COUNTS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_storage_format_reproduces_the_source(kind: str, counts: list[list[int]]) -> None:
    stored, values = column(kind, np.array(counts)[:, None, :])
    rows = np.arange(len(counts))
    assert stored.values(rows, 108, "all").tolist() == values[:, 0].tolist()
    assert stored.values(rows, 108, 1).tolist() == values[:, 0, 1].tolist()
    drawn = np.arange(len(counts)) % 3
    assert stored.values(rows, 108, drawn).tolist() == values[rows, 0, drawn].tolist()
    np.testing.assert_allclose(stored.values(rows, 108, "mean"), values.mean(axis=(1, 2)), rtol=1e-15)


@given(COUNTS)
@pytest.mark.parametrize("kind", KINDS)
def test_single_lookups_equal_batched_lookups(kind: str, counts: list[list[int]]) -> None:
    stored, _ = column(kind, np.array(counts)[:, None, :])
    rows = np.arange(len(counts))
    for repeat in ("mean", 0, 1, 2):
        together = stored.values(rows, 108, repeat).tolist()
        assert [stored.value(row, 108, repeat) for row in range(len(counts))] == together


@pytest.mark.parametrize("kind", KINDS[:1] + KINDS[2:3])
def test_equal_sums_of_counts_give_equal_means(kind: str) -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, IMAGES - 2, (200, 1, 3))
    moved = counts + rng.permuted(np.tile([2, -1, -1], (200, 1)), axis=1)[:, None] * (counts > 0).all(-1, keepdims=True)
    rows = np.arange(200)
    means = [column(kind, c)[0].values(rows, 108, "mean").tolist() for c in (counts, moved)]
    assert means[0] == means[1]


def test_the_best_mean_test_accuracy_of_nas_bench_101_is_reproduced() -> None:
    """0.943175752957662 (google-research/nasbench, issue 10): accuracies of its file are quotients in float32."""
    runs = np.array(
        [[[9416, 9416, 9418]]]
    )  # a triple of counts with that mean; as exact quotients they miss it by 5e-9
    assert column("rounded counts", runs)[0].value(0, 108, "mean") == 0.943175752957662
    assert abs(column("counts", runs)[0].value(0, 108, "mean") - 28250 / 29952) < 1e-15


def test_a_budget_missing_from_the_column_is_nan() -> None:
    stored, _ = column("counts", np.array([[[1, 2, 3]]]))
    assert np.isnan(stored.value(0, 12, "mean"))
    assert np.isnan(stored.values(np.array([0]), 12, "all")).all()
    assert stored.values(np.array([0]), 12, "all").shape == (1, 3)
