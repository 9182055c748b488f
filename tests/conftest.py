"""What several tests use."""

from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data beside the checkout; a test that needs it fails where it is missing, by name."""
    folder = CHECKOUT.parent / "shared" / "data"
    assert folder.is_dir(), f"{folder} is missing: this test compares with the real data kept there"
    return folder
