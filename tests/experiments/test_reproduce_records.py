"""The records of a figure's runs in one file: equal pictures elsewhere, continuing, partial studies, damaged files."""

import random
import shutil
import tarfile
from pathlib import Path

import pytest
from made_records import read_packed_files, write_packed, write_records
from refusals import refuses
from tiny_figures import ARGUMENTS, JOBS, STEM, reproduce, run_jobs_here, shrink

from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.experiments.reproduction import records
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.jobs import pool

EPOCHS = ("--epochs", "2")


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("records") / "figure12"
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        run_jobs_here(patch)
        reproduce(out, *EPOCHS, "--pack", str(out.parent / "records.tar.xz"))
    return out


@pytest.fixture(autouse=True)
def tiny(monkeypatch) -> None:
    shrink(monkeypatch)
    run_jobs_here(monkeypatch)


@pytest.fixture
def no_search(monkeypatch) -> None:
    def refuse(self, job, *_):
        raise AssertionError(f"{job.name} was started")

    monkeypatch.setattr(pool._ThisProcess, "submit", refuse)


def test_records_draw_the_same_picture_and_pack_to_the_same_bytes(finished, no_search, tmp_path):
    source, again = finished.parent / "records.tar.xz", tmp_path / "again.tar.xz"
    reproduce(tmp_path / "out", *EPOCHS, "--records", str(source), "--pack", str(again))
    assert again.read_bytes() == source.read_bytes()
    for suffix in ("png", "csv"):
        name = f"{STEM}.{suffix}"
        assert (tmp_path / "out" / name).read_bytes() == (finished / name).read_bytes()


def test_records_have_neither_checkpoints_nor_pictures(finished):
    names = read_packed_files(finished.parent / "records.tar.xz")
    assert {name.rpartition("/")[0] for name in names} == {*JOBS, ""} and "figure.json" in names
    assert {Path(name).suffix for name in names} == {".json", ".jsonl", ".npz"}


def test_a_part_is_drawn_with_its_number_of_runs_and_continued(finished, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    shutil.rmtree(out / JOBS[3])
    texts, finish = list[str](), Canvas.finish

    def finish_and_listen(self, *given, **named):
        texts.extend(given)
        return finish(self, *given, **named)

    monkeypatch.setattr(Canvas, "finish", finish_and_listen)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool._ThisProcess, "submit", None)  # it would raise if a search were started
        reproduce(out, *EPOCHS, "--draw-only", "--pack", str(tmp_path / "part.tar.xz"))
    title, caption = texts
    assert "1 to 2 of 2 seeds" in title and "3 of 4" in caption
    assert "Records of 3 searches" in capsys.readouterr().out
    reproduce(tmp_path / "continued", *EPOCHS, "--records", str(tmp_path / "part.tar.xz"))
    name = f"{STEM}.csv"
    assert (tmp_path / "continued" / name).read_text() == (finished / name).read_text()


def test_nothing_finished_cannot_be_drawn(tmp_path):
    with refuses(InvalidInputError, tmp_path / "out", options="draw_only"):
        _call(tmp_path / "out", draw_only=True)
    assert not (tmp_path / "out").exists()


def test_records_of_other_runs_are_refused(finished, tmp_path):
    other = tmp_path / "other.tar.xz"
    write_records(other, "figure2", {"s1/darts": [1.0]})
    with refuses(InvalidInputError, other, options="records"):
        _call(tmp_path / "out", records=other)
    for path in (finished / "figure.json", tmp_path / "missing.tar.xz"):
        with refuses(InvalidInputError, path, options="pack"):
            _call(tmp_path / "out", records=path)
    assert not (tmp_path / "out").exists()


def test_a_file_of_records_needs_its_suffix(tmp_path):
    with refuses(InvalidInputError, tmp_path / "records.zip", records.SUFFIX, options="pack"):
        _call(tmp_path / "out", pack=tmp_path / "records.zip")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["checkpoint.pt", "summary.json"])
def test_a_damaged_record_leaves_no_run(name, finished, tmp_path):
    """Neither an unknown file is unpacked, nor is a run without its summary taken for a finished one."""
    other = tmp_path / "other.tar.xz"
    files = read_packed_files(finished.parent / "records.tar.xz")
    if name == "checkpoint.pt":
        files[f"{JOBS[0]}/{name}"] = b"\x80"
    else:
        del files[f"{JOBS[0]}/{name}"]
    write_packed(other, files)
    with refuses(DamagedFileError, other, JOBS[0]):
        _call(tmp_path / "out", records=other)
    assert not (tmp_path / "out" / JOBS[0]).exists()


def test_changed_bytes_are_refused(finished, tmp_path):
    whole, other, rng = (finished.parent / "records.tar.xz").read_bytes(), tmp_path / "other.tar.xz", random.Random(0)
    for place in sorted(rng.sample(range(len(whole)), 40)):
        other.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << rng.randrange(8)]) + whole[place + 1 :])
        with refuses(UserError, other):
            records.read_packed(other)
    for end in rng.sample(range(len(whole)), 10):
        other.write_bytes(whole[:end])
        with refuses(UserError, other):
            records.read_packed(other)


def test_only_plain_files_of_limited_length_are_read(tmp_path, monkeypatch):
    other = tmp_path / "other.tar.xz"
    files = {"figure.json": b'{"figure": "figure12"}', "s1/darts/seed-0/config.json": b"{}"}
    write_packed(other, files, format=tarfile.USTAR_FORMAT)
    assert records.read_packed(other).runs == {"s1/darts/seed-0": {"config.json": b"{}"}}
    write_packed(other, files, format=tarfile.PAX_FORMAT, pax_headers={"size": str(10**18)})
    with refuses(DamagedFileError, other):
        records.read_packed(other)
    with tarfile.open(other, "w:xz") as archive:
        link = tarfile.TarInfo("s1/darts/seed-0/config.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with refuses(DamagedFileError, other, link.name):
        records.read_packed(other)
    write_packed(other, {**files, "s1/darts/seed-0/metrics.jsonl": bytes(200_000)})
    monkeypatch.setattr(records, "LARGEST", 2**17)
    with refuses(InvalidInputError, other, options="pack"):
        records.read_packed(other)


def test_records_that_could_not_be_read_again_are_not_written(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(records, "LARGEST", 2**10)
    with refuses(UserError, "4 runs", options="only"):
        _call(finished, draw_only=True, pack=tmp_path / "records.tar.xz")
    assert not list(tmp_path.iterdir())


def _call(out: Path, **options) -> None:
    from nasbench1shot1.experiments.reproduction.reproducing import reproduce as call

    only = ARGUMENTS[ARGUMENTS.index("--only") + 1].split(",")
    call("figure12", scale="quick", only=only, out=out, epochs=2, **options)
