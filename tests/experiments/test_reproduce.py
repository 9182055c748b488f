"""The paper's figures as data: planned searches, durations and drawn curves."""

import io
from dataclasses import replace
from types import SimpleNamespace

import pytest
from conftest import CHECKOUT
from refusals import exits, missing, refuses
from rich.console import Console
from tiny_figures import ONLY, TINY, planned, reproduce, run_jobs_here, shrink

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.experiments.reproduction import progress
from nasbench1shot1.experiments.reproduction.figure_jobs import open_figure
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES as ALL_FIGURES
from nasbench1shot1.experiments.reproduction.figures.nasbench_1shot1 import OTHER_FIGURES
from nasbench1shot1.experiments.reproduction.progress import FigureProgress
from nasbench1shot1.experiments.reproduction.reproducing import reproduce as reproduce_figure
from nasbench1shot1.experiments.reproduction.reproducing import stem
from nasbench1shot1.experiments.reproduction.results.base import Results
from nasbench1shot1.jobs.pool import makespan
from nasbench1shot1.one_shot_search import estimate
from nasbench1shot1.one_shot_search.beginning import begin
from nasbench1shot1.one_shot_search.options import search_options

# Panels, curves in each, epochs, searches with six seeds: NAS-Bench-1Shot1, section 5 and appendix.
FIGURES = {
    name: figure
    for name, figure in ALL_FIGURES.items()
    if figure.drawing == "regrets:RegretCurves" and name.startswith("figure")
}
PAPER = {
    "figure2": (3, 5, 50, 90),
    "figure4": (3, 5, 50, 90),
    "figure7": (3, 5, 100, 90),
    "figure8": (3, 2, 200, 36),
    "figure9": (3, 2, 50, 36),
    "figure10": (2, 2, 50, 24),
    "figure11": (2, 2, 50, 24),
    "figure12": (3, 5, 50, 90),
    "figure13": (3, 5, 50, 90),
}


def settings(name: str) -> list[dict]:
    """The options that a figure gives to each of its curves."""
    return [{**panel.options, **curve.options} for panel, curve in FIGURES[name].full.pairs()]


def values(name: str, option: str) -> set:
    return {setting[option] for setting in settings(name)}


def test_every_figure_has_the_panels_curves_epochs_and_searches_of_the_paper(tmp_path):
    assert list(FIGURES) == list(PAPER)
    for name, (panels, curves, epochs, searches) in PAPER.items():
        figure = FIGURES[name]
        assert [len(panel.curves) for panel in figure.full.panels] == [curves] * panels
        assert figure.full.options["epochs"] == epochs
        assert curves * panels * 6 == searches
        assert len({(panel.key, curve.key) for panel, curve in figure.full.pairs()}) == curves * panels
        assert len({str(sorted(setting.items())) for setting in settings(name)}) == curves * panels


def test_every_figure_compares_the_same_settings_as_the_paper():
    five = {"darts", "gdas", "pc-darts", "enas", "random-ws"}
    gradient = {"darts", "gdas", "pc-darts"}
    all_spaces = {"s1", "s2", "s3"}
    decays = {1e-4, 3e-4, 9e-4, 27e-4, 81e-4}
    for name in ("figure2", "figure7"):
        assert (values(name, "optimizer"), values(name, "space")) == (five, all_spaces)
    for name, space in (("figure4", "s3"), ("figure12", "s1"), ("figure13", "s2")):
        assert (values(name, "optimizer"), values(name, "space")) == (gradient, {space})
        assert values(name, "weight_decay") == decays
    assert values("figure8", "optimizer") == {"darts", "darts-second-order"}
    assert values("figure8", "space") == all_spaces
    assert (values("figure9", "optimizer"), values("figure9", "space")) == (gradient, {"s3"})
    for name, method in (("figure10", "gdas"), ("figure11", "pc-darts")):
        assert (values(name, "optimizer"), values(name, "space")) == ({method}, {"s1", "s2"})
    for name in ("figure9", "figure10", "figure11"):
        assert values(name, "cutout_probability") == {0.0, 1.0}


