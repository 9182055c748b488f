"""Storage of accuracies and times: values equal the source bit for bit, for single and batched lookups."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, OutOfDomainError
from nasbench1shot1.tables.stored_columns import CurveColumn, MetricColumn
from nasbench1shot1.tables.table import Table

IMAGES = 9984
COUNTS = st.lists(st.lists(st.integers(0, IMAGES), min_size=3, max_size=3), min_size=1, max_size=5)
KINDS = ("counts", "rounded counts", "rounded quotients", "quotients of rounded counts", "values")


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
        "quotients of rounded counts": (MetricColumn(exact.astype(np.float32), (108,), IMAGES, rounded=True), exact),
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


@pytest.mark.parametrize("is_rounded", [False, True])
@pytest.mark.parametrize("kind", [MetricColumn, CurveColumn])
def test_more_correct_images_than_there_are_are_detected_when_they_are_read(
    kind: type[MetricColumn], is_rounded: bool
) -> None:
    counts = np.array([[[IMAGES, 0, 3]], [[IMAGES + 1, 0, 3]]], np.uint16)
    curves = {"repeats": (0, 1, 2)} if kind is CurveColumn else {}
    stored = kind(counts, (1,), IMAGES, is_rounded, "own_accuracy", **curves)
    assert (stored.value(0, 1, 0), stored.values(np.array([0]), 1, 0).tolist()) == (1.0, [1.0])
    for read in (
        lambda: stored.value(1, 1, 0),
        lambda: stored.value(1, 1, "mean"),
        lambda: stored.values(np.array([0, 1]), 1, "all"),
    ):
        with refuses(DamagedFileError, "own_accuracy", "9,984 images"):
            read()


@pytest.mark.parametrize("stored", [np.array([[[9], [2]]], np.uint8), np.array([[[0.9], [0.2]]], np.float32)])
def test_learning_curves_are_counts_or_quotients(stored: np.ndarray) -> None:
    curve = CurveColumn(stored, (1, 2), 10)
    assert [curve.value(0, epochs, "mean") for epochs in (1, 2)] == [0.9, 0.2]


@pytest.mark.parametrize("kind", KINDS[:1] + KINDS[2:4])
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


# Missing repeats ------------------------------------------------------------------------------------------------------

SEEDS = [111, 777, 888, 999]
ACCURACIES = np.array(  # official index, seed
    [
        [[0.1, 0.2, 0.3, 0.4]],
        [[np.nan, 0.6, np.nan, 0.8]],
        [[np.nan, np.nan, np.nan, np.nan]],
        [[0.5, np.nan, np.nan, np.nan]],
    ]
)


SEEDED = {
    "name": "seeded",
    "version": "1",
    "keyed_by": "nasbench201",
    "datasets": ["cifar10"],
    "epochs": [200],
    "repeats": 4,
    "spaces": [],
}


def seeded_table(**metrics: np.ndarray) -> Table:
    """A table of the first four architectures, with four seeds at 200 epochs."""
    columns = {"index": np.arange(4, dtype=np.uint16), "trainable_parameters": np.ones(4, np.int32), **metrics}
    about = {name: {"epochs": [200], "fidelity": "measured"} for name in metrics}
    return Table.from_columns(columns, {**SEEDED, "seeds": SEEDS, "columns": about})


@pytest.fixture(scope="module")
def table() -> Table:
    return seeded_table(test_accuracy=ACCURACIES)


def test_a_seed_selects_its_repeat(table: Table) -> None:
    assert table.query(range(4), run=999).test_accuracy.tolist()[:2] == [0.4, 0.8]
    assert np.isnan(table.query(2, run=999).test_accuracy)
    assert table.query(3, run=111).test_accuracy == table.query(3, run=0).test_accuracy == 0.5
    with pytest.raises(OutOfDomainError, match="seed 5: choose 111, 777, 888 or 999"):
        table.query(0, run=5)


def test_means_skip_missing_repeats(table: Table) -> None:
    np.testing.assert_allclose(table.query(range(4)).test_accuracy, [0.25, 0.7, np.nan, 0.5])


def test_draws_are_uniform_over_existing_repeats(table: Table) -> None:
    rng = np.random.default_rng(0)
    together = table.query([0, 1, 2, 3] * 500, run="random", rng=rng).test_accuracy.reshape(500, 4)
    alone = [table.query(1, run="random", rng=rng).test_accuracy for _ in range(500)]
    for draws, expected in ((together[:, 0], (0.1, 0.2, 0.3, 0.4)), (together[:, 1], (0.6, 0.8)), (alone, (0.6, 0.8))):
        counts = Counter(draws)
        assert set(counts) == set(expected)
        assert all(abs(count - 500 / len(expected)) < 50 for count in counts.values())
    assert np.isnan(together[:, 2]).all()
    assert (together[:, 3] == 0.5).all()


def test_draws_are_among_existing_repeats_without_seeds() -> None:
    columns = {"index": np.arange(4, dtype=np.uint16), "test_accuracy": ACCURACIES}
    about = {"test_accuracy": {"epochs": [200], "fidelity": "measured"}}
    table = Table.from_columns(columns, {**SEEDED, "columns": about})
    drawn = table.query([0, 1, 2, 3] * 100, run="random", rng=np.random.default_rng(0)).test_accuracy.reshape(100, 4)
    assert [set(column) for column in drawn[:, [0, 1, 3]].T] == [{0.1, 0.2, 0.3, 0.4}, {0.6, 0.8}, {0.5}]
    assert np.isnan(drawn[:, 2]).all()


def test_a_draw_needs_a_generator(table: Table) -> None:
    with pytest.raises(InvalidInputError, match="rng"):
        table.query(0, run="random")


def test_all_values_of_a_draw_come_from_one_training() -> None:
    table = seeded_table(validation_accuracy=ACCURACIES, validation_loss=1 - ACCURACIES)
    found = table.query([0, 1, 3] * 50, run="random", rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.validation_accuracy + found.validation_loss, 1)


def test_a_table_with_more_correct_images_than_there_are_is_not_created() -> None:
    about = {"test_accuracy": {"epochs": [200], "fidelity": "measured", "images": 10}}
    columns = {"index": np.arange(4, dtype=np.uint16), "test_accuracy": np.full((4, 1, 1), 10, np.uint8)}
    meta = {**SEEDED, "columns": about}
    assert Table.from_columns(columns, meta).query(0).test_accuracy == 1
    columns["test_accuracy"][3] = 11
    with refuses(InvalidInputError, "test_accuracy", "10 images", "change the array"):
        Table.from_columns(columns, meta)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"seeds": [111, 777]}, "2 seeds.*4 repeats"),
        (
            {"objectives": [{"dataset": "cifar10", "validation": "cifar10-valid", "test": "cifar10"}]},
            "objective",
        ),
    ],
)
def test_a_description_that_contradicts_itself_is_refused(said: dict[str, object], sentence: str) -> None:
    columns = {"index": np.arange(4, dtype=np.uint16), "trainable_parameters": np.ones(4, np.int32)}
    with pytest.raises(InvalidInputError, match=sentence):
        Table.from_columns(columns, {**SEEDED, **said, "columns": {}})
