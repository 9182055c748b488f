"""NAS-Bench-101's edge-index and continuous encodings, compared with the published decoding."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.api.graph_util import gen_is_edge_fn
from nasbench1shot1.nasbench101.architecture import OPERATIONS as NAMES
from nasbench1shot1.search_spaces.nasbench101 import MINI, SPACE

V, POSSIBLE = 7, 21
OPERATIONS = ["conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3"]
operations = st.lists(st.sampled_from(OPERATIONS), min_size=5, max_size=5)


def with_operations(labels: list[str], **edges: Any) -> dict[str, Any]:
    return {**{f"choice_block_{i}_op": label for i, label in enumerate(labels, start=1)}, **edges}


def published_edge_index(edges: list[int]) -> np.ndarray:
    """NASCifar10B: a list of bits, the first of which is the highest of the number of a graph."""
    number = int("".join("1" if place in edges else "0" for place in range(POSSIBLE)), 2)
    return np.fromfunction(gen_is_edge_fn(number), (V, V), dtype=np.int8)


def published_continuous(count: int, numbers: list[float]) -> np.ndarray:
    """NASCifar10C: the edges with the highest numbers, row by row above the diagonal."""
    matrix = np.zeros((V, V), np.int8)
    chosen = np.isin(np.arange(POSSIBLE), np.argsort(numbers, kind="stable")[::-1][:count])
    matrix[np.triu_indices(V, k=1)] = chosen
    return matrix


def agrees(encoding: str, configuration: dict[str, Any], matrix: np.ndarray, labels: list[str]) -> bool:
    """Whether a configuration means the published graph; return whether it is valid."""
    cell = nb.Cell(matrix, ["input", *labels, "output"])
    if not cell.ops:
        with refuses(nb.InvalidInputError, "nb101"):
            SPACE.encoding(encoding).from_configuration(configuration)
        return False
    arch = SPACE.encoding(encoding).from_configuration(configuration)
    assert arch == SPACE[SPACE.index(arch)]
    edges = {(x, y) for y, parents in enumerate(arch.parents, start=1) for x in parents}
    assert edges == {(int(x), int(y)) for x, y in zip(*np.nonzero(matrix), strict=True)}
    assert [NAMES[operation] for operation in arch.operations] == labels
    assert arch.cell == cell
    return True


@given(st.lists(st.integers(0, POSSIBLE - 1), min_size=9, max_size=9), operations)
def test_edge_indices_mean_the_published_edges(edges: list[int], labels: list[str]) -> None:
    configuration = with_operations(labels, **{f"edge_{place}": edge for place, edge in enumerate(edges)})
    agrees("edge-index", configuration, published_edge_index(edges), labels)


@given(st.integers(0, 9), st.lists(st.floats(0, 1), min_size=POSSIBLE, max_size=POSSIBLE), operations)
def test_the_highest_numbers_mean_the_published_edges(count: int, numbers: list[float], labels: list[str]) -> None:
    configuration = with_operations(labels, num_edges=count, **{f"edge_{i}": of for i, of in enumerate(numbers)})
    agrees("continuous", configuration, published_continuous(count, numbers), labels)


def test_the_inception_like_cell_in_both_encodings() -> None:
    labels = ["conv1x1-bn-relu", *3 * ["conv3x3-bn-relu"], "maxpool3x3"]
    matrix = np.zeros((V, V), np.int8)
    edges = [(0, 1), (0, 2), (0, 3), (0, 5), (1, 6), (2, 6), (3, 4), (4, 6), (5, 6)]
    matrix[tuple(np.transpose(edges))] = 1
    numbers = [20, 19, 17, 10, 4, 3, 11, 1, 0]  # 20 minus the bits x + y (y - 1) / 2
    assert (published_edge_index(numbers) == matrix).all()
    by_index = with_operations(labels, **{f"edge_{place}": number for place, number in enumerate(numbers)})
    rows = zip(*np.triu_indices(V, k=1), strict=True)
    weights = {f"edge_{place}": 0.6 if (x, y) in edges else 0.4 for place, (x, y) in enumerate(rows)}
    found = [
        SPACE.encoding("edge-index").from_configuration(by_index),
        SPACE.encoding("continuous").from_configuration(with_operations(labels, num_edges=9, **weights)),
    ]
    assert {str(arch) for arch in found} == {SPACE.benchmark.reference_points["Inception-like cell"]}
    fewer = SPACE.encoding("edge-index").from_configuration({**by_index, "edge_8": 20})
    assert fewer.cell == nb.Cell(matrix - np.eye(V, k=1, dtype=np.int8) * ([0] * 6 + [1]), ["input", *labels, "output"])


def test_all_drawn_configurations_are_in_the_space_or_refused() -> None:
    for space, blocks in ((SPACE, 5), (MINI, 4)):
        valid = {}
        for name, encoding in space.named_encodings.items():
            configurations = encoding.configuration_space()
            configurations.seed(0)
            counted = 0
            for drawn in configurations.sample_configuration(60):
                try:
                    arch = encoding.from_configuration(drawn)
                except nb.InvalidInputError:
                    continue
                assert len(arch.operations) == blocks
                assert sum(map(len, arch.parents)) <= 9 or name == "matrix"
                counted += 1
            valid[name] = counted
        assert min(valid.values()) > 20
    assert SPACE.encoding() is SPACE.encoding("matrix") is SPACE
    sizes = {name: len(encoding.configuration_space()) for name, encoding in SPACE.named_encodings.items()}
    assert sizes == {"matrix": 5 + 21, "edge-index": 5 + 9, "continuous": 5 + 22}


def test_wrong_values_and_encodings_are_refused() -> None:
    labels = 5 * ["maxpool3x3"]
    numbers = {f"edge_{place}": 0.5 for place in range(POSSIBLE)}
    continuous, index = SPACE.encoding("continuous"), SPACE.encoding("edge-index")
    for wrong in ({"edge_3": 1.5}, {"edge_3": "x"}, {"edge_3": float("nan")}, {"edge_3": None}, {"num_edges": 10}):
        with refuses(nb.InvalidInputError, next(iter(wrong))):
            continuous.from_configuration(with_operations(labels, **({"num_edges": 3} | numbers | wrong)))
    with refuses(nb.InvalidInputError, "edge_8"):
        index.from_configuration(with_operations(labels, **{f"edge_{place}": 0 for place in range(8)}))
    with refuses(nb.InvalidInputError, "'continuos'", "'continuous'"):
        SPACE.encoding("continuos")
    with refuses(nb.InvalidInputError, "s1", options="encoding"):
        nb.search_space("s1").encoding("matrix")


@pytest.mark.parametrize(
    ("optimizer", "encoding"),
    [("tpe", "continuous"), ("tpe", "edge-index"), ("smac", "edge-index"), ("bohb", "continuous")],
)
def test_library_methods_search_in_an_encoding(optimizer: str, encoding: str, tmp_path: Path) -> None:
    options = {"space": "nb101-5v", "evaluations": 6, "repeats": 1, "encoding": encoding}
    study = nb.black_box(optimizer, out=tmp_path / "study", **options)
    assert study.config["encoding"] == encoding
    assert len(study.lines) == 1
    plain = nb.black_box(optimizer, out=tmp_path / "plain", **{**options, "encoding": None})
    assert "encoding" not in plain.config
    assert plain.lines[0]["incumbents"] != study.lines[0]["incumbents"]


def test_an_encoding_that_a_space_lacks_leaves_no_folder(tmp_path: Path) -> None:
    with refuses(nb.InvalidInputError, "nb201", options="encoding"):
        nb.black_box("tpe", space="nb201", seconds=2e4, repeats=1, encoding="continuous", out=tmp_path / "study")
    assert not (tmp_path / "study").exists()
