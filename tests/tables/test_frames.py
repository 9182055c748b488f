"""Tables from data frames and back: exact round trips, and one sentence that names row and column for wrong frames."""

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import command
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from refusals import fails, missing, refuses

import nasbench1shot1 as nb
from nasbench1shot1.commands.table import Import
from nasbench1shot1.conformance.table import TableConformance
from nasbench1shot1.ground.csv_floats import exact_floats
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.tables.frame_files import parse_columns, read_frame

TINY = ChoiceBlockSpace(name="tiny", id="tiny-v1", n_parents=(1, 1, 2))
LATENCY = nb.Column(metric="latency_phone", quantity="latency", unit="ms", direction="lower")
ENERGY = nb.Column(metric="energy", quantity="energy", unit="mJ", direction="lower")
UPSIDE_DOWN = nb.Column(metric="test_accuracy", quantity="accuracy", split="test", unit="fraction", direction="lower")
WIDTHS = Path(__file__).parents[1] / "conformance" / "third_party_benchmark"


def trainings(**changed: Any) -> pd.DataFrame:
    """A frame with a row for each of 27 cells, two budgets and two repeats."""
    rng, archs = np.random.default_rng(3), [str(arch) for arch in TINY.architectures("unique")]
    keys = [(arch, epochs, repeat) for arch in archs for epochs in (4, 108) for repeat in (0, 1)]
    frame = pd.DataFrame(keys, columns=["architecture", "epochs", "repeat"])
    frame["validation_accuracy"] = rng.uniform(0.5, 0.95, len(frame))
    frame["test_accuracy"] = frame["validation_accuracy"] - 0.01
    frame["training_time"] = frame["epochs"] * 2.5
    frame["trainable_parameters"] = np.repeat(rng.integers(1_000, 2_000, len(archs)), 4)
    return frame.assign(**changed)


def table_of(frame: pd.DataFrame, **options: Any) -> nb.Table:
    return nb.table_from_frame(frame, space=TINY, **options)


def assert_equal_tables(one: nb.Table, other: nb.Table) -> None:
    """Check that both tables have the same id, descriptions and answers."""
    assert (one.id, one.datasets, one.epochs, one.seeds, one.repeats) == (
        other.id,
        other.datasets,
        other.epochs,
        other.seeds,
        other.repeats,
    )
    assert (one.metrics, one.objectives, one.curves) == (other.metrics, other.objectives, other.curves)
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())
    for metric, dataset in ((metric, dataset) for metric in one.metrics for dataset in one.datasets):
        if one.stored(metric, dataset) is None:
            assert other.stored(metric, dataset) is None
            continue
        assert one.about(metric, dataset) == other.about(metric, dataset)
        for epochs in one.epochs:
            for read in ("values", "measured"):
                np.testing.assert_array_equal(
                    getattr(one, read)(metric, epochs, dataset), getattr(other, read)(metric, epochs, dataset)
                )
            rows = np.arange(len(one))
            mean, again = (table.query(table.hashes(rows), epochs, dataset=dataset)[metric] for table in (one, other))
            np.testing.assert_array_equal(mean, again)


# Round trips ----------------------------------------------------------------------------------------------------------


class TestOwnTable(TableConformance):
    @pytest.fixture
    def table(self) -> nb.Table:
        return table_of(trainings(), name="own-tiny", source="made up")


class TestTableWithSeeds(TableConformance):
    @pytest.fixture
    def table(self) -> nb.Table:
        return table_of(with_seeds(1, 2))


def with_seeds(first: int, second: int) -> pd.DataFrame:
    frame = trainings()
    return frame.assign(seed=np.where(frame["repeat"] == 0, first, second)).drop(columns="repeat")


def test_a_number_means_a_repeat_unless_it_may_be_taken_for_a_seed() -> None:
    arch, frame = nb.Architecture.parse(trainings()["architecture"][0]), trainings()
    values = frame["test_accuracy"][:2].tolist()

    def read(table: nb.Table, *runs: int) -> list[float]:
        return [table.query(arch, 4, run=run).test_accuracy for run in runs]

    assert read(table_of(frame), 0, 1) == values
    assert read(table_of(with_seeds(0, 4)), 0, 1, 4) == [*values, values[1]]
    assert read(table_of(with_seeds(777, 888)), 0, 1, 777, 888) == [*values, *values]
    shifted = table_of(with_seeds(1, 2))
    assert read(shifted, 1, 2) == values
    with refuses(nb.OutOfDomainError, "no seed 0", "1 or 2"):
        read(shifted, 0)


def part_of(table: nb.Table, every: int) -> nb.Table:
    """A table with every so many rows of another one."""
    columns, meta = table.columns(), table.description
    kept = {name: values[::every] for name, values in columns.items() if not name.startswith("member_")}
    entries = {name: entry for name, entry in meta["columns"].items() if name in kept}
    return nb.Table.from_columns(kept, {**meta, "spaces": [], "columns": entries})


@pytest.mark.parametrize(
    ("name", "space", "every"), [("nb201", "nb201", 150), ("nb101-5v", "nb101", 40), ("nb101-sample", "nb101", 300)]
)
def test_a_part_of_a_bundled_table_is_created_again(name: str, space: str, every: int) -> None:
    part = part_of(nb.load_table(name), every)
    again = nb.table_from_frame(part.to_frame(), space=nb.search_space(space), reference="present")
    assert_equal_tables(again, part)


def test_a_whole_bundled_table_has_the_same_id() -> None:
    table = nb.load_table("nats-size")
    again = nb.table_from_frame(table.to_frame(), space=nb.search_space("nats-size"))
    assert again.id == table.id
    assert again.spaces == ("nats-size",)


def test_the_id_depends_on_the_names_of_data_sets() -> None:
    ids = [table_of(trainings(), dataset=name).id for name in ("cifar10", None, "cifar100", "mine")]
    assert len(set(ids[1:])) == 3
    assert ids[0] == ids[1] == "own-v1-77dbad5"  # runs recorded these two before ids depended on data sets
    several = [table_of(pd.concat([trainings(dataset=name) for name in names])).id for names in ("ab", "ac")]
    assert several[0] == "own-v1-b8b5621"
    assert several[0] != several[1]


def test_some_rows_and_columns_of_a_frame_keep_their_descriptions() -> None:
    frame = part_of(nb.load_table("nb201"), 500).to_frame()
    kept = frame.loc[frame["dataset"] == "cifar100", ["architecture", "dataset", "epochs", "seed", "test_accuracy"]]
    table = nb.table_from_frame(kept, space=nb.search_space("nb201"), reference="present")
    assert (table.datasets, table.metrics, table.seeds) == (("cifar100",), ("test_accuracy",), (111, 777, 888, 999))
    assert table.about("test_accuracy").means == (200,)


