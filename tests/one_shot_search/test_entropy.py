"""The entropy of mixing weights: known values, excluded entries, sigmoids, searches without Λ, the picture."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_search import search

from nasbench1shot1.one_shot_search.entropy import entropies, relative_entropy
from nasbench1shot1.one_shot_search.regret_curve import regret_figure
from nasbench1shot1.tables.table import load_table


@pytest.mark.parametrize(
    ("weights", "wanted"),
    [
        ([[1 / 3] * 3, [0, 1, 0]], 0.5),
        ([[0.5, 0.5, np.nan]], np.log(2) / np.log(3)),  # an excluded entry leaves less to decide
        ([[0.9, 0.9, 0.9]], 1),  # sigmoids
        ([[0.25, 0.75]], -(0.25 * np.log2(0.25) + 0.75 * np.log2(0.75))),
        ([[1.0]], np.nan),  # nothing to choose
        ([[0, 0], [1, 0]], 0),  # without any weight
    ],
)
def test_known_entropies(weights, wanted):
    assert relative_entropy({"operations": np.array(weights, float)}) == pytest.approx(wanted, nan_ok=True)


def test_every_choice_counts_once():
    """Keys with more choices weigh more than keys with fewer."""
    undecided, decided = np.full((3, 2), 0.5), np.array([[1.0, 0.0]])
    assert relative_entropy({"a": undecided, "b": decided}) == pytest.approx(0.75)


@given(st.lists(st.lists(st.floats(-30, 30), min_size=3, max_size=3), min_size=1, max_size=4))
def test_the_relative_entropy_of_a_softmax_is_between_0_and_1(logits):
    values = np.exp(np.array(logits) - np.max(logits, axis=1, keepdims=True))
    assert 0 <= relative_entropy({"x": values / values.sum(1, keepdims=True)}) <= 1 + 1e-12


def test_the_picture_of_a_search_shows_its_entropy_if_it_learns_its_weights(tmp_path):
    runs = {name: search(tmp_path / name, optimizer=name, epochs=2) for name in ("darts", "random-ws")}
    assert entropies([runs["random-ws"]], [0, 1, 2]) is None
    (found,) = entropies([runs["darts"]], [0, 1, 2])
    assert len(set(found)) == 3 and np.all((found > 0.5) & (found <= 1))
    table = load_table()
    for name, rows in (("darts", 3), ("random-ws", 2)):
        drawn = regret_figure([runs[name]], [runs[name].metrics], table).axes
        assert len(drawn) == rows
    line = regret_figure([runs["darts"]], [runs["darts"].metrics], table).axes[2].lines[0]
    np.testing.assert_allclose(line.get_ydata(), found)
