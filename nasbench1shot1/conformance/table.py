"""The conformance suite for tables, measured or estimated, with any data sets, budgets and repeats."""
# ruff: noqa: D102  a test's name states what it checks

from collections.abc import Iterator
from itertools import product
from typing import Literal

import numpy as np
import pytest

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError
from nasbench1shot1.tables.references import PRESENT
from nasbench1shot1.tables.table import Table

N_DRAWN = 50
SPLITS: tuple[Literal["validation", "test"], ...] = ("validation", "test")
ACCURACIES = ("validation_accuracy", "test_accuracy", "train_accuracy")
METRICS = (*ACCURACIES, "training_time", "trainable_parameters")


class TableConformance:
    """Tests of a table. Subclass this class in a test module and provide the fixture `table` (at least two rows)."""

    @pytest.fixture
    def table(self) -> Table:
        """Return the table to be tested."""
        raise NotImplementedError("override the fixture 'table'")

    @pytest.fixture
    def names(self, table: Table) -> list[str]:
        """Return the identifiers of rows spread over the table, including the first and the last."""
        rows = np.random.default_rng(0).integers(len(table), size=N_DRAWN)
        return table.hashes([0, len(table) - 1, *rows.tolist()])

    def test_rows_are_distinct_and_sorted(self, table: Table) -> None:
        names = table.hashes(np.arange(len(table)))
        assert len(set(names)) == len(names)
        assert table.rows(names).tolist() == list(range(len(table)))
        if "hash" in table.info()["columns"]:
            assert names == sorted(names)

    def test_rows_and_networks_are_inverse(self, table: Table, names: list[str]) -> None:
        networks = [table.network(int(row)) for row in table.rows(names)]
        assert table.rows(networks).tolist() == table.rows(names).tolist()
        assert [
            network.network_id if isinstance(network, Architecture) else network.hash for network in networks
        ] == names
        assert all(getattr(network, "is_valid", True) for network in networks)  # only cells can be invalid

    def test_batched_query_equals_single_queries(self, table: Table, names: list[str]) -> None:
        for dataset, epochs in ((dataset, epochs) for dataset in table.datasets for epochs in table.epochs):
            together = table.query(names, epochs, dataset=dataset)
            for i, name in enumerate(names[:10]):
                alone = table.query(name, epochs, dataset=dataset)
                for metric in METRICS:
                    np.testing.assert_equal(getattr(together, metric)[i], getattr(alone, metric))
                    assert together.is_measured(metric)[i] == alone.is_measured(metric)

    def test_mean_equals_mean_of_repeats(self, table: Table, names: list[str]) -> None:
        for dataset in table.datasets:
            every, mean = (table.query(names, run=run, dataset=dataset) for run in ("all", "mean"))
            number, own = every.validation_accuracy.shape  # a metric may have fewer repeats than others
            assert number == len(names) and 1 <= own <= table.repeats
            of_row = [_mean(values) for values in every.validation_accuracy]
            np.testing.assert_allclose(of_row, mean.validation_accuracy, rtol=1e-12)
            are_means = table.full_budget in table.about("validation_accuracy", dataset).means
            for place, repeat in enumerate(table.seeds or range(table.repeats)):
                one = table.query(names, run=repeat, dataset=dataset)
                is_known = place < own and not are_means
                of_repeat = every.validation_accuracy[:, place] if is_known else np.full(number, np.nan)
                np.testing.assert_array_equal(one.validation_accuracy, of_repeat)

    def test_random_repeat_is_drawn_from_generator(self, table: Table, names: list[str]) -> None:
        of = table.datasets[0]
        drawn = [
            table.query(names, run="random", rng=np.random.default_rng(1), dataset=of).validation_accuracy
            for _ in range(2)
        ]
        np.testing.assert_array_equal(*drawn)
        every = table.query(names, run="all", dataset=of).validation_accuracy
        has_gaps = np.isnan(every).any(axis=1) | (every.shape[1] < table.repeats)  # other metrics may have more repeats
        is_missing = np.isnan(drawn[0]) & has_gaps
        assert ((drawn[0][:, None] == every).any(axis=1) | is_missing).all()
        with pytest.raises(InvalidInputError, match="rng"):
            table.query(names, run="random", dataset=of)

    def test_values_are_in_valid_ranges(self, table: Table, names: list[str]) -> None:
        for dataset in table.datasets:
            metrics = table.query(names, dataset=dataset)
            for metric in ACCURACIES:
                values = getattr(metrics, metric)
                assert ((values >= 0) & (values <= 1) | np.isnan(values)).all()
            assert ((metrics.training_time > 0) | np.isnan(metrics.training_time)).all()
            assert ((metrics.trainable_parameters > 0) | np.isnan(metrics.trainable_parameters)).all()

    def test_regret_is_non_negative_and_zero_for_best_network(self, table: Table) -> None:
        for reference, dataset, split, names in _rankings(table, complete=True):
            assert table.regret(names, reference, split, dataset=dataset).min() == 0
            network, metrics = table.best(reference, split, dataset=dataset)
            assert table.regret(network, reference, split, dataset=dataset) == 0
            assert metrics.hash == table.hashes(table.rows(network))[0]

    def test_regret_is_refused_where_the_best_network_is_unknown(self, table: Table) -> None:
        for reference, dataset, split, names in _rankings(table, complete=False):
            with pytest.raises(OutOfDomainError):
                table.best(reference, split, dataset=dataset)
            with pytest.raises(OutOfDomainError):
                table.regret(names, reference, split, dataset=dataset)

    def test_some_reference_has_networks(self, table: Table) -> None:
        assert any(next(_rankings(table, complete), None) for complete in (True, False))

    def test_objectives_refer_to_data_sets_of_table(self, table: Table) -> None:
        for objective in table.objectives:
            assert {objective.validation, objective.test} <= set(table.datasets)
            assert table.objective(objective.dataset) == objective

    def test_missing_values_are_rejected(self, table: Table, names: list[str]) -> None:
        of = table.objectives[0].test
        with pytest.raises((OutOfDomainError, InvalidInputError)):
            table.query("0" * 32, dataset=of)
        with pytest.raises(OutOfDomainError):
            table.query(names[0], epochs=max(table.epochs) + 1, dataset=of)
        repeats = [values.shape[2] for values in table.columns().values() if values.ndim == 3]
        for repeat in (max([table.repeats, *repeats, *table.seeds]) + 1, -1):
            with pytest.raises(OutOfDomainError):
                table.query(names[0], run=repeat, dataset=of)
        with pytest.raises(InvalidInputError):
            table.query(names[0], dataset="no-such-data-set")
        with pytest.raises((OutOfDomainError, InvalidInputError)):
            table.regret(names[0], reference="no-such-space", dataset=of)

    def test_id_contains_name_version_and_content_hash(self, table: Table) -> None:
        assert table.id.startswith(f"{table.name}-v{table.version}-")
        table.verify()


def _rankings(table: Table, complete: bool) -> Iterator[tuple[str, str, Literal["validation", "test"], list[str]]]:
    """Yield references, data sets and splits, and the identifiers of the networks that are compared there.

    Args:
        table: the table. It may lack accuracies of some or all networks.
        complete: yield the references whose networks all have accuracies at the full budget; otherwise, the others.
            The reference "present" consists of the networks that have one, so it is complete unless none has.
    """
    spaces = dict.fromkeys((*table.spaces, table.keys.WHOLE, *table.keys.PARTS))
    for dataset, split in product(table.datasets, SPLITS):
        lacks_value = np.asarray(np.isnan(table.values(f"{split}_accuracy", dataset=dataset)).all(axis=1))
        members = {name: table.members(name) for name in spaces} | {PRESENT: np.flatnonzero(~lacks_value)}
        for reference, rows in members.items():
            if len(rows) and bool(lacks_value[rows].any()) != complete:
                yield reference, dataset, split, table.hashes(rows)


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