@pytest.mark.parametrize("dataset", ["cifar10-valid", "cifar10", "ImageNet16-120"])
def test_the_rows_of_one_data_set_need_no_descriptions_of_the_other_ones_metrics(dataset: str) -> None:
    options: dict[str, Any] = {"space": nb.search_space("nb201"), "reference": "present"}
    part = part_of(nb.load_table("nb201"), 500)
    frame = part.to_frame()
    kept = frame[frame["dataset"] == dataset]
    table = nb.table_from_frame(kept, **options)
    assert set(table.metrics) == {name for name in part.metrics if part.stored(name, dataset) is not None}
    for metric, epochs in ((metric, epochs) for metric in table.metrics for epochs in (12, 200)):
        np.testing.assert_array_equal(table.values(metric, epochs), part.values(metric, epochs, dataset))
    renamed = nb.table_from_frame(kept.assign(dataset="mine"), **options)
    assert renamed.metrics == table.metrics
    for metric in table.metrics:
        found, before = renamed.about(metric), table.about(metric)
        assert (found.unit, found.device, found.fidelity) == (before.unit, before.device, before.fidelity)
        for epochs in (12, 200):
            np.testing.assert_array_equal(*(of.values(metric, epochs) for of in (renamed, table)))


@pytest.mark.parametrize("epochs", [(), (4, 108)])
def test_data_sets_that_share_a_column_have_equal_values(epochs: tuple[int, ...]) -> None:
    shared = nb.Column(metric="energy", quantity="energy", dataset="a", also_of=("b",), epochs=epochs)
    one = trainings(energy=np.arange(108.0), dataset="a")
    table = table_of(pd.concat([one, one.assign(dataset="b")]), columns={"energy": shared})
    np.testing.assert_array_equal(*(table.values("energy", 4, dataset) for dataset in "ab"))
    other = one.assign(energy=one["energy"].replace(5.0, 7.5), dataset="b")
    with refuses(nb.InvalidInputError, "row 114", "row 6", "'7.5'", "'5'", "energy"):
        table_of(pd.concat([one, other]), columns={"energy": shared})


def test_a_metric_may_have_the_name_of_an_internal_column() -> None:
    numbers = np.arange(27)[::-1].copy()
    for metric, values in (("row", numbers), ("index", numbers / 2)):
        table = table_of(trainings()).with_column(nb.Column(metric=metric, quantity="order"), values)
        assert_equal_tables(table_of(table.to_frame()), table)
        for row in table.to_frame().to_dict("records"):
            answer = table.query(nb.Architecture.parse(row["architecture"]), row["epochs"], run=row["repeat"])
            assert (answer.test_accuracy, answer[metric]) == (row["test_accuracy"], row[metric])


def test_values_of_a_frame_are_predictions_if_the_caller_says_so() -> None:
    frame = part_of(nb.load_table("nb201"), 500).to_frame()
    given = {"space": nb.search_space("nb201"), "reference": "present", "source": "my model"}
    table = nb.table_from_frame(frame, **given, measured=False)
    for metric in ("validation_accuracy", "test_accuracy"):
        assert (table.is_measured(metric, "cifar100"), table.about(metric, "cifar100").fidelity) == (False, "predicted")
    assert table.about("flops", "cifar100").fidelity == "exact"
    assert nb.table_from_frame(frame, **given).is_measured("test_accuracy", "cifar100")
    sources = {name: of["sources"] for name, of in table.description["columns"].items() if "metric" in of}
    assert set(map(tuple, sources.values())) == {("my model",)}


@pytest.mark.parametrize("names", [("b", "a"), ("a", "b")])
@pytest.mark.parametrize("repeat", ["repeat", "seed"])
def test_data_sets_without_any_value_are_kept(names: tuple[str, str], repeat: str) -> None:
    arch, unknown, number = str(TINY[0]), np.nan, {"repeat": 0, "seed": 7}[repeat]
    rows = [
        (arch, names[0], 1, "mean", unknown, 0.1),
        (arch, names[1], 1, "mean", unknown, unknown),
        (arch, names[0], 200, number, 0.5, 0.5),
    ]
    frame = pd.DataFrame(
        rows, columns=["architecture", "dataset", "epochs", repeat, "validation_accuracy", "test_loss"]
    )
    for ordered in (frame, frame[::-1]):
        table = table_of(ordered, reference="present")
        assert table.datasets == tuple(dict.fromkeys(ordered["dataset"]))
        again = table_of(table.to_frame(), reference="present")
        assert_equal_tables(table, again)
        assert np.isnan(again.query(TINY[0], 200, dataset=names[1]).validation_accuracy)


values = st.one_of(st.none(), st.floats(0, 1), st.sampled_from([0.0, 1.0, 1 / 3, 2**-1074]))


@settings(max_examples=25, deadline=None, phases=[Phase.generate])
@given(data=st.data())
def test_any_frame_becomes_a_table_and_the_same_frame_again(data: st.DataObject) -> None:
    drawn = data.draw
    archs = [str(arch) for arch in TINY.architectures("unique")]
    n, repeat = drawn(st.integers(1, 5)), drawn(st.sampled_from(["repeat", "seed"]))
    datasets = drawn(st.sampled_from([["cifar10"], ["b", "a"]]))
    repeats = [0, 2, "mean"] if repeat == "repeat" else [7, 3, "mean"]
    rows = []
    for number in range(n):
        for dataset in datasets:
            for epochs in drawn(st.sets(st.sampled_from([1, 12, 108]), min_size=1)):
                single = drawn(st.booleans())
                rows += [
                    (archs[number], dataset, epochs, one, drawn(values), drawn(values), drawn(values))
                    for one in (repeats[:2] if single else repeats[2:])
                ]
    rows.append((archs[0], datasets[0], 200, repeats[0], 0.5, 0.5, 0.5))
    metrics = ["validation_accuracy", "test_loss", "energy"]
    frame = pd.DataFrame(rows, columns=["architecture", "dataset", "epochs", repeat, *metrics])
    by_budget = frame.dropna(subset=metrics, how="all").groupby(["dataset", "epochs"])[repeat]
    mixed = by_budget.agg(lambda of: len({one == "mean" for one in of}) > 1)
    if mixed.any():  # means and repeats at one budget; they are refused in a test below
        return
    frame = frame.astype(dict.fromkeys(metrics, "float64"))
    table = nb.table_from_frame(frame, space=TINY, columns={"energy": ENERGY}, reference="present")
    again = nb.table_from_frame(table.to_frame(), space=TINY, reference="present")
    assert_equal_tables(table, again)
    back = table.to_frame().set_index(["architecture", "dataset", "epochs", repeat])
    networks = {arch: TINY.benchmark.load("architecture").parse(arch).network_id for arch in frame["architecture"]}
    texts = {nb.Architecture.parse(text).network_id: text for text in back.index.get_level_values(0)}
    for row in frame.dropna(subset=metrics[:2], how="all").itertuples(index=False):
        found = back.loc[(texts[networks[row.architecture]], *row[1:4])]
        expected = [row.validation_accuracy, row.test_loss, row.energy]
        np.testing.assert_array_equal(found.reindex(metrics).astype(float), expected)


def test_curves_half_way_values_and_estimates_come_back() -> None:
    frame = pd.concat([trainings(), trainings(epochs=2)], ignore_index=True).drop_duplicates(
        ["architecture", "epochs", "repeat"]
    )
    is_full = frame["epochs"] == 4
    frame["halfway_test_accuracy"] = np.where(is_full, 0.25, np.nan)
    frame["curve4_validation_accuracy"] = np.where(frame["epochs"] <= 4, frame["epochs"] / 8, np.nan)
    frame["measured_test_accuracy"] = np.where(is_full & (frame["repeat"] == 0), 0.5, np.nan)
    table = table_of(frame, measured=False)
    arch = TINY[0]
    assert table.curves == (4,)
    assert table.query(arch, 2, budget=4).validation_accuracy == 0.25
    assert table.query(arch, 4, halfway=True).test_accuracy == 0.25
    assert not table.is_measured("test_accuracy")
    assert table.measured("test_accuracy", 4).tolist() == [[0.5]] * 27
    found = table.query([arch, arch], 4, run="all")
    assert found.is_measured("test_accuracy").tolist() == [[True, True]] * 2  # one measurement for both repeats
    assert not table.query(arch, 108, run="all").is_measured("test_accuracy").any()
    assert "test_accuracy" in repr(found) and not found.is_measured("test_accuracy").flags.writeable
    assert_equal_tables(table_of(table.to_frame()), table)


