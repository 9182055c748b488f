"""The API reference of the site documents every public name, and only names that exist."""

import re
from importlib import import_module

import pytest
from conftest import CHECKOUT

import nasbench1shot1 as nb

NAMED = re.findall(r"^::: (\S+)$", (CHECKOUT / "docs" / "reference.md").read_text(), re.MULTILINE)


def test_the_reference_lists_every_public_name_once():
    assert [name for name in nb.__all__ if f"nasbench1shot1.{name}" not in NAMED] == []
    assert len(set(NAMED)) == len(NAMED)


@pytest.mark.parametrize("name", NAMED)
def test_every_name_of_the_reference_exists_and_has_a_docstring(name):
    module, _, attribute = name.rpartition(".")
    assert getattr(import_module(module), attribute).__doc__


def test_every_page_is_in_the_site_navigation():
    navigation = (CHECKOUT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    pages = re.findall(r"(\S+\.md)$", navigation, re.MULTILINE)
    here = {path.relative_to(CHECKOUT / "docs").as_posix() for path in (CHECKOUT / "docs").rglob("*.md")}
    assert here <= set(pages)
    assert len(set(pages)) == len(pages)
