"""Fetching a file of known content from the net into the data folder."""

from pathlib import Path
from typing import Any

from nasbench1shot1.errors import UserError
from nasbench1shot1.files import data_folder, write_error


def fetch(url: str, name: str, sha256: str, progress: Any, what: str, instead: str) -> Path:
    """The file of an address in the data folder's `downloads`; one that is there and right is not fetched again.

    Args:
        url: the address.
        name: of the file.
        sha256: that it must have.
        progress: an object with pooch's `total`, `update`, `reset`, `close`, such as download_bar.DownloadBar, or
            False for none.
        what: the file in words, for messages.
        instead: what the user can do where it cannot be had, for messages.

    Raises UserError where the file cannot be had, is another one, or cannot be written.
    """
    import requests
    from pooch.core import retrieve
    from pooch.downloaders import HTTPDownloader

    folder = data_folder() / "downloads"
    try:
        downloader: Any = HTTPDownloader(progressbar=progress, chunk_size=2**20, timeout=60)  # type: ignore[no-untyped-call]
        return Path(retrieve(url, f"sha256:{sha256}", fname=name, path=folder, downloader=downloader))
    except requests.exceptions.RequestException as error:
        raise UserError(f"cannot download {url} ({type(error).__name__}): {instead}") from error
    except OSError as error:
        raise write_error(folder / name, error) from error
    except ValueError as error:
        raise UserError(f"{url} is not {what} (another SHA-256, or no such address): {instead}") from error