def test_a_metric_may_have_more_repeats_than_the_table_has_seeds() -> None:
    table = table_of(with_seeds(777, 888))
    robust = nb.Column(metric="robust_accuracy", quantity="accuracy", epochs=(108,), dataset="default")
    attacked = table.with_column(robust, np.arange(27 * 5.0).reshape(27, 1, 5))
    frame = attacked.to_frame()
    assert "seed" not in frame and frame["repeat"].max() == 4
    again = table_of(frame)
    assert (again.id, again.seeds, again.repeats) == (attacked.id, (), 5)
    pd.testing.assert_frame_equal(again.to_frame(), frame)
    few = table.with_column(robust, {TINY[0]: [[0.5, 0.6, np.nan, np.nan, np.nan]]}).to_frame()
    assert set(few["seed"]) == {777, 888}


@pytest.mark.parametrize("other", ["notes.md", "meta.json"])
def test_a_table_does_not_replace_a_folder_with_other_files(tmp_path: Path, other: str) -> None:
    table = table_of(trainings())
    table.save(tmp_path / "mine")
    table.save(tmp_path / "mine")
    text = json.dumps({"images": 5})
    (tmp_path / "mine" / other).write_text(text)
    before = {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()}
    with refuses(nb.InvalidInputError, tmp_path / "mine"):
        table.save(tmp_path / "mine")
    assert {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()} == before


def test_every_form_of_an_architecture_is_accepted() -> None:
    frame = trainings()
    table = table_of(frame)
    archs = [nb.Architecture.parse(text) for text in frame["architecture"]]
    for form in (archs, [arch.network_id for arch in archs], [TINY.index(arch) for arch in archs]):
        assert table_of(frame.assign(architecture=form)).id == table.id
    chosen = pd.DataFrame([dict(TINY.to_configuration(arch)) for arch in archs])
    assert table_of(pd.concat([chosen, frame.drop(columns="architecture")], axis=1)).id == table.id
    several = chosen.loc[:, chosen.nunique() > 1]
    assert several.shape[1] < chosen.shape[1]  # some hyperparameters have a single value
    assert table_of(pd.concat([several, frame.drop(columns="architecture")], axis=1)).id == table.id
    strings = nb.load_table("nb201").hashes(range(3))
    one = pd.DataFrame({"architecture": strings, "epochs": 200, "test_accuracy": [0.1, 0.2, 0.3]})
    space = nb.search_space("nb201")
    assert nb.table_from_frame(one, space=space, reference="present").query(2).test_accuracy == 0.3


def test_missing_values_and_repeats_stay_what_they_are() -> None:
    frame = trainings()
    frame.loc[[0, 3, 6, 7], "test_accuracy"] = np.nan
    table = table_of(frame)
    first = table.query(nb.Architecture.parse(frame["architecture"][0]), 4, run="all").test_accuracy
    assert np.isnan(first[0]) and first[1] == frame["test_accuracy"][1]
    assert table.repeats_of("test_accuracy", 4) == (1, 2)
    assert np.isnan(table.query(nb.Architecture.parse(frame["architecture"][4]), 108).test_accuracy)
    assert not table.has_means
    means = table_of(frame[frame["repeat"] == 0].assign(repeat="mean"))
    assert means.about("validation_accuracy").means == (4, 108)
    assert np.isnan(means.query(TINY[0], 108, run=0).validation_accuracy)
    assert means.query(TINY[0], 108).validation_accuracy > 0


def test_a_part_of_a_space_needs_a_choice_of_the_reference() -> None:
    frame = trainings().iloc[:40]
    with refuses(nb.OutOfDomainError, "17", "27", "tiny", "add the missing ones", options="reference"):
        table_of(frame)
    table = table_of(frame, reference="present")
    arch = nb.Architecture.parse(frame["architecture"][0])
    best = table.values("test_accuracy").mean(axis=1).max()
    assert table.regret(arch) == pytest.approx(best - table.query(arch).test_accuracy)
    assert (table.covering(TINY).is_partial, table.is_part) == (True, True)
    assert table.spaces == ()


def test_a_column_without_budgets_has_one_value_for_each_network() -> None:
    table = table_of(
        trainings(latency_phone=trainings()["trainable_parameters"] / 100), columns={"latency_phone": LATENCY}
    )
    assert table.about("latency_phone").epochs == table.about("trainable_parameters").epochs == ()
    assert isinstance(table.query(TINY[0]).trainable_parameters, int)
    varying = table_of(trainings(energy=np.arange(108.0)), columns={"energy": ENERGY})
    assert varying.about("energy").epochs == (4, 108)
    assert varying.repeats_of("energy") == (2, 2)


def test_values_of_some_budgets_or_repeats_are_not_values_of_the_network() -> None:
    frame = trainings()
    energies, archs = frame.index.to_series() // 4 + 1.0, [nb.Architecture.parse(text) for text in CELLS]
    late = table_of(frame.assign(energy=energies.where(frame["epochs"] == 108)), columns={"energy": ENERGY})
    assert (late.about("energy").epochs, late.epochs_of("energy")) == ((108,), (108,))
    assert late.query(archs).energy.tolist() == list(range(1, 28))
    assert np.isnan(late.query(archs, 4).energy).all()
    with refuses(nb.OutOfDomainError, "energy", "4", "108"):
        late.regret(archs[0], metric="energy", epochs=4)
    first = table_of(frame.assign(energy=energies.where(frame["repeat"] == 0)), columns={"energy": ENERGY})
    assert (first.query(archs[3], run=0).energy, first.repeats_of("energy")) == (4.0, (1, 1))
    assert np.isnan(first.query(archs, run=1).energy).all()
    is_odd = energies % 2 == 1
    mixed = table_of(frame.assign(energy=energies.where(is_odd == (frame["epochs"] == 4))), columns={"energy": ENERGY})
    for epochs, expected in ((4, [1, np.nan, 3, np.nan]), (108, [np.nan, 2, np.nan, 4])):
        np.testing.assert_array_equal(mixed.query(archs[:4], epochs).energy, expected)
    some = table_of(frame.assign(energy=energies.where(is_odd)), columns={"energy": ENERGY})
    assert some.about("energy").epochs == ()  # all rows of a network have the value, or none
    for table in (late, first, mixed, some):
        assert_equal_tables(table_of(table.to_frame()), table)


# Several columns of a metric ------------------------------------------------------------------------------------------

ACCURACY: dict[str, Any] = {"quantity": "accuracy", "unit": "fraction", "direction": "higher"}
CELLS = [str(arch) for arch in TINY.architectures("unique")]


