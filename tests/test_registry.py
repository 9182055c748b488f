"""Names of spaces and optimizers."""

import importlib.metadata

import pytest

from nasbench1shot1.ground import plugins
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.registry import BUILT_IN, is_trusted, optimizer, search_space


def test_built_in_names_are_found_without_reading_entry_points(monkeypatch):
    def refuse(**group):
        assert not group["group"].startswith("nasbench1shot1"), group
        return []

    monkeypatch.setattr(importlib.metadata, "entry_points", refuse)
    plugins._installed.cache_clear()
    for name in BUILT_IN["search_spaces"]:
        assert is_trusted("search_spaces", name)
        assert search_space(name).id
    for name in BUILT_IN["optimizers"]:
        assert is_trusted("optimizers", name)
        assert optimizer(name)
    with pytest.raises(AssertionError):
        search_space("s9")


def test_a_package_that_is_installed_while_the_process_runs_is_found(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InvalidInputError, match="unknown search space 'late'"):
        search_space("late")
    (tmp_path / "late-1.dist-info").mkdir()
    (tmp_path / "late-1.dist-info" / "METADATA").write_text("Name: late\nVersion: 1\n")
    (tmp_path / "late-1.dist-info" / "entry_points.txt").write_text(
        "[nasbench1shot1.search_spaces]\nlate = late:SPACE\n"
    )
    with pytest.raises(InvalidInputError, match="cannot be imported"):
        search_space("late")
