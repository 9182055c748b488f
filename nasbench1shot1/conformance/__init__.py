"""Suites of tests that any new search space, optimizer or table runs through; they need pytest.

A class here is subclassed in a test module, with a fixture that gives what is to be tested:

    class TestMySpace(SearchSpaceConformance):
        @pytest.fixture
        def space(self) -> SearchSpace:
            return nb.search_space("my-space")
"""

import pytest

# So that a failed assertion in a suite shows its values, as in any test module.
_MODULES = (
    "black_box_optimizer",
    "search_space",
    "table",
    "optimizer",
    "optimizer_steps",
    "search_steps",
    "tiny_search",
)
pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in _MODULES))
