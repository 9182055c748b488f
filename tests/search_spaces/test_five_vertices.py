"""nb101-5v: the cells of NAS-Bench-101 with at most five vertices, and their bundled table."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.conformance.search_space import CellSpaceConformance, SearchSpaceConformance
from nasbench1shot1.nasbench101.sources import DRAWS, SAMPLE, TEST_MEANS, cells_of, read_source
from nasbench1shot1.space import SearchSpace
from nasbench1shot1.tables.table import Table, recorded_name, table_for

UNMEASURED = 281


class TestConformance(SearchSpaceConformance, CellSpaceConformance):
    @pytest.fixture
    def space(self) -> SearchSpace:
        return nb.search_space("nb101-5v")


@pytest.fixture(scope="module")
def table() -> Table:
    return nb.load_table("nb101-5v")


@pytest.fixture(scope="module")
def space() -> SearchSpace:
    return nb.search_space("nb101-5v-v1")


def hashes_of(source: str) -> list[str]:
    return [row.tobytes().hex() for row in read_source(source)["hash"]]


def test_the_table_has_exactly_the_cells_of_the_space(table: Table, space: SearchSpace) -> None:
    assert (space.name, space.table, len(table), table.spaces) == ("nb101-5v", "nb101-5v", 2532, ("nb101-5v",))
    assert np.array_equal(np.sort(table.rows(space.architectures("unique"))), np.arange(2532))
    sizes = Counter(len(table.cell(row).ops) for row in range(len(table)))
    assert sizes == {2: 1, 3: 6, 4: 84, 5: 2441}
    assert table_for(space, space.table).id == table.id
    assert recorded_name(table) == "nb101-5v"


def test_the_form_without_loose_ends_has_the_vertices_on_a_path_first_in_order(space: SearchSpace) -> None:
    expected = {
        "nb101-5v:0|0||0:maxpool3x3,conv3x3,conv1x1": "nb101-5v:|||0:conv3x3,conv3x3,conv3x3",
        "nb101-5v:0|0|2|1,3:maxpool3x3,conv3x3,conv1x1": "nb101-5v:0|0|2|1,3:maxpool3x3,conv3x3,conv1x1",
        "nb101-5v:|0|0,2|2,3:maxpool3x3,conv1x1,conv3x3": "nb101-5v:0|0,1||1,2:conv1x1,conv3x3,conv3x3",
    }
    assert {text: str(space.without_loose_ends(nb.Architecture.parse(text))) for text in expected} == expected
    with refuses(nb.InvalidInputError, "nb101-5v"):
        space.without_loose_ends(nb.search_space("s1")[0])


def test_measured_test_accuracies_are_the_official_means(table: Table) -> None:
    means = dict(zip(hashes_of(TEST_MEANS), read_source(TEST_MEANS)["test_mean3"], strict=True))
    everywhere = table.hashes(range(len(table)))
    found = table.query(everywhere)
    assert found.is_measured("test_accuracy").tolist() == [name in means for name in everywhere]
    assert (~found.is_measured("test_accuracy")).sum() == UNMEASURED
    for name, value in zip(everywhere, found.test_accuracy, strict=True):
        assert value == means.get(name, value)
    best, metrics = table.best("nb101-5v")
    assert metrics.is_measured("test_accuracy")
    assert metrics.test_accuracy == max(means[name] for name in everywhere if name in means)
    assert table.regret(best, "nb101-5v") == 0


def test_validation_accuracies_are_single_repeats_where_known(table: Table) -> None:
    sample, draws = read_source(SAMPLE), read_source(DRAWS)
    repeats = dict(zip(hashes_of(DRAWS), draws["valid_acc_e108"][:, 0], strict=True))
    repeats |= dict(zip(hashes_of(SAMPLE), sample["valid_acc"][:, -1], strict=True))
    everywhere = table.hashes(range(len(table)))
    found = table.query(everywhere)
    known = found.is_measured("validation_accuracy")
    assert known.tolist() == [name in repeats for name in everywhere]
    assert 0 < known.sum() < len(table) / 5
    measured = np.array([repeats[name] for name in np.array(everywhere)[known]])
    assert np.array_equal(found.validation_accuracy[known], np.rint(measured * 9984) / 9984)
    sources = {table.query(name).source("validation_accuracy") for name in everywhere[:50]}
    assert sources == {"measured", "predicted"}
    early = table.query(everywhere, epochs=4)
    assert early.is_measured("validation_accuracy").sum() == len(set(hashes_of(SAMPLE)) & set(everywhere))
    assert np.isnan(early.test_accuracy).all()


def test_parameter_counts_equal_the_source(table: Table) -> None:
    arrays = read_source(TEST_MEANS)
    codes = cells_of(arrays)[1]
    rows = table.rows_of_encodings(codes)
    assert (rows >= 0).sum() == 2532 - UNMEASURED
    counts = table.column("trainable_parameters")
    assert np.array_equal(counts[rows[rows >= 0]], arrays["params"][rows >= 0])


def test_answers_and_captions_say_what_is_predicted(table: Table) -> None:
    for split in ("validation", "test"):
        assert f"{split} accuracy measured or predicted, held-out Spearman 0.9" in table.fidelity()
    assert table.notes()[0].startswith("Unmeasured accuracies are estimates")
    predicted = table.hashes(int(np.argmin(table.query(table.hashes(range(2532))).is_measured("test_accuracy"))))[0]
    assert table.query(predicted).source("test_accuracy") == "predicted"
    assert "test_accuracy" in repr(table.query(predicted)) and "(predicted)" in repr(table.query(predicted))


def test_the_table_agrees_with_the_embedded_one_on_common_cells(table: Table) -> None:
    embedded = nb.load_table("embedded")
    common = [name for name in table.hashes(range(len(table))) if name in embedded]
    assert len(common) == len(embedded.members("nb101-5v")) > 500
    own, other = table.query(common), embedded.query(common)
    assert np.array_equal(own.test_accuracy, other.test_accuracy)
    assert np.array_equal(own.training_time, other.training_time)


def test_black_box_methods_search_it_on_its_own_table(tmp_path: Path, table: Table) -> None:
    study = nb.black_box("local-search", space="nb101-5v", evaluations=60, repeats=2, out=tmp_path / "study")
    assert study.config["table_id"] == table.id
    assert (study.final["test_regret"] >= 0).all()