@pytest.mark.parametrize("preset", ["corrected", "original"])
@pytest.mark.parametrize("name", ["figure9", "figure10", "figure11"])
def test_cutout_has_its_published_constant_probability(name, preset, tmp_path):
    """In the published code, the cutout schedule has no effect (DARTS) or is missing (GDAS, PC-DARTS)."""
    for job in planned(name, tmp_path, preset=preset, channels=4, cells=1, seeds=[0]):
        state = begin(search_options(job.options))
        probabilities = {state.augmentation(epoch).cutout_probability for epoch in range(1, job.units + 1)}
        assert probabilities == {1.0 if job.curve == "cutout" else 0.0}


def test_the_full_scale_uses_the_settings_of_the_paper(tmp_path):
    jobs = planned("figure2", tmp_path, only=["darts"], scale="full")
    assert len(jobs) == 18
    assert {job.options["seed"] for job in jobs} == set(range(6))
    wanted = {"channels": 16, "cells": 9, "epochs": 50, "images": "cifar10", "images_per_half": None}
    wanted |= {"weight_decay": 3e-4, "cutout_probability": 0.0, "preset": "corrected", "threads": 1}
    for job in jobs:
        assert {name: job.options[name] for name in wanted} == wanted


def test_at_full_scale_every_method_uses_its_defaults(tmp_path):
    """Batch size 96, or 64 for sampling methods; 1,000 candidates of random search (appendix C)."""
    found = {job.curve: job.options for job in planned("figure2", tmp_path, only=["s1"], scale="full", seeds=[0])}
    assert {name: options["batch_size"] for name, options in found.items()} == {
        "darts": 96,
        "gdas": 96,
        "pc-darts": 96,
        "enas": 64,
        "random-ws": 64,
    }
    assert (found["random-ws"]["candidates"], found["random-ws"]["finalists"]) == (1000, 5)
    assert (found["pc-darts"]["partial_channels"], found["darts"]["partial_channels"]) == (4, 1)


def test_at_quick_scale_every_figure_is_small(tmp_path):
    for name, figure in FIGURES.items():
        for job in planned(name, tmp_path):
            options = job.options
            assert job.units == figure.quick.options["epochs"] == 15 * figure.full.options["epochs"] // 50, name
            assert (options["images"], options["images_per_half"]) == ("cifar10-sample", None)
            assert options.get("candidates", 0) <= 100


@pytest.mark.parametrize(("name", "epochs"), [("long", 160), ("medium", 40)])
def test_between_quick_and_full_every_figure_has_ten_seeds_and_official_images(name, epochs):
    for figure in FIGURES.values():
        scale = figure.scales[name]
        assert scale.seeds == tuple(range(10)) and scale.panels == figure.full.panels
        found = search_options({**scale.options, "seed": 0}).common
        assert (found.images, found.images_per_half, found.image_side) == ("cifar10", 10_000, 16)
        assert (found.channels, found.cells) == (8, 3)
        assert found.epochs == epochs * figure.full.options["epochs"] // 50


def test_the_first_seeds_of_all_curves_come_first(tmp_path):
    jobs = planned("figure9", tmp_path, only=["darts"])
    assert [job.name for job in jobs] == [
        "darts/no-cutout/seed-0",
        "darts/cutout/seed-0",
        "darts/no-cutout/seed-1",
        "darts/cutout/seed-1",
    ]
    assert jobs[1].folder == tmp_path / "darts" / "cutout" / "seed-0"


def test_given_options_override_the_figure(tmp_path):
    for job in planned("figure8", tmp_path, only=["first-order"], epochs=3, precision="bfloat16", seeds=[7]):
        assert (job.units, job.options["precision"], job.options["seed"]) == (3, "bfloat16", 7)


@pytest.mark.parametrize(
    ("only", "left"),
    [
        ((), 15),
        (("s1",), 5),
        (("gdas",), 3),
        (("s1/gdas",), 1),
        (("s1/*darts", "s2"), 7),
        (("*",), 15),
    ],
)
def test_a_part_of_a_figure_consists_of_panels_or_curves(only, left):
    assert len(open_figure("figure2", only).selected("full").pairs()) == left


