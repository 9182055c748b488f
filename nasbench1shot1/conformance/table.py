"""What every table must do, measured or estimated, however many budgets and repeats it has."""
# ruff: noqa: D102  a test's name says what it checks

from typing import Literal

import numpy as np
import pytest

from nasbench1shot1.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.tables.table import Table

N_DRAWN = 50
SPLITS: tuple[Literal["validation", "test"], ...] = ("validation", "test")
METRICS = ("validation_accuracy", "test_accuracy", "train_accuracy", "training_time", "trainable_parameters")


class TableConformance:
    """Subclass it in a test module and give the fixture `table`, of at least two rows."""

    @pytest.fixture
    def table(self) -> Table:
        """The table to be tested."""
        raise NotImplementedError("give a fixture 'table' that returns the table")

    @pytest.fixture
    def hashes(self, table: Table) -> list[str]:
        """Hashes spread over the table, the first and the last among them."""
        rows = np.random.default_rng(0).integers(len(table), size=N_DRAWN)
        return table.hashes([0, len(table) - 1, *rows.tolist()])

    def test_rows_are_distinct_and_sorted_by_hash(self, table: Table) -> None:
        hashes = table.hashes(np.arange(len(table)))
        assert hashes == sorted(set(hashes))

    def test_a_rows_cell_has_the_rows_hash(self, table: Table, hashes: list[str]) -> None:
        cells = [table.cell(int(row)) for row in table.rows(hashes)]
        assert [cell.hash for cell in cells] == hashes
        assert all(cell.is_valid for cell in cells)
        assert table.rows(cells).tolist() == table.rows(hashes).tolist()

    def test_a_sequence_is_answered_as_its_items(self, table: Table, hashes: list[str]) -> None:
        for epochs in table.epochs:
            together = table.query(hashes, epochs=epochs)
            for i, hash_ in enumerate(hashes[:10]):
                alone = table.query(hash_, epochs=epochs)
                for metric in METRICS:
                    np.testing.assert_equal(getattr(together, metric)[i], getattr(alone, metric))
                    assert together.is_measured(metric)[i] == alone.is_measured(metric)

    def test_the_mean_is_that_of_all_repeats(self, table: Table, hashes: list[str]) -> None:
        every, mean = table.query(hashes, run="all"), table.query(hashes, run="mean")
        assert every.validation_accuracy.shape == (len(hashes), table.repeats)
        np.testing.assert_allclose(every.validation_accuracy.mean(axis=-1), mean.validation_accuracy, rtol=1e-12)
        for repeat in range(table.repeats):
            one = table.query(hashes, run=repeat)
            np.testing.assert_array_equal(one.validation_accuracy, every.validation_accuracy[:, repeat])

    def test_a_random_repeat_is_one_of_them_and_comes_from_the_generator(self, table: Table, hashes: list[str]) -> None:
        drawn = [table.query(hashes, run="random", rng=np.random.default_rng(1)).validation_accuracy for _ in range(2)]
        np.testing.assert_array_equal(*drawn)
        every = table.query(hashes, run="all").validation_accuracy
        assert (drawn[0][:, None] == every).any(axis=1).all()
        with pytest.raises(InvalidInputError, match="rng"):
            table.query(hashes, run="random")

    def test_fractions_are_fractions_and_seconds_positive(self, table: Table, hashes: list[str]) -> None:
        metrics = table.query(hashes)
        for metric in METRICS[:3]:
            values = getattr(metrics, metric)
            assert ((values >= 0) & (values <= 1) | np.isnan(values)).all()
        assert (metrics.training_time > 0).all()
        assert (metrics.trainable_parameters > 0).all()

    def test_regret_is_never_negative_and_zero_for_the_best(self, table: Table) -> None:
        for reference in (*table.spaces, "nb101"):
            hashes = table.hashes(table.members(reference))
            for split in SPLITS:
                assert table.regret(hashes, reference, split).min() == 0
                cell, metrics = table.best(reference, split)
                assert table.regret(cell, reference, split) == 0
                assert metrics.hash == cell.hash

    def test_what_the_table_lacks_is_refused(self, table: Table, hashes: list[str]) -> None:
        with pytest.raises(OutOfDomainError):
            table.query("0" * 32)
        with pytest.raises(OutOfDomainError):
            table.query(hashes[0], epochs=max(table.epochs) + 1)
        for repeat in (table.repeats, -1):
            with pytest.raises(OutOfDomainError):
                table.query(hashes[0], run=repeat)
        with pytest.raises(InvalidInputError):
            table.regret(hashes[0], reference="no-such-space")

    def test_the_id_names_table_version_and_content(self, table: Table) -> None:
        assert table.id.startswith(f"{table.name}-v{table.version}-")
        table.verify()
