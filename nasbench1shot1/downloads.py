"""Download of files with known SHA-256 into the data folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.files import data_folder, write_error


def fetch(url: str, name: str, sha256: str, progress: Any, what: str, instead: str) -> Path:
    """Download a file into the data folder's `downloads` and return its path; a valid file is not downloaded again.

    Args:
        url: address of the file.
        name: name of the file.
        sha256: required SHA-256 of the file.
        progress: an object with pooch's `total`, `update`, `reset`, `close`, such as download_bar.DownloadBar, or
            False for no progress.
        what: description of the file, for messages.
        instead: advice if the file cannot be downloaded, for messages.

    Raises UserError if the file cannot be downloaded, has another SHA-256, or cannot be written.
    """
    import requests
    from pooch.core import retrieve
    from pooch.downloaders import HTTPDownloader

    folder = data_folder() / "downloads"
    try:
        downloader: Any = HTTPDownloader(progressbar=progress, chunk_size=2**20, timeout=60)  # type: ignore[no-untyped-call]
        with _quiet_pooch():
            return Path(retrieve(url, f"sha256:{sha256}", fname=name, path=folder, downloader=downloader))
    except requests.exceptions.RequestException as error:
        raise UserError(f"cannot download {url} ({type(error).__name__}): {instead}") from error
    except OSError as error:
        raise write_error(folder / name, error) from error
    except ValueError as error:
        raise UserError(f"{url} is not {what} (its SHA-256 differs, or the address is invalid): {instead}") from error


@contextmanager
def _quiet_pooch() -> Iterator[None]:
    """Silence "Downloading data from …", which the progress bar replaces; then restore the level of pooch's logger."""
    from pooch.utils import get_logger

    logger = get_logger()
    level = logger.level
    logger.setLevel("WARNING")
    try:
        yield
    finally:
        logger.setLevel(level)
