"""Downloads of CIFAR-10 from a local server: progress bar and messages of the commands."""

import hashlib
import io
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
import requests
from image_builders import ROWS, official_files, write_tar
from pooch.utils import get_logger
from refusals import refuses
from rich.console import Console

from nasbench1shot1.commands.data import Download, Import, Info
from nasbench1shot1.ground.downloads import DownloadBar, lock_of_download
from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.ground.folder_swap import machine_name
from nasbench1shot1.images import sources
from nasbench1shot1.images.image_set import load_images
from nasbench1shot1.images.sources import download_images, import_images
from nasbench1shot1.images.store import images_folder, imported_at

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.usefixtures("small_archives")
@pytest.mark.parametrize("kind", ["python", "binary"])
def test_download_checks_and_imports(
    kind: str, server: str, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = write_tar(tmp_path / "served" / f"cifar-10-{kind}.tar.gz", official_files(kind, ROWS)[0])
    address = server if kind == "python" else f"{server}/{archive.name}"
    with pytest.raises(UserError, match="CIFAR-10"):
        download_images(address)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    monkeypatch.setitem(sources.CHECKSUMS, archive.name, digest)
    assert download_images(address) == home / "images" / "cifar10"
    assert len(load_images("cifar10")) == 5 * ROWS
    assert [p.name for p in home.rglob("*") if p.is_file() and "images" not in p.parts] == []


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/x", "nonsense", "SERVER/missing"])
def test_an_unreachable_download_explains_what_to_do(address: str, server: str) -> None:
    with refuses(UserError, "nb1shot1", "FILE"):
        download_images(address.replace("SERVER", server))
    assert not images_folder().exists()


def test_what_a_killed_process_has_downloaded_is_removed(server: str, home: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    left = home / "downloads" / f".cifar-10-python.tar.gz.{machine_name()}.{ended.pid}.part"
    left.parent.mkdir(parents=True)
    left.touch()
    with pytest.raises(UserError):
        download_images(f"{server}/missing")
    assert list(left.parent.iterdir()) == []


def test_a_failed_download_closes_its_connection(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    responses = []
    send = requests.Session.send
    monkeypatch.setattr(requests.Session, "send", lambda *a, **k: responses.append(send(*a, **k)) or responses[-1])
    with pytest.raises(UserError):
        download_images(f"{server}/missing")
    (response,) = responses
    assert (response.status_code, response.raw.closed) == (404, True)


@pytest.fixture
def served(server: str, tmp_path: Path, small_archives: None, monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    """Address and size in bytes of a small archive accepted as the official one."""
    archive = write_tar(tmp_path / "served" / "cifar-10-python.tar.gz", official_files("python", ROWS)[0])
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    monkeypatch.setitem(sources.CHECKSUMS, archive.name, digest)
    return server, archive.stat().st_size


def test_a_set_that_another_process_imports_meanwhile_is_not_downloaded(
    served: tuple[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, has_looked = tmp_path / "served" / "cifar-10-python.tar.gz", Event()

    def look(name: str) -> int | None:
        has_looked.set()
        return imported_at(name)

    monkeypatch.setattr(sources, "imported_at", look)
    with ThreadPoolExecutor(1) as thread:
        with lock_of_download(archive.name):
            waiting = thread.submit(download_images, served[0])
            assert has_looked.wait(60)
            folder = import_images(archive)
            archive.unlink()
        assert waiting.result() == folder


def test_a_download_shows_a_progress_bar(served: tuple[str, int]) -> None:
    address, size = served
    screen, logger = io.StringIO(), get_logger()
    before = logger.level
    with DownloadBar("CIFAR-10", Console(file=screen, force_terminal=True, width=100)) as bar:
        assert bar.total is None
        download_images(address, bar)
        assert bar.total == size
    assert f"{size / 1000:.1f}/{size / 1000:.1f} kB" in screen.getvalue()
    assert logger.level == before < logging.WARNING, "pooch's logger is as verbose as before"
    # the cursor is visible again
    assert screen.getvalue().count("\x1b[?25l") == screen.getvalue().count("\x1b[?25h") == 1


def test_a_progress_bar_never_exceeds_the_total() -> None:
    screen = io.StringIO()
    with DownloadBar("x", Console(file=screen, force_terminal=True, width=100)) as bar:
        bar.total = 1_500
        for _ in range(2):
            bar.update(1_000)
    assert "1.5/1.5 kB" in screen.getvalue()
    assert "2.0/1.5 kB" not in screen.getvalue()


def test_commands_announce_slow_steps_before_they_start(
    served: tuple[str, int], home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = home / "images" / "cifar10"
    Download(mirror=served[0]).run()
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["downloading CIFAR-10 (170 MB), then checking and importing it", f"CIFAR-10 is in {folder}"]
    archive = tmp_path / "served" / "cifar-10-python.tar.gz"
    Import(archive).run()
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"importing {archive} (")
    assert last == f"imported as cifar10 into {folder}"
    Info().run()
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "cifar-10-python.tar.gz" in shown and "official archive" in shown
    with pytest.raises(InvalidInputError, match="file"):
        Import(tmp_path / "none.npz").run()
    assert capsys.readouterr().out == ""