@pytest.mark.parametrize(
    ("only", "left"), [((), 12), (("cifar10",), 4), (("cifar10", "tpe"), 7), (("cifar10/tpe",), 1), (("random",), 3)]
)
def test_a_panel_has_the_usual_curves_of_its_figure(only, left):
    """Four of nine methods on three data sets are usual; the others have to be named."""
    assert len(open_figure("nats-figure6", only).selected("full").pairs()) == left


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["figure6"], "figure2"),
        (["table1"], "table1 figure2"),
        (["tab2"], "tab2 table2 figure2"),
        (["fig10"], "fig10 figure10 figure2 figure3"),
        (["figure18"], "figure18 figure2"),
        (["figure2", "--only", "darst"], "figure2 darst darts"),
        (["figure2", "--only", "s1,gdsa"], "figure2 gdsa gdas"),
        (["figure2", "--scale", "qick"], "qick quick"),
        (["figure9", "--scale", "quick", "--only", "darts", "--epochs", "0"], "--epochs 1,000,000 0"),
        (["figure9", "--scale", "quick", "--seeds", "a"], "--seeds 'a'"),
        (["figure9", "--scale", "quick", "--only", "darts", "--workers", "0"], "--workers 0"),
        (["figure9", "--scale", "quick", "--only", "darts", "--table", "/nowhere"], "/nowhere"),
        (["figure9", "--only", "darts"], "cifar10-sample"),
        (["figure9", "--scale", "quick", "--images", "nowhere.npz"], "nowhere.npz"),
        (["figure9", "--spread", "sem"], "spread 'sem' ci quartiles range std"),
        (["figure16", "--spread", "ci"], "--spread figure16"),
        (["figure17", "--spread", "std"], "--spread figure17"),
        (["nas201-figure6", "--spread", "std"], "--spread nas201-figure6"),
    ],
)
def test_bad_input_is_reported_in_one_sentence_and_writes_nothing(tmp_path, monkeypatch, capsys, arguments, values):
    monkeypatch.chdir(tmp_path)
    with exits(capsys, *values.split()):
        cli.main(["reproduce", *arguments])
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "taken").write_text("mine")
    with refuses(nb.InvalidInputError, tmp_path / "taken", options="out"):
        reproduce_figure("figure9", scale="quick", out=tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.parametrize("seeds", [[], [0, 0]])
def test_seeds_must_be_non_empty_and_distinct(tmp_path, seeds):
    with refuses(nb.InvalidInputError, options="seeds"):
        reproduce_figure("figure9", scale="quick", out=tmp_path / "new", seeds=seeds)
    assert list(tmp_path.iterdir()) == []


def test_without_a_name_the_figures_are_listed(capsys):
    cli.main(["reproduce"])
    lines = capsys.readouterr().out.splitlines()
    names = [line for line in lines[: lines.index("")] if not line.startswith(" ")]
    assert [line.split(":")[0] for line in names] == list(ALL_FIGURES)
    numbers = [2, 3, 4, 5, *range(7, 18)]
    last = ["table2", "nas101-figure7", "nas101-figure8", "nas201-figure6"]
    last += [f"nas201-{part}" for part in ("table5", "table7", "figure7", "figure8")]
    last += [f"nats-{part}{space}" for part in ("figure6", "figure7", "table4") for space in ("", "-size")]
    last += ["methods", "methods-nb201", "methods-size", "nas201-collapse", "longer-searches", "tuners"]
    assert list(ALL_FIGURES) == [*(f"figure{number}" for number in numbers), *last]
    assert "full: 90 × 50 epochs" in lines[1]
    assert "  long: 180 × 160 to 640 epochs" in lines and "  medium: 180 × 40 to 160 epochs" in lines
    titles = {line.partition(" ")[2] for line in names}
    assert len(titles) == len(ALL_FIGURES)
    assert "90 searches of 50 epochs each" in lines[-3]
    assert max(map(len, lines)) <= 80


def test_the_help_names_the_figure_in_words(capsys):
    cli.main(["reproduce", "--help"])
    said = capsys.readouterr().out
    assert not missing(said, "nb1shot1 reproduce [FIGURE] [OPTIONS]", "figures")


def test_reproducible_and_other_figures_cover_the_paper():
    drawn = [int(name.removeprefix("figure")) for name in ALL_FIGURES if name.startswith("figure")]
    assert sorted([*OTHER_FIGURES, *drawn]) == list(range(1, 18))


def test_a_part_has_its_own_files():
    assert stem("figure2", ()) == "figure2"
    names = [("s1",), ("s1", "gdas"), ("s1/gdas",), ("s1/*darts",), ("s1/gdas",) * 30, ("s1/gdas",) * 31]
    stems = [stem("figure2", only) for only in names]
    assert stems[:3] == ["figure2-s1", "figure2-s1+gdas", "figure2-s1-gdas"]
    assert len(set(stems)) == len(stems)
    assert all(len(each) < 100 and "/" not in each and "*" not in each for each in stems)


def test_the_page_lists_every_figure_with_its_epochs_and_searches():
    page = (CHECKOUT / "docs" / "reproduce.md").read_text()
    rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("|")]
    numbers = {row[0]: [int(number) for number in row[3:]] for row in rows if row[0] in FIGURES}
    wanted = {}
    for name, figure in FIGURES.items():
        curves, epochs = len(figure.full.pairs()), [scale.options["epochs"] for scale in figure.scales.values()]
        full, long, medium, quick = epochs
        wanted[name] = [full, 6 * curves, long, medium, 10 * curves, quick, 2 * curves]
    assert numbers == wanted


