"""Test suites for new search spaces, optimizers and tables; they need pytest.

Subclass a suite in a test module, and add a fixture that returns the object to be tested:

    class TestMySpace(SearchSpaceConformance):
        @pytest.fixture
        def space(self) -> SearchSpace:
            return nb.search_space("my-space")
"""

import pytest

# A failed assertion in a suite then shows its values, as in any test module.
_MODULES = (
    "black_box_optimizer",
    "search_space",
    "table",
    "optimizer",
    "search_steps",
    "tiny_search",
)
pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in _MODULES))