def curves(length: int = 4, **columns: Any) -> pd.DataFrame:
    """A frame with a row for each of 27 cells, each epoch and two repeats."""
    keys = [(arch, epoch, repeat) for arch in CELLS for epoch in range(1, length + 1) for repeat in (0, 1)]
    frame = pd.DataFrame(keys, columns=["architecture", "epochs", "repeat"])
    return frame.assign(**{name: of(frame["epochs"]) for name, of in columns.items()})


def last_of(length: int, value: float) -> Callable[[Any], Any]:
    return lambda epochs: np.where(epochs == length, value, np.nan)


@pytest.mark.parametrize("names", [["guess", "truth"], ["truth", "guess"]])
def test_estimates_and_measurements_of_a_metric_are_described(names: list[str]) -> None:
    values = {"guess": 0.6, "truth": [0.7] * 4 + [np.nan] * 104}
    fidelities = {"guess": "predicted", "truth": "measured"}
    given = {name: nb.Column(metric="robust", fidelity=fidelities[name], **ACCURACY) for name in names}
    table = table_of(trainings(**{name: values[name] for name in names}), columns=given)
    found = table.query([nb.Architecture.parse(text) for text in CELLS[:2]])
    assert found.robust.tolist() == [0.6, 0.6] and found.is_measured("robust").tolist() == [True, False]
    assert found.is_measurement("robust").tolist() == [False, False]  # the value is the estimate of both
    assert table.measured("robust")[:, 0].tolist().count(0.7) == 1
    assert_equal_tables(table_of(table.to_frame()), table)


def test_estimates_are_added_to_the_frame_of_a_table_with_measurements() -> None:
    measured = table_of(trainings()[trainings()["repeat"] == 0])
    described = nb.Column(metric="test_accuracy", split="test", fidelity="predicted", **ACCURACY)
    table = table_of(measured.to_frame().assign(guess=0.5), columns={"guess": described})
    assert table.query(TINY[0]).test_accuracy == 0.5 and not table.is_measured("test_accuracy")
    np.testing.assert_array_equal(table.measured("test_accuracy"), measured.values("test_accuracy"))
    assert_equal_tables(table_of(table.to_frame()), table)


def test_two_columns_with_the_same_values_are_refused() -> None:
    described = nb.Column(metric="validation_accuracy", split="validation", **ACCURACY)
    with refuses(nb.InvalidInputError, "validation_accuracy", "mine", "measured"):
        table_of(trainings(mine=0.5), columns={"mine": described})
    texts = ["f1:fraction:higher", "measured_f1:fraction:higher"]
    with refuses(nb.InvalidInputError, "'f1'", "'measured_f1'", "remove"):
        table_of(trainings(f1=0.5, measured_f1=0.5), columns=parse_columns(texts))
    assert table_of(trainings(mine=np.nan), columns={"mine": described}).id == table_of(trainings()).id
    with refuses(nb.InvalidInputError, "metric cell", "another metric"):  # a column that identifies rows
        table_of(trainings(score=0.5), columns={"score": nb.Column(metric="cell", fidelity="modelled", **ACCURACY)})


@pytest.mark.parametrize("constant", [False, True])
def test_described_metrics_have_half_way_values_and_learning_curves(constant: bool) -> None:
    frame = curves(f1=last_of(4, 0.9), curve4_f1=lambda epochs: epochs / 10, halfway_f1=last_of(4, 0.6))
    if not constant:
        frame["f1"] += frame["repeat"] / 100
    texts = [f"{name}:fraction:higher" for name in ("f1", "curve4_f1", "halfway_f1")]
    table = table_of(frame, columns=parse_columns(texts))
    assert (table.epochs, table.curves, table.metrics) == ((4,), (4,), ("f1",))
    assert table.query(TINY[0], run=0).f1 == 0.9
    assert table.query(TINY[0], 3, budget=4).f1 == 0.3
    assert table.query(TINY[0], halfway=True).f1 == 0.6
    assert_equal_tables(table_of(table.to_frame()), table)


def test_learning_curves_and_half_way_values_may_have_estimates_and_measurements() -> None:
    frame = curves(curve4_f1=lambda epochs: epochs / 10, halfway_f1=last_of(4, 0.25))
    is_first = frame["repeat"] == 0
    frame = frame.assign(
        **{f"measured_{name}": frame[name].where(is_first) / 2 for name in ("curve4_f1", "halfway_f1")}
    )
    table = table_of(frame, columns=parse_columns([f"{name}::" for name in frame.columns[3:]], "predicted"))
    found = table.query(TINY[0], 3, budget=4, run="all")
    assert (found.f1.tolist(), found.is_measured("f1").tolist()) == ([0.3, 0.3], [True, True])
    assert table.measured("f1", 3, budget=4).tolist() == [[0.15]] * 27
    assert table.query(TINY[0], halfway=True).f1 == 0.25
    assert_equal_tables(table_of(table.to_frame()), table)


# The ends of trainings ------------------------------------------------------------------------------------------------


def test_a_learning_curve_ends_with_the_value_at_the_end() -> None:
    own = nb.Column(metric="test_accuracy", split="test", moment=4, **ACCURACY)
    frame = curves(curve4_validation_accuracy=lambda epochs: epochs / 10, own=lambda epochs: epochs / 8)
    table = table_of(frame, columns={"own": own})
    assert table.query(TINY[0], run="all").validation_accuracy.tolist() == [0.4, 0.4]
    assert table.query(TINY[0], 4, budget=4).test_accuracy == 0.5
    assert table.query(TINY[0], 3, budget=4).test_accuracy == 0.375
    assert table.best(TINY, "validation")[1].validation_accuracy == 0.4
    assert table.epochs_of("test_accuracy") == table.epochs == (4,)
    assert_equal_tables(table_of(table.to_frame()), table)


def test_values_at_the_end_come_before_those_of_learning_curves() -> None:
    frame = curves(test_accuracy=last_of(4, 0.9), curve4_test_accuracy=lambda epochs: epochs / 10)
    longer = curves(8, curve8_test_accuracy=lambda epochs: epochs / 10)
    table = table_of(frame.merge(longer, "outer", ["architecture", "epochs", "repeat"]))
    assert [table.query(TINY[0], epochs).test_accuracy for epochs in table.epochs] == [0.9, 0.8]
    assert table.query(TINY[0], 4, budget=8).test_accuracy == 0.4


@pytest.mark.parametrize("order", [1, -1])
def test_estimates_and_measurements_have_their_own_ends(order) -> None:
    frame = curves(
        curve4_test_accuracy=lambda epochs: epochs / 10, measured_curve4_test_accuracy=lambda epochs: epochs / 20
    )
    table = table_of(frame[frame.columns[::order]].query("repeat == 0"), measured=False)
    found = table.query(TINY[0])
    assert (found.test_accuracy, found.source("test_accuracy")) == (0.4, "predicted")
    assert table.measured("test_accuracy")[0].item() == 0.2


def test_a_learning_curve_without_its_end_has_no_value_at_the_end() -> None:
    table = table_of(curves(3, curve4_test_accuracy=lambda epochs: epochs / 10))
    assert np.isnan(table.query(TINY[0]).test_accuracy)
    with refuses(nb.OutOfDomainError, "test accuracy", "4 epochs", "another metric or table"):
        table.best(TINY)


