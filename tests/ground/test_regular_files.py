"""Opening files: only regular ones, which cannot block, and the cause if the system does not allow it."""

import errno
import os
import resource
import shutil
import signal
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses
from rich.console import Console
from tiny_search import search

import nasbench1shot1 as nb
from nasbench1shot1.experiments.correlation.state import list_facts
from nasbench1shot1.ground.errors import DamagedFileError, UserError
from nasbench1shot1.ground.files import (
    PACKAGE_DATA,
    atomic_write,
    blocked_error,
    open_regular,
    open_to_append,
    read_json,
    read_npz,
    read_text,
    sha256,
)
from nasbench1shot1.images.sources import import_images
from nasbench1shot1.images.store import read_columns
from nasbench1shot1.nasbench201.numbering import read_order
from nasbench1shot1.runs.folder import count_lines, read_lines
from nasbench1shot1.tables.importing import import_table
from nasbench1shot1.tuning.config_spaces import config_space

SECONDS = 20
"""Far longer than any of these calls; without an alarm, a failed test would never end."""


@pytest.fixture
def alarm() -> Iterator[None]:
    def fail(*_: object) -> None:
        raise TimeoutError("it waits for the other end of a FIFO")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(search(tmp_path_factory.mktemp("finished") / "run", keep_weights_every=1).folder)


def replace_by_fifo(file: Path) -> Path:
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    return file


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("column", ["hash", "meta", "validation_accuracy"])
def test_a_fifo_in_a_table_is_refused(tmp_path: Path, column: str) -> None:
    shutil.copytree(PACKAGE_DATA / "table", tmp_path / "table")
    replace_by_fifo(tmp_path / "table" / ("meta.json" if column == "meta" else f"{column}.npy"))
    with pytest.raises(UserError):
        nb.load_table(tmp_path / "table")


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl", "architecture_parameters.npz", "checkpoint.pt"])
def test_a_fifo_in_a_run_is_refused(tmp_path: Path, finished: Path, name: str) -> None:
    shutil.copytree(finished, tmp_path / "run")
    replace_by_fifo(tmp_path / "run" / name)
    (tmp_path / "run" / "summary.json").unlink()
    with pytest.raises(UserError):
        nb.search(resume=tmp_path / "run", console=Console(quiet=True))
    with pytest.raises(UserError):
        run = nb.load_run(tmp_path / "run")
        print(run.lines, run.architecture_parameters, run.supernet(99))


@pytest.mark.usefixtures("alarm", "home")
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("cifar-10-python.tar.gz", import_images),
        ("images.npz", import_images),
        ("nasbench_only108.tfrecord", lambda path: import_table(path, path.parent / "out")),
        ("NAS-Bench-201-v1_1-096897.pth", lambda path: import_table(path, path.parent / "out")),
        ("NATS-tss-v1_0-3ffb9.pickle.pbz2", lambda path: import_table(path, path.parent / "out")),
        ("space.yaml", lambda path: config_space(str(path), {})),
        ("space.json", lambda path: config_space(str(path), {})),
        ("architectures.txt", lambda path: list_facts(str(path))),
        ("order.npy", read_order),
        ("lines.jsonl", read_lines),
    ],
)
def test_a_fifo_given_as_a_file_is_refused(tmp_path: Path, name: str, read: Callable[[Path], object]) -> None:
    with pytest.raises(UserError):
        read(replace_by_fifo(tmp_path / name))


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize(
    ("make", "code"),
    [
        (os.mkfifo, errno.EINVAL),
        (os.mkdir, errno.EISDIR),
        (lambda path: path.symlink_to("/dev/zero"), errno.EINVAL),
        (lambda path: None, errno.ENOENT),
    ],
)
@pytest.mark.parametrize("read", [open_regular, read_text, sha256, count_lines])
def test_only_regular_files_are_opened(
    tmp_path: Path, make: Callable[[Path], object], code: int, read: Callable[[Path], object]
) -> None:
    make(tmp_path / "made")
    if (read, code) == (count_lines, errno.ENOENT):
        assert count_lines(tmp_path / "made") == 0
        return
    with pytest.raises(OSError, match=str(tmp_path / "made")) as caught:
        read(tmp_path / "made")
    assert caught.value.errno == code


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("is_read", [False, True])
def test_only_regular_files_are_appended_to(tmp_path: Path, is_read: bool) -> None:
    fifo = replace_by_fifo(tmp_path / "fifo")
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK) if is_read else None
    with pytest.raises(OSError, match=str(fifo)) as caught:
        open_to_append(fifo)
    assert caught.value.errno == errno.EINVAL
    if reader is not None:
        os.close(reader)
    for text in (b"one\n", b"two\n"):
        with open_to_append(tmp_path / "log") as file:
            file.write(text)
    assert (tmp_path / "log").read_bytes() == b"one\ntwo\n"


