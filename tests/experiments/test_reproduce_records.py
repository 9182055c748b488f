"""The records of a figure's runs in one file: equal pictures elsewhere, continuing, partial studies, damaged files."""

import json
import lzma
import random
import shutil
import tarfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from conftest import CHECKOUT
from made_records import read_packed_files, write_packed, write_records
from refusals import exits, refuses
from tiny_figures import ARGUMENTS, JOBS, STEM, refuse_jobs, reproduce, run_jobs_here, shrink

from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.experiments.comparison.rank_tests import rank_tests
from nasbench1shot1.experiments.reproduction import records
from nasbench1shot1.experiments.reproduction.figure_jobs import Reproduction
from nasbench1shot1.experiments.reproduction.figures.parts import METHODS
from nasbench1shot1.experiments.reproduction.records import read_packed
from nasbench1shot1.experiments.reproduction.results.methods import RANDOM, random_sampling
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, OutOfDomainError, UserError, option
from nasbench1shot1.jobs import pool
from nasbench1shot1.one_shot_search.record import PARAMETERS
from nasbench1shot1.registry import one_shot_space
from nasbench1shot1.tables.table import load_table

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
    refuse_jobs(monkeypatch)


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
    assert {Path(name).suffix for name in names} == {".json", ".jsonl"}


def test_records_have_architecture_parameters_only_for_a_figure_that_shows_them(finished, tmp_path):
    jobs = [Mock(folder=finished / name, is_finished=True) for name in JOBS]
    for job, name in zip(jobs, JOBS, strict=True):
        job.name = name
    kept = {}
    for figure in ("figure12", "nas201-collapse"):
        assert records.pack(jobs, tmp_path / f"{figure}.tar.xz", figure) == len(JOBS)
        runs = records.read_packed(tmp_path / f"{figure}.tar.xz").runs
        kept[figure] = {name: files.get(PARAMETERS) for name, files in runs.items()}
    assert kept["figure12"] == dict.fromkeys(JOBS)
    assert kept["nas201-collapse"] == {name: (finished / name / PARAMETERS).read_bytes() for name in JOBS}


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