def test_rows_of_one_budget_become_a_table_of_this_budget() -> None:
    frame = table_of(trainings(), name="both").to_frame()
    table = table_of(frame.query("epochs == 4"))
    assert (table.epochs, table.full_budget, table.empty_budgets) == ((4,), 4, ())
    assert table.query(TINY[0]).test_accuracy == table_of(trainings()).query(TINY[0], 4).test_accuracy
    assert table.best(TINY)[1].epochs == 4
    assert table_of(frame[frame["epochs"] == 4].drop(columns=["test_accuracy"])).metrics[0] == "validation_accuracy"
    masked = frame.assign(test_accuracy=frame["test_accuracy"].where(frame["epochs"] == 4))
    assert table_of(masked).epochs_of("test_accuracy") == (4,)
    assert table_of(frame.assign(test_loss=np.nan, test_accuracy=np.nan)).metrics == (
        "validation_accuracy",
        "training_time",
        "trainable_parameters",
    )


def test_budgets_without_values_come_back() -> None:
    table = table_of(trainings())
    columns, meta = table.columns(), table.description
    columns["test_accuracy"] = np.full((27, 3, 2), np.nan)
    columns["test_accuracy"][:, 0] = 0.5
    meta["epochs"] = meta["columns"]["test_accuracy"]["epochs"] = [4, 108, 200]
    columns["test_loss"], meta["columns"]["test_loss"] = np.full((27, 1, 1), np.nan), {"epochs": [4]}
    meta["epochs"] = [4, 108, 200, 300]
    empty = nb.Table.from_columns(columns, meta)
    assert_equal_tables(table_of(empty.to_frame()), empty)


# Wrong frames ---------------------------------------------------------------------------------------------------------


def at(row: int, column: str, value: Any) -> Callable[[], pd.DataFrame]:
    def change() -> pd.DataFrame:
        frame = trainings()
        frame[column] = frame[column].astype(object)
        frame.loc[row - 1, column] = value
        return frame

    return change


def with_attributes() -> pd.DataFrame:
    frame = trainings()
    frame.attrs["nasbench1shot1_table"] = {"columns": 3}
    return frame


def test_a_seed_for_each_training_does_not_fill_the_memory() -> None:
    numbers = np.repeat(np.arange(15_625), 2)
    frame = pd.DataFrame({"architecture": numbers, "epochs": 200, "test_accuracy": 0.5})
    seeds = frame.assign(seed=np.arange(len(frame)))
    with refuses(nb.InvalidInputError, "test_accuracy", "31,250 repeats", "'repeat' instead of 'seed'"):
        nb.table_from_frame(seeds, space=nb.search_space("nb201"))
    few = nb.table_from_frame(seeds.iloc[:9], space=nb.search_space("nb201"), reference="present")
    assert (few.seeds, few.repeats_of("test_accuracy", 200)) == (tuple(range(9)), (1, 2))


def test_a_search_without_a_network_of_the_table_is_reported_so(tmp_path: Path) -> None:
    accuracies = {"validation_accuracy": [0.9], "test_accuracy": [0.9], "training_time": [100.0]}
    frame = pd.DataFrame({"architecture": [14_579], "epochs": [108], **accuracies})
    table = nb.table_from_frame(frame, space=nb.search_space("s1"), reference="present")
    table.save(tmp_path / "one")
    with refuses(nb.InvalidInputError, table.id, "30 architectures", options=""):
        nb.black_box("random", space="s1", table=tmp_path / "one", evaluations=30, repeats=1, out=tmp_path / "study")


