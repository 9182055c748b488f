"""Names of spaces and optimizers."""

import importlib.metadata

import pytest

from nasbench1shot1.registry import BUILT_IN, is_trusted, optimizer, search_space


def test_built_in_names_are_found_without_reading_entry_points(monkeypatch):
    def refuse(**group):
        assert not group["group"].startswith("nasbench1shot1"), group
        return []

    monkeypatch.setattr(importlib.metadata, "entry_points", refuse)
    for name in BUILT_IN["search_spaces"]:
        assert is_trusted("search_spaces", name)
        assert search_space(name).id
    for name in BUILT_IN["optimizers"]:
        assert is_trusted("optimizers", name)
        assert optimizer(name)
    with pytest.raises(AssertionError):
        search_space("s9")