def test_a_dry_run_reports_the_duration_and_writes_nothing(tmp_path, monkeypatch, capsys):
    shrink(monkeypatch)
    monkeypatch.setattr(estimate, "seconds_per_epoch", lambda options: 20.0)  # the measured time depends on the load
    run_jobs_here(monkeypatch)
    reproduce(tmp_path / "figure", "--dry-run")
    said = capsys.readouterr().out
    assert "figure12, quick scale: 4 searches of 15 epochs\n" in said
    lines = [line.split() for line in said.splitlines() if "weight-decay-81e-4" in line]
    assert lines[0][1:3] == ["2", "60"]  # 2 × 15 epochs of 2 steps
    assert lines[1][1] == "10" and "expected minutes" in said  # 2 × 305 s
    assert "This will take about 20 min on this machine." in said
    assert not (tmp_path / "figure").exists()


@pytest.mark.parametrize(
    ("name", "only", "work"),
    [
        ("figure12", "darts/weight-decay-1e-4", "1 search of 50 epochs"),
        ("figure17", "cells-3/channels-2", "1 proxy of 150 architectures"),
    ],
)
def test_a_dry_run_of_the_papers_setting_does_not_need_the_official_images(
    tmp_path, capsys, monkeypatch, name, only, work
):
    small = {"channels": 2, "cells": 1} if name == "figure12" else {}
    figure = ALL_FIGURES[name]
    monkeypatch.setitem(
        ALL_FIGURES, name, replace(figure, full=replace(figure.full, options=figure.full.options | small))
    )
    cli.main(["reproduce", name, "--only", only, "--seeds", "0", "--out", str(tmp_path / "new"), "--dry-run"])
    said = capsys.readouterr().out
    assert not missing(said, work, "random images of the size of cifar10", "CIFAR-10 is not installed", "download")
    assert list(tmp_path.iterdir()) == []


def test_the_disk_space_of_a_search_is_that_of_its_files(tmp_path):
    given = {**TINY, "channels": 16, "cells": 3, "epochs": 2, "keep_weights_every": 1, "device": "cpu"}
    (job,) = planned("figure12", tmp_path, only=["darts/weight-decay-1e-4"], seeds=[0], **given)
    expected = job.of.work(job).disk
    run = nb.search(out=tmp_path / "run", console=Console(quiet=True), **job.options)
    actual = sum(path.stat().st_size for path in run.folder.rglob("*"))
    assert actual / 2 < expected < 2 * actual


