"""The records of a figure's runs in one file: equal pictures elsewhere, continuing, partial studies, damaged files."""

import shutil
import zipfile
from pathlib import Path

import pytest
from refusals import refuses
from tiny_figures import ARGUMENTS, JOBS, STEM, reproduce, run_jobs_here, shrink

from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.experiments.reproduction import records
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.jobs import pool

EPOCHS = ("--epochs", "2")


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("records") / "figure12"
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        run_jobs_here(patch)
        reproduce(out, *EPOCHS, "--pack", str(out.parent / "records.zip"))
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
    source, again = finished.parent / "records.zip", tmp_path / "again.zip"
    reproduce(tmp_path / "out", *EPOCHS, "--records", str(source), "--pack", str(again))
    assert again.read_bytes() == source.read_bytes()
    for suffix in ("png", "csv"):
        name = f"{STEM}.{suffix}"
        assert (tmp_path / "out" / name).read_bytes() == (finished / name).read_bytes()


def test_records_have_neither_checkpoints_nor_pictures(finished):
    with zipfile.ZipFile(finished.parent / "records.zip") as archive:
        names = archive.namelist()
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
        reproduce(out, *EPOCHS, "--draw-only", "--pack", str(tmp_path / "part.zip"))
    title, caption = texts
    assert "1 to 2 of 2 seeds" in title and "3 of 4" in caption
    assert "Records of 3 searches" in capsys.readouterr().out
    reproduce(tmp_path / "continued", *EPOCHS, "--records", str(tmp_path / "part.zip"))
    name = f"{STEM}.csv"
    assert (tmp_path / "continued" / name).read_text() == (finished / name).read_text()


def test_nothing_finished_cannot_be_drawn(tmp_path):
    with refuses(InvalidInputError, tmp_path / "out", options="draw_only"):
        _call(tmp_path / "out", draw_only=True)
    assert not (tmp_path / "out").exists()


def test_records_of_other_runs_are_refused(finished, tmp_path):
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("s1/darts/seed-0/config.json", "{}")
    with refuses(InvalidInputError, other, options="records"):
        _call(tmp_path / "out", records=other)
    with refuses(InvalidInputError, finished / "figure.json", options="pack"):
        _call(tmp_path / "out", records=finished / "figure.json")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["checkpoint.pt", "summary.json"])
def test_a_damaged_record_leaves_no_run(name, finished, tmp_path):
    """Neither an unknown file is unpacked, nor is a run without its summary taken for a finished one."""
    source, other = finished.parent / "records.zip", tmp_path / "other.zip"
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(other, "w") as new:
        for info in old.infolist():
            if info.filename != f"{JOBS[0]}/{name}":
                new.writestr(info, old.read(info))
        if name == "checkpoint.pt":
            new.writestr(f"{JOBS[0]}/{name}", b"\x80")
    with refuses(DamagedFileError, other, tmp_path / "out" / JOBS[0]):
        _call(tmp_path / "out", records=other)
    assert not (tmp_path / "out" / JOBS[0]).exists()


def test_long_files_are_packed_smaller_and_their_damage_leaves_no_run(finished, no_search, tmp_path, monkeypatch):
    source, smaller = finished.parent / "records.zip", tmp_path / "smaller.zip"
    monkeypatch.setattr(records, "LONG", 1)
    reproduce(tmp_path / "first", *EPOCHS, "--records", str(source), "--pack", str(smaller))
    with zipfile.ZipFile(source) as one, zipfile.ZipFile(smaller) as other:
        assert [(name, one.read(name)) for name in one.namelist()] == [(n, other.read(n)) for n in other.namelist()]
        assert {info.compress_type for info in other.infolist()} == {zipfile.ZIP_BZIP2}
        (info,) = [info for info in other.infolist() if info.filename == f"{JOBS[0]}/metrics.jsonl"]
    content = bytearray(smaller.read_bytes())
    begin = info.header_offset + 30 + len(info.filename) + 20  # in the compressed data, behind the local header
    content[begin : begin + 8] = bytes(8)
    smaller.write_bytes(content)
    with refuses(DamagedFileError, smaller, tmp_path / "out" / JOBS[0]):
        _call(tmp_path / "out", records=smaller)
    assert not (tmp_path / "out" / JOBS[0]).exists()


def _call(out: Path, **options) -> None:
    from nasbench1shot1.experiments.reproduction.reproducing import reproduce as call

    only = ARGUMENTS[ARGUMENTS.index("--only") + 1].split(",")
    call("figure12", scale="quick", only=only, out=out, epochs=2, **options)
