"""Names of spaces and optimizers."""

import importlib.metadata
from pathlib import Path

import pytest
from refusals import refuses

from nasbench1shot1 import registry
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


def test_classes_of_this_script_are_trusted_and_those_of_others_are_not(monkeypatch):
    monkeypatch.setattr("__main__.Mine", object, raising=False)
    assert is_trusted("optimizers", "__main__:Mine")
    assert not is_trusted("optimizers", "__main__:OfAnotherScript")


def register(folder: Path, **spaces: str) -> None:
    """Write the metadata of an installed package that registers search spaces, given as name=reference."""
    entries = "".join(f"{name} = {reference}\n" for name, reference in spaces.items())
    (folder / "late-1.dist-info").mkdir()
    (folder / "late-1.dist-info" / "METADATA").write_text("Name: late\nVersion: 1\n")
    (folder / "late-1.dist-info" / "entry_points.txt").write_text(f"[nasbench1shot1.search_spaces]\n{entries}")


def test_a_package_that_is_installed_while_the_process_runs_is_found(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InvalidInputError, match="unknown search space 'late'"):
        search_space("late")
    register(tmp_path, late="late:SPACE")
    with pytest.raises(InvalidInputError, match="cannot be imported"):
        search_space("late")


@pytest.mark.parametrize("module", ["../w1/my_space", "/w1/my_space.py", "./my_space", "my_space.py", ".my_space"])
def test_a_path_in_the_place_of_a_module_is_explained(module):
    with refuses(InvalidInputError, f"'{module}:SPACE'", "a module's name", "give my_space:SPACE"):
        search_space(f"{module}:SPACE")


def test_broken_packages_do_not_prevent_the_use_of_other_spaces(tmp_path, monkeypatch):
    choice_blocks = "nasbench1shot1.search_spaces.choice_blocks:ChoiceBlockSpace"
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "intact_cells.py").write_text(
        f"from {choice_blocks.replace(':', ' import ')}\n"
        "SPACE = ChoiceBlockSpace('intact', 'intact-v1', (1, 1))\n"
        "OTHER = ChoiceBlockSpace('other', 'other-v1', (1, 1))\n"
    )
    register(tmp_path, missing="no_such_module:SPACE", a_class=choice_blocks, intact="intact_cells:SPACE")
    assert search_space("intact-v1") is search_space("intact")
    assert search_space("intact_cells:OTHER").id == "other-v1"
    with refuses(InvalidInputError, "'s4'", "'s1', 's2' or 's3'"):
        search_space("s4")
    with refuses(InvalidInputError, "'missing'", "no_such_module"):
        search_space("missing")
    with refuses(InvalidInputError, "'a_class'", "class"):
        search_space("a_class")


def test_references_and_other_values_are_not_compared_with_ids(monkeypatch):
    monkeypatch.setattr(registry, "names", lambda group: pytest.fail("registered spaces are listed"))
    with refuses(InvalidInputError, "'math:pi'"):
        search_space("math:pi")
    with refuses(InvalidInputError, "'None'"):
        search_space(None)


@pytest.mark.parametrize("reference", ["__main__:f.<locals>.Mine", "nasbench1shot1.optimizer:f.<locals>.Mine"])
def test_an_optimizer_that_a_function_defines_is_refused_with_the_reason(reference):
    with refuses(InvalidInputError, f"'{reference}'", "top level of a module"):
        optimizer(reference)