def test_records_of_another_figure_with_equal_names_of_runs_are_refused(finished, tmp_path):
    other, files = tmp_path / "other.tar.xz", read_packed_files(finished.parent / "records.tar.xz")
    write_packed(other, {**files, "figure.json": files["figure.json"].replace(b"figure12", b"figure16")})
    with refuses(InvalidInputError, other, "figure16", "figure12", options="records"):
        _call(tmp_path / "out", records=other)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("mark", "error", "words"),
    [
        ("{}", DamagedFileError, ["figure.json"]),
        ('{"figure": 12}', DamagedFileError, ["figure.json"]),
        ('{"figure": "figure4"}', InvalidInputError, ["figure4", "figure12"]),
    ],
)
def test_a_folder_of_another_figure_or_with_a_damaged_mark_is_refused(mark, error, words, no_search, tmp_path):
    (tmp_path / "figure.json").write_text(mark)
    with refuses(error, *words):
        _call(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["figure.json"]
    assert (tmp_path / "figure.json").read_text() == mark


def test_records_are_packed_even_if_the_results_cannot_be_drawn(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(Reproduction, "results", Mock(side_effect=OutOfDomainError("no row")))
    with refuses(OutOfDomainError, "no row", options=""):
        _call(finished, draw_only=True, pack=tmp_path / "records.tar.xz")
    assert set(records.read_packed(tmp_path / "records.tar.xz").runs) == set(JOBS)


def test_if_neither_drawing_nor_packing_succeeds_both_reasons_are_shown(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(Reproduction, "results", Mock(side_effect=OutOfDomainError(f"no {option('table')}")))
    monkeypatch.setattr(records, "LARGEST", 2**10)
    with refuses(UserError, "no", "4 runs", options="table only"):
        _call(finished, draw_only=True, pack=tmp_path / "records.tar.xz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "value"), [("device", "cuda"), ("workers", "2")])
def test_options_of_running_are_refused_if_nothing_runs(name, value, finished, tmp_path, capsys):
    with exits(capsys, "--draw-only", f"--{name}"):
        reproduce(finished, *EPOCHS, "--draw-only", f"--{name}", value)


def test_a_file_of_records_needs_its_suffix(tmp_path):
    with refuses(InvalidInputError, tmp_path / "records.zip", records.SUFFIX, options="pack"):
        _call(tmp_path / "out", pack=tmp_path / "records.zip")
    assert not list(tmp_path.iterdir())


def test_a_file_of_records_that_cannot_be_written_is_refused_before_the_runs(tmp_path):
    (target := tmp_path / "records.tar.xz").mkdir()
    with refuses(InvalidInputError, target, "folder", options="pack"):
        _call(tmp_path / "out", pack=target)
    assert list(tmp_path.iterdir()) == [target]


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


@pytest.fixture
def tar(finished) -> bytes:
    """The uncompressed file of records."""
    return lzma.decompress((finished.parent / "records.tar.xz").read_bytes())


def headers(tar: bytes) -> list[int]:
    """The places of the headers of the files."""
    return [place for place in range(0, len(tar), tarfile.BLOCKSIZE) if tar[place + 257 : place + 262] == b"ustar"]


def with_header(tar: bytes, number: int, field: slice, value: bytes) -> bytes:
    """Change a field of a header, with a valid checksum."""
    place = headers(tar)[number]
    header = bytearray(tar[place : place + tarfile.BLOCKSIZE])
    header[field] = value.ljust(field.stop - field.start, b"\0")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return tar[:place] + bytes(header) + tar[place + tarfile.BLOCKSIZE :]


NAME, SIZE, KIND = slice(0, 100), slice(124, 136), slice(156, 157)
DAMAGE = {
    "a changed header": lambda tar: tar[: headers(tar)[1] + 3] + b"?" + tar[headers(tar)[1] + 4 :],
    "a header of zeros": lambda tar: tar[: headers(tar)[1]] + bytes(512) + tar[headers(tar)[1] + 512 :],
    "half a header": lambda tar: tar[: headers(tar)[2] + 200],
    "no end": lambda tar: tar[: headers(tar)[3]],
    "no zeros at the end": lambda tar: tar.rstrip(b"\0") + b"more",
    "a negative size": lambda tar: with_header(tar, 1, SIZE, (-512).to_bytes(12, "big", signed=True)),
    "a huge size": lambda tar: with_header(tar, 1, SIZE, b"77777777777"),
    "a link": lambda tar: with_header(tar, 1, KIND, tarfile.SYMTYPE),
    "an extended header": lambda tar: with_header(tar, 1, KIND, tarfile.XHDTYPE),
    "a parent folder": lambda tar: with_header(tar, 1, NAME, b"../../config.json"),
    "an absolute name": lambda tar: with_header(tar, 1, NAME, b"/etc/config.json"),
    "a name for Windows": lambda tar: with_header(tar, 1, NAME, rb"s1\\..\\config.json"),
    "a file twice": lambda tar: with_header(tar, 2, NAME, tar[headers(tar)[1] :][:100]),
    "no name of the figure": lambda tar: tar.replace(b"figure12", b'figure1"', 1),
    "a number as the figure": lambda tar: tar.replace(b'"figure12"', b"1234567890", 1),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_archive_is_refused(damage, tar, tmp_path):
    path = tmp_path / "records.tar.xz"
    path.write_bytes(lzma.compress(tar))
    assert set(records.read_packed(path).runs) == set(JOBS)
    path.write_bytes(lzma.compress(damage(tar)))
    with refuses(DamagedFileError, path):
        _call(tmp_path / "out", records=path)
    assert not (tmp_path / "out").exists()


def test_changed_or_missing_bytes_are_refused(finished, tmp_path):
    whole, other, rng = (finished.parent / "records.tar.xz").read_bytes(), tmp_path / "other.tar.xz", random.Random(0)
    for place in sorted(rng.sample(range(6, len(whole)), 40)):
        other.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << rng.randrange(8)]) + whole[place + 1 :])
        with refuses(DamagedFileError, other):
            records.read_packed(other)
    for content in (whole[:-1], whole[: len(whole) // 2], whole + b"more"):
        other.write_bytes(content)
        with refuses(DamagedFileError, other):
            records.read_packed(other)


def test_files_that_need_too_much_memory_are_refused(tar, tmp_path, monkeypatch):
    path = tmp_path / "records.tar.xz"
    path.write_bytes(lzma.compress(tar, preset=9))
    assert records.read_packed(path).figure == "figure12"
    monkeypatch.setattr(records, "_MEMORY", 2**22)
    with refuses(DamagedFileError, path):
        records.read_packed(path)
    monkeypatch.undo()
    monkeypatch.setattr(records, "MOST_FILES", len(headers(tar)) - 1)
    with refuses(DamagedFileError, path):
        records.read_packed(path)
    monkeypatch.undo()
    monkeypatch.setattr(records, "LARGEST", len(tar) - 1)
    with refuses(InvalidInputError, path, options="pack"):
        records.read_packed(path)


def test_records_with_other_options_leave_nothing(finished, tmp_path):
    packed, out = finished.parent / "records.tar.xz", tmp_path / "out"
    for _ in range(2):
        with refuses(InvalidInputError, packed, JOBS[0], options="epochs"):
            _call(out, records=packed, epochs=3)
        assert not list(out.rglob("*.json*"))
        out.mkdir(exist_ok=True)


@pytest.mark.parametrize("stop", [UserError("the disk is full"), KeyboardInterrupt()], ids=["full", "stopped"])
@pytest.mark.parametrize("exists", [False, True], ids=["new", "old"])
def test_copying_records_ends_with_all_or_none_of_them(finished, tmp_path, monkeypatch, stop, exists):
    packed, out, unpack = finished.parent / "records.tar.xz", tmp_path / "out", records.PackedRecords.unpack
    started = out / JOBS[1]
    if exists:
        shutil.copytree(finished / JOBS[1], started)

    def until_the_third(self, job, folder):
        if job == JOBS[2]:
            raise stop
        unpack(self, job, folder)

    monkeypatch.setattr(records.PackedRecords, "unpack", until_the_third)
    with pytest.raises(type(stop)):
        _call(out, records=packed)
    assert {path.parent for path in out.rglob("config.json")} == ({started} if exists else set())
    assert out.exists() == exists


def test_records_that_could_not_be_read_again_are_not_written(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(records, "LARGEST", 2**10)
    with refuses(UserError, "4 runs", options="only"):
        _call(finished, draw_only=True, pack=tmp_path / "records.tar.xz")
    assert not list(tmp_path.iterdir())


def _call(out: Path, **options) -> None:
    from nasbench1shot1.experiments.reproduction.reproducing import reproduce as call

    only = ARGUMENTS[ARGUMENTS.index("--only") + 1].split(",")
    call("figure12", scale="quick", only=only, out=out, **{"epochs": 2, **options})


def final_regrets(runs, space: str = "s1") -> dict[str, dict[int, float]]:
    """The final test regrets of packed searches on a space, by method and seed."""
    found = {curve: {} for curve in METHODS}
    for name, files in runs.items():
        _, curve, seed = name.split("/")
        if name.startswith(f"{space}/") and curve in found:
            last = json.loads(files["metrics.jsonl"].splitlines()[-1])
            found[curve][int(seed.removeprefix("seed-"))] = last["test_regret"]
    return found


def p_values(regrets, space: str = "s1") -> dict[str, float]:
    """Corrected p-values of all pairs of methods, and of each method against random architectures, by their names."""
    samples = {curve: np.array(list(of.values())) for curve, of in regrets.items()}
    known = {RANDOM: random_sampling(load_table(), one_shot_space(space), None, 1)}
    tests = rank_tests(samples, "final", distributions=known)
    return {
        ", ".join(of for of in pair if of != RANDOM): float(f"{p:.2g}")
        for *pair, p in tests[["first", "second", "p_holm"]].itertuples(index=False)
    }


def section(heading: str) -> str:
    """A section of docs/reproduced.md in one line."""
    text = (CHECKOUT / "docs" / "reproduced.md").read_text().partition(f"# {heading}\n")[2]
    return " ".join(text.partition("\n#")[0].split())


FIGURE_2 = "Figure 2: one-shot optimizers on the three spaces"
MEDIUM = {space: f"The medium scale on {space}" for space in ("s1", "s2", "s3")}
"""The sections of docs/reproduced.md on searches at the medium scale."""


@pytest.mark.parametrize(
    ("space", "file", "heading", "significant", "others"),
    [
        ("s1", "methods", FIGURE_2, {"gdas": 0.004, "gdas, pc-darts": 0.004, "enas": 0.0084}, {}),
        (
            "s1",
            "figure3-s1",
            FIGURE_2,
            {"random-ws": 0.011, "pc-darts, random-ws": 0.01},
            {"enas": 0.085, "gdas": 0.33, "gdas, pc-darts": 0.67},
        ),
        (
            "s1",
            "figure3-s1-medium",
            MEDIUM["s1"],
            {"gdas": 1.5e-5, "darts": 5e-5},
            {"enas": 0.055, "random-ws": 0.16, "pc-darts": 0.71},
        ),
        (
            "s2",
            "figure3-s2-medium",
            MEDIUM["s2"],
            {"gdas": 5.7e-9, "enas": 0.00011},
            {"random-ws": 0.087, "darts": 0.16, "pc-darts": 0.94, "gdas, random-ws": 0.087, "darts, gdas": 0.18},
        ),
        (
            "s3",
            "figure3-s3-medium",
            MEDIUM["s3"],
            {"gdas": 8.1e-7, "gdas, pc-darts": 0.027},
            {
                **{"enas": 0.072, "random-ws": 0.093, "darts": 0.22, "pc-darts": 0.99},
                **{"gdas, random-ws": 0.093, "darts, gdas": 0.096, "gdas, enas": 0.99},
            },
        ),
    ],
)
def test_the_page_has_the_rank_tests_of_all_searches_on_a_space(space, file, heading, significant, others):
    regrets = final_regrets(read_packed(CHECKOUT / "docs" / "records" / f"{file}.tar.xz").runs, space)
    found, text = p_values(regrets, space), section(heading)
    assert {pair: p for pair, p in found.items() if p < 0.05} == significant
    assert {pair: found[pair] for pair in others} == others
    assert all(str(p).replace("e-0", "e-") in text for p in (*significant.values(), *others.values()))
    if file == "figure3-s1":
        means = {curve: np.mean(list(of.values())) for curve, of in regrets.items()}
        assert all(f"{100 * mean:.2f} % ({METHODS[curve]})" in text for curve, mean in means.items())


@pytest.mark.parametrize("space", MEDIUM)
def test_the_page_has_the_shipped_searches_at_the_medium_scale(space):
    """The table and the numbers of a section of docs/reproduced.md."""
    runs = read_packed(CHECKOUT / "docs" / "records" / f"figure3-{space}-medium.tar.xz").runs
    text, cells, predicted = section(MEDIUM[space]), dict[str, Counter[str]](), 0
    for curve, found in final_regrets(runs, space).items():
        searches = [
            [json.loads(line) for line in runs[f"{space}/{curve}/seed-{seed}"]["metrics.jsonl"].splitlines()]
            for seed in found
        ]
        regrets = [f"{100 * found[seed]:.2f}" for seed in range(10)]
        hashes = [[line["cell_hash"] for line in lines] for lines in searches]
        changes = [sum(a != b for a, b in pairwise(own)) for own in hashes]
        mean = f"{100 * np.mean(list(found.values())):.2f}"
        assert f"| {METHODS[curve]} | {' | '.join(regrets)} | {mean} | {min(changes)} to {max(changes)} |" in text
        cells[curve] = Counter(own[-1] for own in hashes)
        predicted += sum(not lines[-1]["test_measured"] for lines in searches)
    count = sum(sum(of.values()) for of in cells.values())
    assert count == 10 * len(cells) and "ten searches of each method" in text
    assert f"{predicted} of the {count} final regrets {'is' if predicted == 1 else 'are'} predicted" in text
    for curve in ("darts", "gdas"):
        most, every = max(cells[curve].values()), cells[curve].total()
        assert f"{most} of the {every} searches of {METHODS[curve]}" in text


@pytest.mark.parametrize("name", ["figure3-s1", *(f"figure3-{space}-medium" for space in MEDIUM)])
def test_shipped_rankings_have_exactly_the_files_that_are_packed(name):
    path = CHECKOUT / "docs" / "records" / f"{name}.tar.xz"
    runs = read_packed(path).runs
    rankings = {job: set(files) for job, files in runs.items() if "-rankings/" in job}
    texts = {"config.json", "environment.json", "metrics.jsonl", "reliability.csv", "summary.json"}
    for job, files in rankings.items():
        epochs = json.loads(runs[job]["config.json"])["evaluated_epochs"]
        assert files == {*texts, *(f"epoch-{epoch:03d}.npz" for epoch in epochs)}
    assert len(rankings) == 10 * len(METHODS)


def correlations_at_the_medium_scale(space: str) -> dict[str, dict[str, list[float]]]:
    """Spearman's ρ after 40 epochs in the shipped rankings of a space, by predictor and method."""
    found = {predictor: {curve: [] for curve in METHODS} for predictor in ("error", "loss")}
    for name, files in read_packed(CHECKOUT / "docs" / "records" / f"figure3-{space}-medium.tar.xz").runs.items():
        if name.startswith(f"{space}-rankings/"):
            summary = json.loads(files["summary.json"])
            assert (summary["budget"], summary["split"]) == (108, "test")
            for predictor, of in found.items():
                of[name.split("/")[1]].append(summary["epochs"]["40"][f"spearman_{predictor}"]["value"])
    return found


@pytest.mark.parametrize(
    ("space", "heading"), [("s1", "## Ten seeds at the medium scale"), ("s2", "### On s2"), ("s3", "### On s3")]
)
def test_the_ranking_page_has_the_correlations_of_the_shipped_rankings(space, heading):
    """The first two rows of a table of docs/ranking.md, and its first statement."""
    found = correlations_at_the_medium_scale(space)
    page = (CHECKOUT / "docs" / "ranking.md").read_text().partition(f"{heading}\n")[2].partition("\n##")[0]
    for predictor, of in found.items():
        assert {len(values) for values in of.values()} == {10}
        cells = [f"{np.mean(values):.2f} ± {np.std(values, ddof=1):.2f}" for values in of.values()]
        assert f"| ρ of the one-shot {predictor} | {' | '.join(cells)} |" in page
    error, loss = (np.array(list(of.values())) for of in found.values())  # (methods, seeds)
    best, worst = (list(METHODS).index(of) for of in ("gdas", "random-ws"))
    assert (error.argmax(axis=0) == best).all() == (space != "s3")
    assert space == "s2" or (loss.argmin(axis=0) == worst).all()