WRONG: dict[str, tuple[Callable[[], Any], tuple[Any, ...]]] = {
    "not a frame": (lambda: [1, 2], ("list", "DataFrame")),
    "no rows": (lambda: trainings().iloc[:0], ("no rows",)),
    "no architecture": (lambda: trainings().drop(columns="architecture"), ("architecture", "choice_block_1_op")),
    "no epochs": (lambda: trainings().drop(columns="epochs"), ("epochs",)),
    "an unknown column": (lambda: trainings(f1=0.5), ("f1", "test_accuracy")),
    "a needless prefix": (
        lambda: trainings(measured_test_accuracy=0.5),
        ("measured_test_accuracy", "'test_accuracy' is measured", "measured=False"),
    ),
    "a prefix without estimates": (
        lambda: trainings().rename(columns={"test_accuracy": "measured_test_accuracy"}),
        ("measured_test_accuracy", "rename it to 'test_accuracy'"),
    ),
    "a prefix in capitals": (lambda: trainings(**{"Halfway test loss": 1}), ("is probably 'halfway_test_loss'",)),
    "a name with a hyphen": (lambda: trainings(**{"f1-score": 1}), ('"f1-score": nb.Column(metric="f1_score", …)',)),
    "a reserved name": (lambda: trainings(budget=1), ('"budget": nb.Column(metric="NAME", …)',)),
    "two spellings": (lambda: trainings(**{"Training time": 1}), ('"Training time": nb.Column(metric="NAME", …)',)),
    "two columns of one name": (
        lambda: trainings().rename(columns={"training_time": "test_accuracy"}),
        ("test_accuracy",),
    ),
    "a numbered column": (lambda: trainings().rename(columns={"training_time": 5}), ("5",)),
    "both repeat and seed": (lambda: trainings(seed=1), ("repeat", "seed")),
    "an unknown architecture": (at(7, "architecture", "tiny:0|0|0,1:conv3x3"), ("row 7", "architecture")),
    "another text": (at(7, "architecture", "resnet"), ("row 7", "architecture", "resnet")),
    "another space": (at(7, "architecture", "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"), ("row 7",)),
    "an unknown hash": (at(7, "architecture", "F" * 32), ("row 7", "architecture", "no network", "F" * 32)),
    "a number too large": (at(7, "architecture", 54), ("row 7", "54", "53")),
    "a missing architecture": (at(7, "architecture", None), ("row 7", "architecture")),
    "a list": (at(7, "architecture", ()), ("row 7", "architecture")),
    "missing epochs": (at(9, "epochs", np.nan), ("row 9", "epochs")),
    "half an epoch": (at(9, "epochs", 1.5), ("row 9", "epochs", "1.5")),
    "no epoch": (at(9, "epochs", 0), ("row 9", "epochs", "0")),
    "a negative repeat": (at(9, "repeat", -1), ("row 9", "repeat", "-1")),
    "a named repeat": (at(9, "repeat", "median"), ("row 9", "repeat", "median")),
    "repeats from 1": (lambda: trainings(repeat=trainings()["repeat"] + 1), ("repeat", "seed")),
    "two equal trainings": (
        at(6, "repeat", 0),
        ("5", "6", "tiny:0|0|0,1:conv1x1,conv3x3", "different values", "repeat"),
    ),
    "an infinite value": (at(8, "training_time", np.inf), ("row 8", "training_time")),
    "a number beyond floats": (at(8, "training_time", -(10**400)), ("row 8", "training_time", "infinite")),
    "a text among numbers": (at(8, "training_time", "long"), ("row 8", "training_time", "long")),
    "a number with an underscore": (at(8, "training_time", "1_000"), ("row 8", "training_time", "1_000")),
    "a number in other digits": (at(8, "training_time", "１２"), ("row 8", "training_time", "１２")),
    "a truth value": (at(8, "training_time", True), ("row 8", "training_time", "True")),
    "a negative time": (at(8, "training_time", -1.0), ("row 8", "training_time", "-1")),
    "a percentage": (at(8, "test_accuracy", 93.5), ("row 8", "test_accuracy", "93.5", "100")),
    "a negative accuracy": (at(8, "test_accuracy", -0.5), ("row 8", "test_accuracy", "-0.5")),
    "two sizes of a network": (at(8, "trainable_parameters", 5), ("row 8", "row 5", "trainable_parameters")),
    "means and repeats": (at(8, "repeat", "mean"), ("row", "validation_accuracy", "108")),
    "a wrong data set": (lambda: trainings(dataset="my data"), ("row 1", "dataset", "my data")),
    "two data sets": (
        lambda: trainings(dataset=["cifar10", "Cifar10Valid"] * 54),
        ("Cifar10Valid", "cifar10-valid"),
    ),
    "a text without numbers": (lambda: trainings(optimizer="sgd"), ("optimizer", "frame.drop(columns='optimizer')")),
    "an index": (lambda: trainings(**{"Unnamed: 0": 3}), ("Unnamed: 0", "index=False", "frame.drop")),
    "an unknown number": (lambda: trainings(speed=3), ("speed", 'columns={"speed": nb.Column(…)}', "frame.drop")),
    "a missing data set": (lambda: trainings(dataset=None), ("row 1", "dataset")),
    "a negative loss": (lambda: trainings(test_loss=-0.5), ("row 1", "test_loss", "-0.5", "negative")),
    "a negative number of parameters": (lambda: trainings(trainable_parameters=-5), ("row 1", "trainable_parameters")),
    "millions of FLOPs": (lambda: trainings(flops=15.5), ("row 1", "flops", "15.5", "not of millions")),
    "no metric": (lambda: trainings()[["architecture", "epochs", "repeat"]], ("no value", "validation_accuracy")),
    "only missing values": (
        lambda: trainings()[["architecture", "epochs", "repeat"]].assign(test_loss=np.nan),
        ("no value", "validation_accuracy"),
    ),
    "architecture in capitals": (
        lambda: trainings().rename(columns={"architecture": "Architecture"}),
        ("'Architecture' is probably 'architecture'",),
    ),
    "a misspelled budget": (lambda: trainings().rename(columns={"epochs": "epoch"}), ("'epoch' is probably 'epochs'",)),
    "a name with a space": (lambda: trainings().rename(columns={"epochs": " epochs"}), ("is probably 'epochs'",)),
    "a repeat in capitals": (
        lambda: trainings().rename(columns={"repeat": "Repeat"}),
        ("'Repeat' is probably 'repeat'",),
    ),
    "a metric in capitals": (
        lambda: trainings().rename(columns={"test_accuracy": "Test Accuracy"}),
        ("'Test Accuracy', which is probably 'test_accuracy'",),
    ),
    "a repeat beyond 64 bits": (at(9, "repeat", "9999999999999999999"), ("row 9", "repeat", "9999999999999999999")),
    "an endless curve": (lambda: trainings(curve9999999_test_loss=0.5), ("curve9999999_test_loss", "9,999,999 epochs")),
    "another attribute": (with_attributes, ("nasbench1shot1_table", "frame.attrs.clear()")),
    "a curve that is too long": (
        lambda: trainings(curve50_test_accuracy=0.5),
        ("row 3", "curve50_test_accuracy", "50"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_frame_is_refused_in_one_sentence(name: str) -> None:
    make, said = WRONG[name]
    frame = make()
    with refuses(nb.InvalidInputError, *said):
        table_of(frame)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"space": "nb101-5v"}, ("nb.search_space('nb101-5v')",)),
        ({"space": 3}, ("3", "nb.search_space('s1')")),
        ({"dataset": "CIFAR-10"}, ("CIFAR-10", "cifar10")),
        ({"dataset": "imagenet16-120"}, ("ImageNet16-120",)),
        ({"reference": "s1"}, ("s1", "present")),
        ({"columns": {"latency": LATENCY}}, ("latency",)),
        ({"columns": {"training_time": "s"}}, ("training_time", "Column")),
        ({"columns": {"training_time": nb.Column(metric="t", quantity="t", dataset="c100")}}, ("c100", "default")),
        ({"columns": {"training_time": nb.Column(metric="hash", quantity="t")}}, ("hash",)),
        ({"columns": {"training_time": nb.Column(metric="t", quantity="t", epochs=(4,))}}, ("row 3", "108", "4")),
        ({"dataset": "a b"}, ('dataset="a b"', "letters")),
        ({"dataset": 3}, ("3", "letters")),
        ({"dataset": ""}, ("data set", "letters")),
        ({"columns": [LATENCY]}, ("columns", "nb.Column")),
        ({"columns": {"repeat": LATENCY}}, ("repeat", "not a metric")),
        ({"columns": {"test_accuracy": UPSIDE_DOWN}}, ("test_accuracy", "direction")),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(options: dict[str, Any], said: tuple[str, ...]) -> None:
    with refuses(nb.InvalidInputError, *said):
        nb.table_from_frame(trainings(), **{"space": TINY, **options})


@pytest.mark.parametrize("name", ["LATENCY_PIXEL", " latency_pixel", "latency_pxel"])
def test_a_described_column_with_a_similar_name_is_suggested(name: str) -> None:
    with refuses(nb.InvalidInputError, f"'{name}' is probably 'latency_pixel'", "rename"):
        nb.table_from_frame(trainings(**{name: 1.5}), space=TINY, columns={"latency_pixel": LATENCY})


@pytest.mark.parametrize("name", ["Epochs", "test_acuracy", "other"])
def test_keys_standard_metrics_and_described_columns_are_not_called_misspelled(name: str) -> None:
    columns = {name: LATENCY, "others": nb.Column(metric="others", quantity="count")}
    with refuses(nb.InvalidInputError, f"column '{name}' is missing"):
        nb.table_from_frame(trainings(others=3), space=TINY, columns=columns)


def test_row_keys_need_a_search_space() -> None:
    with refuses(nb.InvalidInputError, 5, "nb.SearchSpace"):
        nb.space_keys(5)  # type: ignore[arg-type]


def test_percentages_are_converted_if_the_caller_says_so() -> None:
    frame = trainings()
    frame[["validation_accuracy", "test_accuracy"]] *= 100
    with refuses(nb.InvalidInputError, "row 1", "validation_accuracy", options="percent"):
        table_of(frame)
    table = table_of(frame, percent=True)
    np.testing.assert_array_equal(
        table.query(nb.Architecture.parse(frame["architecture"][0]), 4, run="all").test_accuracy,
        frame["test_accuracy"][:2] / 100,
    )


def test_percent_refuses_an_accuracy_that_is_given_as_a_fraction(tmp_path: Path) -> None:
    frame = trainings()
    frame["validation_accuracy"] *= 100
    with refuses(nb.InvalidInputError, "test_accuracy", 100, options="percent"):
        table_of(frame, percent=True)
    rare = {"rare": nb.Column(metric="rare", quantity="rate of failures", unit="fraction", direction="lower")}
    few = frame.assign(test_accuracy=np.nan, rare=0.5)
    assert table_of(few, percent=True, columns=rare).query(TINY[0], 4).rare == 0.005
    frame["architecture"] = 0
    frame.iloc[:1].to_csv(tmp_path / "mixed.csv", index=False)
    words = ["table", "import", "mixed.csv", "--space", "s1", "--percent", "--reference", "present", "--out", "mixed"]
    fails(command(*words, cwd=tmp_path), "test_accuracy", "--percent")
    assert [path.name for path in tmp_path.iterdir()] == ["mixed.csv"]


def test_texts_of_numbers_are_numbers_and_the_first_other_text_is_named() -> None:
    frame = trainings()
    texts = frame.assign(test_accuracy=frame["test_accuracy"].map(repr))
    assert table_of(texts).id == table_of(frame).id
    texts.loc[4, "test_accuracy"] = "n/a?"
    with refuses(nb.InvalidInputError, "row 5", "test_accuracy", "n/a?"):
        table_of(texts)


def test_a_data_set_is_named_once() -> None:
    frame = trainings(dataset="cifar10")
    with refuses(nb.InvalidInputError, "cifar10", "column", options="dataset"):
        table_of(frame, dataset="cifar10")
    assert table_of(frame).datasets == table_of(trainings(), dataset="cifar10").datasets == ("cifar10",)
    assert table_of(trainings(), dataset="cifar10-half").datasets == ("cifar10-half",)


@pytest.mark.parametrize(("mark", "named"), [(";", "semicolons"), ("\t", "tabs")])
def test_a_file_with_another_separator_is_named_so(mark: str, named: str, tmp_path: Path) -> None:
    file = tmp_path / "trained.csv"
    trainings().to_csv(file, sep=mark, index=False)
    with refuses(nb.InvalidInputError, named, "commas"):
        read_frame(file, TINY)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_file_in_another_encoding_is_to_be_saved_in_utf_8(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "trained.csv"
    trainings(dataset="Straße").to_csv(file, encoding=encoding, index=False)
    with refuses(nb.InvalidInputError, file, "save it as a CSV file in UTF-8") as refused:
        read_frame(file, TINY)
    assert "codec" not in str(refused.value)


JUNK = (None, 0, "", "x", [], {}, 3.5, object(), [1, 2], {"a": 1}, [[1], [2, 3]], True, np.arange(3), b"x", [None])


def test_every_wrong_argument_of_from_columns_is_refused_in_one_sentence() -> None:
    table = table_of(trainings())
    columns, meta = table.columns(), table.description
    wrong: list[tuple[Any, Any]] = [(columns, junk) for junk in JUNK] + [(junk, meta) for junk in JUNK]
    is_wrong = [name for name in columns if name != "member_tiny"]  # its rows may be [1, 2]
    wrong += [({**columns, name: junk}, meta) for name in is_wrong for junk in JUNK]
    wrong += [({other: columns[other] for other in columns if other != name}, meta) for name in ("hash", "cell")]
    wrong += [
        (columns, {**meta, field: junk}) for field in ("keyed_by", "datasets", "epochs", "columns") for junk in JUNK
    ]
    wrong += [
        (columns, {other: meta[other] for other in meta if other != field}) for field in ("name", "epochs", "columns")
    ]
    for name, entry in meta["columns"].items():
        wrong += [(columns, {**meta, "columns": {**meta["columns"], name: junk}}) for junk in (None, "x", [1], 3)]
        fields = [
            field for field in ("epochs", "dataset", "moment", "images") if "metric" in entry or field == "epochs"
        ]
        changed = [{**entry, field: junk} for field in fields for junk in ("", "x", [None], object(), np.arange(2))]
        wrong += [(columns, {**meta, "columns": {**meta["columns"], name: one}}) for one in changed]
    for given_columns, given_meta in wrong:
        with pytest.raises(nb.InvalidInputError) as caught:
            nb.Table.from_columns(given_columns, given_meta)
        assert "\n" not in str(caught.value)


# Files and a benchmark without registration ---------------------------------------------------------------------------


def test_a_csv_file_gives_the_values_of_the_frame(tmp_path: Path) -> None:
    frame = trainings()
    frame.loc[3, "test_accuracy"] = np.nan
    for name in ("t.csv", "t.csv.gz"):
        frame.to_csv(tmp_path / name, index=False)
        pd.testing.assert_frame_equal(read_frame(tmp_path / name, TINY), frame, check_dtype=False)
        assert table_of(read_frame(tmp_path / name, TINY)).id == table_of(frame).id
    edges = pd.DataFrame(dict(nb.search_space("nb201").to_configuration(nb.search_space("nb201")[0])), index=[0])
    edges.assign(epochs=200, test_accuracy=0.5).replace("avg_pool_3x3", "none").to_csv(tmp_path / "e.csv", index=False)
    read = nb.table_from_frame(
        read_frame(tmp_path / "e.csv", nb.search_space("nb201")), space=nb.search_space("nb201"), reference="present"
    )
    assert "none" in read.hashes(0)[0]  # an operation, not a missing value


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", ("t.csv", "header")),
        (b"architecture,architecture\n1,2\n", ("architecture",)),
        (b"architecture,epochs\n1,2,3\n", ("t.csv", "row 1", "3 values for 2 columns", "decimal point")),
        (b"architecture,epochs,test_accuracy\n0,108,0.5\n1,108,0,5\n", ("t.csv", "row 2", "4 values", "quote")),
        (b"architecture,epochs,test_accuracy\n0,108,0.5\n1,108\n", ("t.csv", "row 2", "2 values", "complete the row")),
        (b"\xff\xfe\x00", ("t.csv",)),
        (b"architecture,epochs,test_accuracy\n0,108,0.5\n\n1,108,0.5\n", ("row 2", "architecture")),
        (b"architecture,epochs,test_accuracy\n0,108,good\n", ("row 1", "test_accuracy", "good")),
    ],
)
@pytest.mark.usefixtures("home")
def test_a_wrong_file_is_refused_and_nothing_is_written(content: bytes, said: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    done = command("table", "import", "t.csv", "--space", "s1", "--out", "table", cwd=tmp_path)
    fails(done, *said)
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == ["t.csv"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["t.tfrecord", "--space", "s1"], ("--space",)),
        (["t.csv"], ("t.csv", "--space")),
        (["no.csv", "--space", "s1"], ("no.csv",)),
        (["t.csv", "--space", "s1", "--column", "latency"], ("--column", "latency", "NAME:UNIT:DIRECTION")),
        (["t.csv", "--space", "s1", "--column", "a:ms:smaller"], ("smaller", "lower")),
        (["t.csv", "--space", "s1", "--epochs", "4"], ("--epochs",)),
        (["t.csv", "--space", "s1", "--column", "a b:ms:lower"], ("--column", "'a b'", "rename")),
        (["t.csv", "--space", "s1", "--column", "source::lower"], ("--column", "'source'", "rename")),
        (
            ["t.csv", "--space", "s1", "--column", "test_accuracy:fraction:lower"],
            ("test_accuracy", "standard", "remove"),
        ),
        (["t.csv", "--space", "s1", "--dataset", "a b"], ("--dataset 'a b'",)),
        (["t.csv", "--space", "s1", "--ignore", "test_accuracy"], ("no value of a metric",)),
    ],
)
def test_wrong_options_of_an_import_are_refused(words: list[str], said: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("architecture,epochs,test_accuracy\n0,108,0.5\n")
    fails(command("table", "import", *words, "--out", "table", cwd=tmp_path), *said)


@pytest.mark.parametrize("name", [".csv", "..csv", ".csv.gz"])
@pytest.mark.usefixtures("home")
def test_a_file_whose_name_is_a_suffix_does_not_fill_the_folder_of_tables(name: str, tmp_path: Path) -> None:
    pd.DataFrame({"architecture": [0], "epochs": [108], "test_accuracy": [0.5]}).to_csv(tmp_path / name, index=False)
    words = ["table", "import", name, "--space", "s1", "--reference", "present"]
    fails(command(*words, cwd=tmp_path), name, "--out")
    assert not list(tmp_path.rglob("meta.json"))
    assert command(*words, "--out", "named", cwd=tmp_path).returncode == 0


def test_a_damaged_packed_file_is_refused(tmp_path: Path) -> None:
    trainings().to_csv(tmp_path / "t.csv.gz", index=False)
    content = bytearray((tmp_path / "t.csv.gz").read_bytes())
    content[len(content) // 2 : len(content) // 2 + 40] = bytes(40)
    (tmp_path / "t.csv.gz").write_bytes(content)
    with refuses(nb.InvalidInputError, "t.csv.gz"):
        read_frame(tmp_path / "t.csv.gz", TINY)


@pytest.mark.parametrize("name", ["t.csv", "t.CSV", "t.csv.gz"])
@pytest.mark.parametrize("written", [{"lineterminator": "\r\n"}, {"lineterminator": "\r"}, {"encoding": "utf-8-sig"}])
def test_files_of_other_systems_have_the_same_values(name: str, written: dict[str, Any], tmp_path: Path) -> None:
    trainings().to_csv(tmp_path / name, index=False, quoting=csv.QUOTE_NONNUMERIC, **written)
    assert table_of(read_frame(tmp_path / name, TINY)).id == table_of(trainings()).id


def test_numbers_are_read_exactly_by_every_version_of_pandas() -> None:
    assert exact_floats("2.1.4") == exact_floats("3.0.3") == {"float_precision": "round_trip"}
    assert exact_floats("3.1.1") == exact_floats("4.0.0") == {}
    values = np.random.default_rng(0).uniform(0, 1e5, 10_000)
    text = pd.DataFrame({"x": values}).to_csv(index=False)
    read = pd.read_csv(io.StringIO(text), **exact_floats(pd.__version__))
    np.testing.assert_array_equal(read["x"].to_numpy(), values)


def test_descriptions_on_the_command_line() -> None:
    found = parse_columns(["latency_pixel_3:ms:lower", "f1:fraction:higher", "width::"])
    assert (found["latency_pixel_3"].quantity, found["latency_pixel_3"].device) == ("latency", "pixel 3")
    assert (found["f1"].unit, found["f1"].direction, found["width"].direction) == ("fraction", "higher", None)
    names = ("f1", "measured_f1", "halfway_f1", "curve200_f1", "measured_curve4_latency_pixel")
    found = parse_columns([f"{name}::" for name in names], "predicted")
    assert [(of.metric, of.moment, of.fidelity) for of in found.values()] == [
        ("f1", "end", "predicted"),
        ("f1", "end", "measured"),
        ("f1", "halfway", "predicted"),
        ("f1", 200, "predicted"),
        ("latency_pixel", 4, "measured"),
    ]
    assert found["measured_curve4_latency_pixel"].device == "pixel"


@pytest.mark.parametrize("predicted", [False, True])
def test_predicted_applies_to_described_metrics(predicted: bool, tmp_path: Path) -> None:
    trainings(f1=0.5).drop(columns="repeat").iloc[::2].to_csv(tmp_path / "t.csv", index=False)
    words = Import(tmp_path / "t.csv", space="s1", column=("f1:fraction:higher",), predicted=predicted)
    form = words._frame_file()
    assert form is not None
    table = table_of(read_frame(tmp_path / "t.csv", TINY), **form.options)
    assert table.about("f1").is_measured == table.about("test_accuracy").is_measured == (not predicted)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("measured_test_accuracy", ("--predicted", "'test_accuracy' is predicted", "--ignore measured_test_accuracy")),
        ("speed", ("describe it with --column speed:UNIT:DIRECTION", "--ignore speed")),
        ("top 1", ("rename it and describe it with --column top_1:UNIT:DIRECTION", "--ignore 'top 1'")),
        ("source", ("rename it and describe it with --column NAME:UNIT:DIRECTION",)),
    ],
)
def test_the_advice_on_an_unknown_column_can_be_followed(name: str, said: tuple[str, ...]) -> None:
    with pytest.raises(nb.InvalidInputError) as caught:
        table_of(trainings(**{name: 0.5}))
    assert not missing(caught.value.for_command_line, f"'{name}'", *said), caught.value.for_command_line


