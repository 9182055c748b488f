"""What several tests use."""

from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data beside the checkout; a test that needs it fails where it is missing, by name."""
    folder = CHECKOUT.parent / "shared" / "data"
    assert folder.is_dir(), f"{folder} is missing: this test compares with the real data kept there"
    return folder


@pytest.fixture(scope="session", autouse=True)
def own_data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test reads or writes the user's data folder; distinct cells are enumerated once a session."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NB1SHOT1_DATA", str(folder))
        yield folder