@contextmanager
def open_files_left(number: int) -> Iterator[None]:
    """Lower the limit so that a number of further files can be opened."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free: list[int] = []
    try:
        used = max(int(path.name) for path in Path("/proc/self/fd").iterdir()) + 1
        resource.setrlimit(resource.RLIMIT_NOFILE, (used, before[1]))
        while True:  # fill the gaps between the numbers in use
            try:
                free.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + number, before[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for descriptor in free:
            os.close(descriptor)


def write_images(folder: Path) -> Path:
    np.savez(folder / "mine.npz", images=np.zeros((4, 32, 32, 3), np.uint8), labels=np.arange(4))
    return import_images(folder / "mine.npz")


@pytest.mark.usefixtures("home")
def test_too_many_open_files_are_not_damage(tmp_path: Path, finished: Path) -> None:
    shutil.copytree(PACKAGE_DATA / "table", tmp_path / "table")
    shutil.copytree(PACKAGE_DATA / "nb201" / "table", tmp_path / "table201")
    images = write_images(tmp_path)
    reads: list[Callable[[], object]] = [
        lambda: nb.load_table(tmp_path / "table"),
        lambda: nb.load_table(tmp_path / "table201"),
        lambda: nb.load_run(finished),
        lambda: read_lines(finished / "metrics.jsonl"),
        lambda: read_npz(finished / "architecture_parameters.npz"),
        lambda: nb.load_run(finished).supernet(1),
        lambda: read_columns(images),
        lambda: read_json(finished / "config.json"),
    ]
    for read in reads:
        read()  # imports what it needs
        refused = 0
        for number in range(12):
            with open_files_left(number):
                try:
                    read()
                except UserError as error:
                    assert not isinstance(error, DamagedFileError), error
                    assert error.__cause__ is not None and getattr(error.__cause__, "errno", None) == errno.EMFILE
                    refused += 1
        assert refused


def test_an_archive_is_not_damaged_if_too_many_files_are_open(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "images.tar", "w") as archive:
        archive.writestr("file", "text")
    with open_files_left(0), pytest.raises(UserError) as caught:
        import_images(tmp_path / "images.tar")
    assert not isinstance(caught.value, DamagedFileError)


@pytest.mark.parametrize("code", [errno.ENOENT, errno.EISDIR, errno.EINVAL, None])
def test_other_errors_do_not_blame_the_system(code: int | None) -> None:
    assert blocked_error(Path("file"), OSError(code, "text") if code else OSError("text")) is None
    assert blocked_error(Path("file"), ValueError("text")) is None


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EACCES, errno.EIO])
def test_errors_of_the_system_name_the_file_and_the_cause(code: int) -> None:
    found = blocked_error(Path("some/file"), OSError(code, os.strerror(code)))
    assert found is not None and not isinstance(found, DamagedFileError)
    assert "some/file" in str(found) and os.strerror(code) in str(found)


def test_a_write_with_too_many_open_files_names_the_limit(tmp_path: Path) -> None:
    with open_files_left(0), refuses(UserError, "ulimit", 4096), atomic_write(tmp_path / "file"):
        pass