@pytest.fixture
def own_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A benchmark in one module that no package registers: architectures, space, record and row keys."""
    folder = WIDTHS / "small_widths"
    record, space = (folder / "benchmark.py").read_text(), (folder / "space.py").read_text()
    space = space.replace("from small_widths.benchmark import BENCHMARK\n", "")
    lines = [
        line
        for line in record.splitlines()
        if not line.startswith(("    table", "    network=", "    cell=", "    skel"))
    ]
    record = (
        "\n".join(lines).replace('"small-widths"', '"my_space:BENCHMARK"').replace("small_widths.table", "my_space")
    )
    (tmp_path / "my_space.py").write_text(
        f"{record.replace('small_widths.space', 'my_space')}\n{space}\nKEYS = nb.space_keys(SPACE)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import my_space

    yield my_space.SPACE
    sys.modules.pop("my_space", None)


def test_a_benchmark_of_ones_own_needs_no_registration(own_space: Any, home: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"architecture": [f"4-{a}-{b}" for a in (1, 2, 3, 4) for b in (1, 2, 3)], "epochs": 9})
    frame["validation_accuracy"] = rng.uniform(0.5, 0.9, len(frame))
    frame["test_accuracy"] = frame["validation_accuracy"]
    frame["training_time"] = 60.0
    table = nb.table_from_frame(frame, space=own_space, reference="present")
    assert table.query("4-2-1").test_accuracy == frame["test_accuracy"][3]
    assert table.query(own_space[own_space.index(table.network(3))]).hash == table.hashes(3)[0]
    assert_equal_tables(nb.table_from_frame(table.to_frame(), space=own_space, reference="present"), table)
    frame.to_csv(tmp_path / "widths.csv", index=False)
    words = ["table", "import", "widths.csv", "--space", "my_space:SPACE", "--reference", "present"]
    assert command(*words, cwd=tmp_path).returncode == 0
    fails(command("table", "info", "--table", "widths", cwd=tmp_path), "my_space:BENCHMARK", "--allow-module my_space")
    shown = command("table", "info", "--table", "widths", "--json", "--allow-module", "my_space", cwd=tmp_path)
    assert json.loads(shown.stdout)["id"].startswith("widths-v1-")
    queried = command("query", "widths:4-2-1", "--space", "my_space:SPACE", "--table", "widths", cwd=tmp_path)
    assert queried.returncode == 0, queried.stderr
    assert "test regret in widths" in queried.stdout
    study = ["--space", "my_space:SPACE", "--table", "widths", "--repeats", "2", "--evaluations", "5", "--out", "study"]
    done = command("blackbox", *study, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    compared = command("compare", "study", "--allow-module", "my_space", "--out", "both", cwd=tmp_path)
    assert compared.returncode == 0, compared.stderr
