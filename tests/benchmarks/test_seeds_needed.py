"""How many seeds a comparison needs: the section of docs/scales.md, and the power of the test behind it."""

from math import comb

import numpy as np
import pandas
import pytest
import seeds_needed
from page_section import marks
from scipy import stats


def test_the_page_shows_the_shipped_values():
    begin, end = marks(seeds_needed.NAME)
    shown = seeds_needed.PAGE.read_text(encoding="utf-8").split(begin)[1].split(end)[0]
    found = seeds_needed.deviations(seeds_needed.PAGE.parent)
    assert shown.split("\n")[2:-2] == seeds_needed.section(found)
    assert found.shape == (6, 5) and found.notna().all(axis=None)


def test_the_detected_difference_is_found_by_four_of_five_simulated_tests():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0, 3.0, (4000, 10)), rng.normal(seeds_needed.detected(3.0), 3.0, (4000, 10))
    share = (stats.ttest_ind(first, second, axis=1).pvalue < seeds_needed.LEVEL).mean()
    assert share == pytest.approx(seeds_needed.POWER, abs=4 * np.sqrt(0.8 * 0.2 / 4000))


def test_the_difference_is_right_at_the_level_of_many_tests():
    """Statsmodels' power is not: for 300 tests, it gives a difference that 69 % of tests detect."""
    rng, level = np.random.default_rng(0), seeds_needed.LEVEL / 300
    second = rng.normal(seeds_needed.detected(1.0, level=level), 1.0, (20_000, 10))
    share = (stats.ttest_ind(rng.normal(0, 1.0, second.shape), second, axis=1).pvalue < level).mean()
    assert share == pytest.approx(seeds_needed.POWER, abs=4 * np.sqrt(0.8 * 0.2 / 20_000))


def test_the_families_are_those_of_the_pages():
    assert set(seeds_needed.FAMILIES.values()) == {comb(len(seeds_needed.METHODS) + 1, 2), comb(24 + 1, 2)}


def test_the_number_of_seeds_and_the_difference_agree():
    for seeds in (5, 10, 200):
        assert seeds_needed.needed(1.0, seeds_needed.detected(1.0, seeds) + 1e-6) == seeds


def test_values_of_fewer_seeds_are_refused(tmp_path):
    shipped = seeds_needed.PAGE.parent / "reproduce"
    (tmp_path / "reproduce").mkdir()
    for name in ("methods-quick", *(f"figure2-{space}-medium" for space in seeds_needed.SPACES)):
        frame = pandas.read_csv(shipped / f"{name}.csv")
        frame.loc[frame["curve"] == "enas", "seeds"] = 3
        frame.to_csv(tmp_path / "reproduce" / f"{name}.csv", index=False)
    with pytest.raises(SystemExit, match="10 seeds"):
        seeds_needed.deviations(tmp_path)