def test_the_time_of_several_workers_ends_with_the_last():
    assert makespan([3, 3, 3], 1) == 9
    assert makespan([3, 3, 3], 2) == 6
    assert makespan([1, 5, 1, 1], 2) == 5
    assert makespan([2], 4) == 2


def test_the_estimate_is_corrected_by_measured_durations(tmp_path, monkeypatch):
    """Two workers, 4 searches of 2 epochs, expected 10 s per epoch and 5 s to start: 50 s; in fact twice as long."""
    shrink(monkeypatch)
    clock, said = [100.0], io.StringIO()
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    jobs = planned("figure12", tmp_path, only=ONLY, epochs=2)
    watcher = FigureProgress(jobs, {jobs[0].pace: 10.0}, 2, Console(file=said, force_terminal=True, width=100))
    with watcher:
        assert watcher.seconds_left() == pytest.approx(50)
        for job in jobs[:2]:
            job.folder.mkdir(parents=True)
            (job.folder / "metrics.jsonl").write_text('{"epoch": 0}\n{"epoch": 1}\n{"epoch": 2, "tr')
        clock[0] += 20  # for one epoch of each of two searches: 20 s of work
        watcher.tick(jobs[:2])
        assert watcher.seconds_left() == pytest.approx(2 * 40)
        watcher.failed(jobs[0], "no reason")
    assert not missing(said.getvalue(), "2/8", "0/4", "1/4", jobs[0].name, "reason")


def call_here(function, *arguments):
    return function(*arguments)


@pytest.mark.parametrize("name", ALL_FIGURES)
def test_every_figure_has_jobs_at_all_its_scales(tmp_path, name):
    for scale in ALL_FIGURES[name].scales:
        figure = open_figure(name).on_table(scale, {}, call_here)
        jobs = figure.jobs(scale, tmp_path, {}, [0], call_here)
        assert len({job.folder for job in jobs}) == len(jobs) > 0


@pytest.mark.parametrize(
    ("scale", "lengths"), [("full", [50, 100, 200]), ("long", [160, 320, 640]), ("medium", [40, 80, 160])]
)
def test_longer_searches_differ_only_in_their_epochs(tmp_path, scale, lengths):
    jobs = planned("longer-searches", tmp_path, scale=scale, seeds=[0], images="cifar10-sample")
    assert len(jobs) == 2 * 3 * 3
    for panel in {job.panel for job in jobs}:
        own = {job.curve: job.options for job in jobs if job.panel == panel}
        assert [own[f"epochs-{length}"]["epochs"] for length in (50, 100, 200)] == lengths
        rest = [{name: value for name, value in each.items() if name != "epochs"} for each in own.values()]
        assert rest[0] == rest[1] == rest[2]


@pytest.mark.parametrize("width", [74, 80, 84, 120])
def test_a_summary_does_not_break_words_where_they_fit_the_console(width):
    columns = {
        "panel": "100-epochs",
        "curve": "without-none",
        "seeds": "10",
        "final test regret": "12.30 [12.30, 29.31]",
        "skips": "4.80 [4.20, 5.40]",
        "zeroized": "0.50 [0.10, 1.00]",
        "all skips": "3 of 10",
        "no path": "0 of 10",
    }
    rows = [list(columns.values()), ["25-epochs", "base", "5", "0", "0", "0", "0 of 1", "0 of 1"]]
    results = SimpleNamespace(headings=lambda: list(columns), rows=lambda: rows, WHOLE=(), _lines_below=lambda of: [])
    shown = io.StringIO()
    Results.show(results, Console(file=shown, width=width))  # type: ignore[arg-type]
    lines = shown.getvalue().splitlines()
    words = " ".join(lines).replace("│", " ").replace("┃", " ").split()
    assert max(map(len, lines)) <= width
    assert set(" ".join([*columns, *(cell for row in rows for cell in row)]).split()) <= set(words)
    assert ("┃" in shown.getvalue()) == (width >= 83)
