"""Tables with missing repeats: seeds, means and draws."""

from collections import Counter

import numpy as np
import pytest

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, OutOfDomainError
from nasbench1shot1.tables.table import Table

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
    with pytest.raises(OutOfDomainError, match="repeat 5"):
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
    with pytest.raises(DamagedFileError, match=sentence):
        Table.from_columns(columns, {**SEEDED, **said, "columns": {}})
