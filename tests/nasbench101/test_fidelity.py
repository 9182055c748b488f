"""The scores of held-out predictions, compared with values that follow from their construction."""

import numpy as np
import pytest

from nasbench1shot1.nasbench101.estimates.fidelity import accuracy_fidelity, time_fidelity


def test_scores_of_a_constant_error() -> None:
    measured = np.linspace(0.8, 0.95, 4000)
    found = accuracy_fidelity(measured + 0.01, measured, {"s1": measured > 0.9, "s2": measured < 0.9})
    assert found["cells"] == 4000
    assert {found[key] for key in found if key.startswith("spearman")} == {1}
    assert (found["cells_above_0.9"], found["cells_above_0.93"], found["cells_in_top"]) == (1333, 534, 40)
    assert found["bias"] == found["root_mean_square_error"] == found["median_absolute_error"] == 0.01
    assert found["regret_of_best"] == found["regret_of_best_in_top"] == 0


def test_regret_of_the_predicted_best() -> None:
    measured = np.linspace(0.8, 0.94, 4001)
    predicted = measured.copy()
    predicted[2000] = 0.99
    found = accuracy_fidelity(predicted, measured)
    assert found["regret_of_best"] == pytest.approx(0.07)
    assert found["regret_of_best_in_top"] == 0
    predicted = np.where(measured > 0.92, 1.8 - measured, measured)
    found = accuracy_fidelity(predicted, measured)
    assert found["spearman_in_top"] == found["spearman_above_0.93"] == -1


def test_few_cells_have_no_scores_of_the_top() -> None:
    measured = np.linspace(0.8, 0.94, 500)
    assert not {"cells_in_top", "spearman_in_top", "regret_of_best"} & set(accuracy_fidelity(measured, measured))


def test_times_have_a_relative_error() -> None:
    seconds = np.array([100.0, 200.0, 400.0])
    found = time_fidelity(seconds * 1.1, seconds)
    assert (found["cells"], found["spearman"], found["median_relative_error"]) == (3, 1, pytest.approx(0.1))
