"""Download of files with a known SHA-256 into the data folder, with a progress bar."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.files import data_folder, write_error

if TYPE_CHECKING:
    from rich.console import Console


def fetch(url: str, name: str, sha256: str, progress: Any, what: str, instead: str) -> Path:
    """Download a file into the data folder's `downloads` and return its path; a valid file is not downloaded again.

    Args:
        url: address of the file.
        name: name of the file.
        sha256: required SHA-256 of the file.
        progress: an object with pooch's `total`, `update`, `reset`, `close`, such as `DownloadBar`, or False for no
            progress.
        what: description of the file, for messages.
        instead: advice if the file cannot be downloaded, for messages.

    Raises UserError if the file cannot be downloaded, has another SHA-256, or cannot be written.
    """
    import requests
    from pooch.core import retrieve
    from pooch.downloaders import HTTPDownloader

    folder = data_folder() / "downloads"
    responses: list[requests.Response] = []
    try:
        downloader: Any = HTTPDownloader(  # type: ignore[no-untyped-call]
            progressbar=progress, chunk_size=2**20, timeout=60, hooks={"response": lambda r, **_: responses.append(r)}
        )
        with _quiet_pooch():
            return Path(retrieve(url, f"sha256:{sha256}", fname=name, path=folder, downloader=downloader))
    except requests.exceptions.RequestException as error:
        raise UserError(f"cannot download {url} ({type(error).__name__}): {instead}") from error
    except OSError as error:
        raise write_error(folder / name, error) from error
    except ValueError as error:
        raise UserError(f"{url} is not {what} (its SHA-256 differs, or the address is invalid): {instead}") from error
    finally:
        for response in responses:  # pooch leaves the connection of a failed download open
            response.close()


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


class DownloadBar:
    """A progress bar with pooch's interface: `total` (in bytes), `update`, `reset` and `close`.

    It is a context manager, so that the bar also ends if the download fails. Without a terminal, nothing is shown.
    """

    def __init__(self, title: str, console: "Console") -> None:
        from rich import progress as rich

        size = (rich.BarColumn(), rich.DownloadColumn(), rich.TransferSpeedColumn())
        left = (rich.TextColumn("left"), rich.TimeRemainingColumn())
        description = rich.TextColumn("{task.description}", markup=False)
        self._bar = rich.Progress(description, *size, *left, console=console, disable=not console.is_terminal)
        self._task = self._bar.add_task(title, total=None)

    def __enter__(self) -> "DownloadBar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def total(self) -> float | None:
        """The file's size in bytes; None if the server did not state it. Setting it starts the bar."""
        return self._bar.tasks[self._task].total

    @total.setter
    def total(self, size: int) -> None:
        self._bar.update(self._task, total=size or None)
        self._bar.start()

    def update(self, size: int) -> None:
        """Advance the bar by a number of bytes; pooch also reports a whole chunk for the last, shorter one."""
        task = self._bar.tasks[self._task]
        done = task.completed + size
        self._bar.update(self._task, completed=done if task.total is None else min(done, task.total))

    def reset(self) -> None:
        """Reset the bar to 0 bytes; pooch does this before it reports the exact total."""
        self._bar.update(self._task, completed=0)

    def close(self) -> None:
        """Stop the bar and release the screen."""
        self._bar.stop()
