"""Download of files with a known SHA-256 into the data folder, with a progress bar."""

from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.files import atomic_write, data_folder, file_lock, sha256

if TYPE_CHECKING:
    from rich.console import Console


def downloads_folder() -> Path:
    """Return the folder of downloaded files."""
    return data_folder() / "downloads"


def lock_of_download(name: str) -> AbstractContextManager[None]:
    """Return the lock that a process holds while it downloads and imports the file `name`; the next process waits."""
    return file_lock(downloads_folder() / f".{name}.lock")


def fetch(url: str, name: str, digest: str, progress: Any, what: str, instead: str) -> Path:
    """Download a file into `downloads_folder` and return its path; a valid file is not downloaded again.

    The next process on this machine removes what a killed process has downloaded.

    Args:
        url: address of the file.
        name: name of the file.
        digest: required SHA-256 of the file.
        progress: an object with pooch's `total`, `update`, `reset`, `close`, such as `DownloadBar`, or False for no
            progress.
        what: description of the file, for messages.
        instead: advice if the file cannot be downloaded, for messages.

    Raises UserError if the file cannot be downloaded, has another SHA-256, or cannot be written.
    """
    file = downloads_folder() / name
    if file.is_file() and sha256(file) == digest:
        return file
    import requests
    from pooch.downloaders import HTTPDownloader

    responses = list[requests.Response]()
    downloader: Any = HTTPDownloader(  # type: ignore[no-untyped-call]
        progressbar=progress, chunk_size=2**20, timeout=60, hooks={"response": lambda r, **_: responses.append(r)}
    )
    with atomic_write(file) as part:
        try:
            downloader(url, part, None)
            if sha256(Path(part.name)) != digest:
                raise ValueError("another SHA-256")
        except requests.exceptions.RequestException as error:  # is an OSError, too
            raise UserError(f"cannot download {url} ({type(error).__name__}): {instead}") from error
        except ValueError as error:
            raise UserError(
                f"{url} is not {what} (its SHA-256 differs, or the address is invalid): {instead}"
            ) from error
        finally:
            for response in responses:  # pooch leaves the connection of a failed download open
                response.close()
    return file


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
