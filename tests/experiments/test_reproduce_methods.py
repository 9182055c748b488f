"""The comparisons of all one-shot methods: which methods on which spaces, regrets, baselines, rank tests, picture."""

import io
import json
import shutil
from dataclasses import replace

import numpy as np
import pandas
import pytest
from refusals import refuses
from rich.console import Console
from tiny_figures import TINY, planned, run_jobs_here, shrink
from tiny_search import FEW

import nasbench1shot1 as nb
from nasbench1shot1 import registry
from nasbench1shot1.display.curves import pool_values
from nasbench1shot1.experiments.reproduction.figure_jobs import open_figure
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.figures.methods import SHARED_OPTIONS, methods_on
from nasbench1shot1.experiments.reproduction.figures.parts import NAMES
from nasbench1shot1.experiments.reproduction.reproducing import reproduce
from nasbench1shot1.experiments.reproduction.results.methods import (
    ANYTIME,
    BEST,
    FINAL,
    MEASURES,
    RANDOM,
    measures,
    random_sampling,
)
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.tables.table import load_table

ONLY = ["nb201/gdas", "nb201/random-ws"]
SEEDS = [0, 1, 2, 3, 4]


def fits(method: str, space: str) -> bool:
    try:
        registry.optimizer(method).check_space(registry.one_shot(registry.search_space(space)))
    except UserError:
        return False
    return True


@pytest.mark.parametrize("space", ["s1", "s2", "s3", "nb201", "nats-size"])
def test_every_method_is_compared_on_every_space_that_it_can_search(space):
    assert list(methods_on(space)) == [name for name in registry.BUILT_IN["optimizers"] if fits(name, space)]


@pytest.mark.parametrize(("scale", "epochs"), [("full", 50), ("long", 160), ("medium", 40), ("quick", 15)])
def test_all_methods_have_the_size_of_the_scale_and_ten_seeds(scale, epochs, tmp_path):
    jobs = planned("methods-nb201", tmp_path, scale=scale, images="cifar10-sample")
    assert len(jobs) == 10 * len(methods_on("nb201"))
    wanted = {"epochs": epochs, "channels": 16 if scale == "full" else 8, "threads": 1, "scale": scale}
    for job in jobs:
        assert {name: job.options[name] for name in wanted} == wanted
    assert len({tuple(job.options[name] for name in SHARED_OPTIONS) for job in jobs}) == 1
    rates = {job.curve: job.options.get("architecture_learning_rate") for job in jobs}
    factor = (
        1 / 3 if scale == "full" else 2 / 3
    )  # by default, Λ-DARTS searches 100 epochs with 1e-4, DARTS 50 with 3e-4
    assert rates["lambda-darts"] == pytest.approx(factor * rates["darts"], rel=0.05)


def test_every_method_has_a_name_in_legends():
    assert set(NAMES) == set(registry.BUILT_IN["optimizers"])
    assert len(set(NAMES.values())) == len(NAMES)


def test_measures_of_a_search():
    frame = pandas.DataFrame({"test_regret": [0.4, 0.1, 0.2, 0.3], "validation_regret": [0.4, 0.2, 0.1, 0.3]})
    assert measures(frame) == {FINAL: 0.3, BEST: 0.2, ANYTIME: pytest.approx(0.25)}
    some = frame.assign(validation_regret=[np.nan, 0.2, np.nan, 0.3])
    assert measures(some)[BEST] == 0.1
    none = measures(frame.assign(validation_regret=np.nan))
    assert (none[FINAL], np.isnan(none[BEST])) == (0.3, True)


@pytest.mark.parametrize("lookups", [1, 16])
def test_random_sampling_draws_architectures_not_distinct_cells(lookups):
    table, space = load_table(), nb.search_space("s1")
    rows = table.rows(list(space))
    assert len(set(rows.tolist())) == space.count("unique") < len(rows) == len(space)
    test, validation = (np.array(table.regret(list(space), reference="s1", split=of)) for of in ("test", "validation"))
    guide = test if lookups == 1 else validation
    # Every architecture counts as a network of its own; the order of equal cells does not matter
    order, places = np.argsort(guide, kind="stable"), np.arange(len(rows) + 1) / len(rows)
    expected = float(test[order] @ -np.diff((1 - places) ** lookups))
    known = random_sampling(table, space, None, lookups)
    assert len(known.values) == space.count("unique")
    assert known.mean == pytest.approx(expected, rel=1e-9 if lookups == 1 else 2e-3)  # cells can have equal errors
    assert known.probabilities.sum() == pytest.approx(1, rel=1e-12)
    if lookups == 1:
        assert known.mean > table.mean_regret("s1") + 0.005
        assert known.std == pytest.approx(test.std(), rel=1e-9)


def test_random_sampling_has_the_expected_regret_of_the_best_of_several_draws():
    table = load_table("nb201")
    _, test = table.regrets("nb201", dataset="cifar10")
    once = random_sampling(table, nb.search_space("nb201"), "cifar10", 1)
    assert once.mean == pytest.approx(table.mean_regret("nb201", dataset="cifar10"), rel=1e-12)
    assert once.mean == pytest.approx(test.mean(), rel=1e-12)
    # E[min of k] = ∑ over sorted values of value × ((1 − i/n)^k − (1 − (i + 1)/n)^k), here by validation error
    objective = table.objective("cifar10")
    rows, guide = table.regrets("nb201", "validation_accuracy", objective.validation)
    test_of = dict(zip(*table.regrets("nb201", dataset="cifar10"), strict=True))
    ranked = np.array([test_of[row] for row in rows[np.argsort(guide, kind="stable")]])
    places = np.arange(len(ranked) + 1) / len(ranked)
    expected = float(ranked @ -np.diff((1 - places) ** 16))
    found = random_sampling(table, nb.search_space("nb201"), "cifar10", 16)
    assert found.mean == pytest.approx(expected, rel=1e-3)  # here, equal validation errors have an order
    rng, of_row = np.random.default_rng(0), {row: (error, test_of[row]) for row, error in zip(rows, guide, strict=True)}
    pairs = np.array(list(of_row.values()))
    drawn = pairs[rng.integers(len(pairs), size=(20_000, 16))]
    best = drawn[np.arange(len(drawn)), drawn[:, :, 0].argmin(axis=1), 1]
    assert found.mean == pytest.approx(best.mean(), abs=4 * best.std() / np.sqrt(len(best)))
    assert found.ridits(best).mean() == pytest.approx(0.5, abs=4 * np.sqrt(1 / 12 / len(best)))
    assert found.probabilities.sum() == pytest.approx(1, rel=1e-12)


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The folder of a finished comparison of two methods with five seeds, and what it printed."""
    folder, screen = tmp_path_factory.mktemp("methods") / "out", io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        run_jobs_here(patch)
        shrink(patch, "methods-nb201", {**TINY, "epochs": 2, "threads": 1})
        quick = replace(FIGURES["methods-nb201"].quick, by_optimizer={"random-ws": FEW})
        patch.setitem(FIGURES, "methods-nb201", replace(FIGURES["methods-nb201"], quick=quick))
        console = Console(file=screen, width=120)
        picture = reproduce("methods-nb201", scale="quick", out=folder, only=ONLY, seeds=SEEDS, console=console)
    return picture, screen.getvalue()


def test_the_table_has_every_measure_with_its_interval_and_the_baseline(compared):
    picture, screen = compared
    frame = pandas.read_csv(picture.with_suffix(".csv")).set_index("curve")
    assert list(frame.index) == ["gdas", "random-ws", RANDOM]
    runs = [nb.open_run(picture.parent / "nb201" / "gdas" / f"seed-{seed}") for seed in SEEDS]
    final = np.array([run.lines[-1]["test_regret"] for run in runs])
    row = frame.loc["gdas"]
    assert row["final_mean"] == pytest.approx(final.mean()) and row["final_std"] == pytest.approx(final.std(ddof=1))
    assert row["final_low"] <= row["final_mean"] <= row["final_high"]
    elsewhere = [run.lines[-1]["other_datasets"]["cifar100"]["test_regret"] for run in runs]
    assert row["final_cifar100_test_regret"] == pytest.approx(np.mean(elsewhere))
    assert row["final_measured"] == 1 and row["seeds"] == 5 and row["seconds"] > 0
    assert frame.loc[RANDOM, "final_mean"] > frame.loc[RANDOM, "best_seen_mean"] > 0 and frame.loc[RANDOM, "seeds"] == 0
    assert "random sampling" in screen and "Mann–Whitney" in screen
    summary = picture.with_suffix(".md").read_text()
    assert "| final test regret [%] | best seen [%] | anytime [%] |" in summary and "\nin brackets: range\n" in summary


def test_every_search_has_a_row_with_its_last_architecture(compared):
    picture, _ = compared
    frame = pandas.read_csv(picture.with_name(f"{picture.stem}-searches.csv"))
    rows = list(zip(frame["curve"], frame["seed"], strict=True))
    assert rows == [(method, seed) for method in ("gdas", "random-ws") for seed in SEEDS]
    for row in frame.itertuples():
        run = nb.open_run(picture.parent / "nb201" / str(row.curve) / f"seed-{row.seed}")
        last = run.lines[-1]
        assert (row.final, row.final_architecture) == (pytest.approx(last["test_regret"]), last["architecture"])
        assert row.best_seen == pytest.approx(measures(run.metrics)[BEST])
        assert row.distinct_networks == len({line["cell_hash"] for line in run.lines})
        assert row.anytime == pytest.approx(run.metrics["test_regret"].mean())
        assert row.final_cell_hash == nb.Architecture.parse(last["architecture"]).network_id
        assert row.final_one_shot_validation_error == pytest.approx(last["one_shot_validation_error"])
        assert row.final_test_measured == last["test_measured"]
    names = ("architecture", "cell_hash", "test_measured", "one_shot_validation_error")
    columns = ["panel", "curve", "seed", *MEASURES, "distinct_networks", *(f"final_{name}" for name in names)]
    assert list(frame) == columns
    assert set(frame["panel"]) == {"nb201"}


def test_a_table_without_validation_accuracies_has_no_best_seen_regrets(tmp_path, monkeypatch):
    run_jobs_here(monkeypatch)
    own = {"channels": 64, "cells": 3, "image_side": 8, "images_per_half": 20, "batch_size": 10}
    shrink(monkeypatch, "methods-size", {"scale": "quick", "epochs": 2, "threads": 1, **own})
    screen, out = io.StringIO(), tmp_path / "out"
    only, console = ["nats-size/tas", "nats-size/tunas"], Console(file=screen, width=120)
    picture = reproduce("methods-size", scale="quick", out=out, only=only, seeds=[0, 1], console=console)
    frame = pandas.read_csv(picture.with_suffix(".csv")).set_index("curve")
    runs = [nb.open_run(out / "nats-size" / "tas" / f"seed-{seed}") for seed in (0, 1)]
    regrets = [run.lines[-1]["test_regret"] for run in runs]
    assert frame.loc["tas", "final_mean"] == pytest.approx(np.mean(regrets))
    assert frame["best_seen_mean"].isna().all()
    table, space = nb.load_table("nats-size"), "nats-size"
    assert frame.loc[RANDOM, "final_mean"] == pytest.approx(table.mean_regret(space, dataset="cifar10"))
    assert "best-seen" not in screen.getvalue()
    largest = frame.loc["always the largest network"]
    for column, dataset in {
        "final_mean": "cifar10",
        "final_cifar100_test_regret": "cifar100",
        "final_ImageNet16-120_test_regret": "ImageNet16-120",
    }.items():
        assert largest[column] == pytest.approx(table.regret("64:64:64:64:64", dataset=dataset))
        assert frame.loc[RANDOM, column] == pytest.approx(table.mean_regret(space, dataset=dataset))
    assert (largest["seeds"], largest["final_measured"], np.isnan(largest["seconds"])) == (0, 1, True)
    assert "always the largest network" in screen.getvalue()
    figure = open_figure("methods-size", only)
    jobs = figure.jobs("quick", out, {}, [0, 1], lambda function, *rest: function(*rest))
    results = figure.results(jobs, figure.table(jobs, {}))
    assert set(results.baselines[space]) == {FINAL}
    drawn = results.draw()
    (axes,) = drawn.axes
    assert len(axes.containers) == 2, "final regrets of two methods"
    assert {text.get_text() for text in axes.get_yticklabels()} == {"TAS", "TuNAS"}
    (level,) = (line for line in axes.get_lines() if line.get_linestyle() == "-.")
    assert list(level.get_xdata()) == pytest.approx([25 / 100] * 2)  # of 64:64:64:64:64
    assert "always the largest network" in [text.get_text() for text in drawn.legends[0].get_texts()]
    assert "no best-seen regrets" in drawn.caption
    with refuses(nb.OutOfDomainError, table.id, "validation", options=""):
        random_sampling(table, nb.search_space(space), "cifar10", 2)
    preferred = {str(arch) for run in results.runs for arch in run.architectures}
    some = table.to_frame()
    some = some[some["architecture"].isin(preferred)].drop(columns=["trainable_parameters", "flops"])
    without_parameters = nb.table_from_frame(some, space=nb.search_space(space), reference="present")
    assert "always the largest network" not in list(figure.results(jobs, without_parameters).frame["curve"])


def test_rank_tests_compare_all_pairs_and_random_sampling(compared):
    picture, _ = compared
    tests = pandas.read_csv(picture.with_name(f"{picture.stem}-rank-tests.csv"))
    methods = [("gdas", "random-ws")]
    pairs = [*methods, ("gdas", RANDOM), ("random-ws", RANDOM)]
    found = {name: list(zip(own["first"], own["second"], strict=True)) for name, own in tests.groupby("measure")}
    assert found == {FINAL: pairs, BEST: pairs, ANYTIME: methods}
    assert (tests["p_holm"] >= tests["p"]).all()
    assert (tests["n_second"] == np.where(tests["second"] == RANDOM, 0, len(SEEDS))).all()


def test_the_picture_shows_both_regrets_of_every_method_and_both_baselines(compared, tmp_path, monkeypatch):
    picture, _ = compared
    shrink(monkeypatch, "methods-nb201", {**TINY, "epochs": 2, "threads": 1})
    figure = open_figure("methods-nb201", ONLY)
    jobs = figure.jobs("quick", picture.parent, {}, SEEDS, lambda function, *rest: function(*rest))
    table = figure.table(jobs, {})
    drawn = figure.results(jobs, table).draw()
    (axes,) = drawn.axes
    assert [text.get_text() for text in axes.get_yticklabels()] in (["GDAS", "Random WS"], ["Random WS", "GDAS"])
    assert len(axes.containers) == 4, "final and best-seen regret of two methods"
    mean = 100 * table.mean_regret("nb201", dataset="cifar10")
    dotted, dashed = (float(line.get_xdata()[0]) for line in axes.get_lines() if line.get_linestyle() in (":", "--"))
    assert dotted == pytest.approx(mean) and dashed < dotted
    assert "5 seeds" in drawn.title and "After" not in drawn.title


def test_one_very_large_regret_does_not_hide_the_others(compared, monkeypatch):
    picture, _ = compared
    shrink(monkeypatch, "methods-nb201", {**TINY, "epochs": 2, "threads": 1})
    figure = open_figure("methods-nb201", ONLY)
    jobs = figure.jobs("quick", picture.parent, {}, SEEDS, lambda function, *rest: function(*rest))
    results = figure.results(jobs, figure.table(jobs, {}))
    (axes,) = results.draw().axes
    assert axes.get_xscale() == "linear" and axes.get_xlim()[0] == 0
    results.pooled["nb201", "gdas"][FINAL] = pool_values([0], np.array([[0.84], [0.0], [0.02], [0.02], [0.02]]))
    drawn = results.draw()
    (axes,) = drawn.axes
    assert axes.get_xscale() == "log" and "log scale" in axes.get_xlabel() and "cut at the left end" in drawn.caption
    low, high = axes.get_xlim()
    assert 0 < low < 2 and high > 84


def test_a_scale_that_a_figure_does_not_have_is_refused(tmp_path):
    with refuses(nb.InvalidInputError, "figure5 has no long scale"):
        reproduce("figure5", scale="long", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def own_searches(compared, tmp_path_factory):
    """A folder of searches as large as those of the comparison: a group of five, and single ones with other options."""
    folder = tmp_path_factory.mktemp("own")
    common = {**TINY, "epochs": 2, "threads": 1, "optimizer": "gdas", "space": "nb201", "draws": 2}
    with pytest.MonkeyPatch.context() as patch:
        run_jobs_here(patch)
        console = Console(quiet=True)
        nb.search_seeds(SEEDS, out=folder / "group", console=console, **common)
        nb.search_seeds([5], out=folder / "larger", console=console, **{**common, "channels": 4})
        nb.search_seeds([5], out=folder / "other", console=console, **{**common, "draws": 3})
        nb.search_seeds([5], out=folder / "flooding", console=console, **common, flooding=0.5)
    return folder


def drawn_again(out, **options):
    """The screen and the folder of the comparison, drawn from its finished searches."""
    screen = io.StringIO()
    console = Console(file=screen, width=200)
    given = {"only": ONLY, "seeds": SEEDS, "draw_only": True, "console": console}
    with pytest.MonkeyPatch.context() as patch:
        run_jobs_here(patch)
        shrink(patch, "methods-nb201", {**TINY, "epochs": 2, "threads": 1})
        quick = replace(FIGURES["methods-nb201"].quick, by_optimizer={"random-ws": FEW})
        patch.setitem(FIGURES, "methods-nb201", replace(FIGURES["methods-nb201"], quick=quick))
        picture = reproduce("methods-nb201", scale="quick", out=out, **{**given, **options})
    return screen.getvalue(), picture


def test_own_searches_are_a_row_that_is_tested_against_all_others(compared, own_searches, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(compared[0].parent, folder)
    said, picture = drawn_again(folder, joined=[own_searches / "group"])
    frame = pandas.read_csv(picture.with_suffix(".csv")).set_index("curve")
    assert list(frame.index) == ["gdas", "random-ws", "gdas (joined)", RANDOM]
    runs = nb.open_run(own_searches / "group")
    assert frame.loc["gdas (joined)", "seeds"] == 5
    assert frame.loc["gdas (joined)", "final_mean"] == pytest.approx(
        np.mean([run.lines[-1]["test_regret"] for run in runs])
    )
    tests = pandas.read_csv(picture.with_name(f"{picture.stem}-rank-tests.csv"))
    of_final = tests[tests["measure"] == FINAL]
    pairs = [("gdas", "gdas (joined)"), ("random-ws", "gdas (joined)"), ("gdas (joined)", RANDOM)]
    assert list(zip(of_final["first"], of_final["second"], strict=True)) == pairs
    assert (of_final["p_holm"] >= of_final["p"]).all()
    assert "nb201: gdas (joined) has " in said and "Holm over 3 tests" in said
    assert "gdas (joined)" in pandas.read_csv(picture.with_name(f"{picture.stem}-searches.csv"))["curve"].to_list()


def test_one_own_search_is_not_tested_and_is_bold_in_the_picture(compared, own_searches, monkeypatch):
    shrink(monkeypatch, "methods-nb201", {**TINY, "epochs": 2, "threads": 1})
    figure = open_figure("methods-nb201", ONLY, [own_searches / "other" / "seed-5"])
    jobs = figure.jobs("quick", compared[0].parent, {}, SEEDS, lambda function, *rest: function(*rest))
    results = figure.results(jobs, figure.table(jobs, {}))
    assert results.rank_tests.empty
    assert "nb201/gdas (joined) is not tested, because it has fewer than 5 searches" in results.notes()
    assert results.seeds_text == "5 seeds"
    drawn = results.draw()
    (axes,) = drawn.axes
    bold = [text.get_text() for text in axes.get_yticklabels() if text.get_fontweight() == "bold"]
    assert bold == ["gdas (joined)"] and "in bold, joined searches: gdas (joined) (1 seed, " in drawn.caption
    assert "--draws\N{NO-BREAK SPACE}3" in drawn.caption


def test_significant_differences_are_listed_with_their_direction(compared, own_searches, monkeypatch):
    shrink(monkeypatch, "methods-nb201", {**TINY, "epochs": 2, "threads": 1})
    figure = open_figure("methods-nb201", ONLY, [own_searches / "group"])
    jobs = figure.jobs("quick", compared[0].parent, {}, SEEDS, lambda function, *rest: function(*rest))
    results = figure.results(jobs, figure.table(jobs, {}))
    values = np.arange(5) / 1000
    for curve, shift in (("gdas", 0.1), ("gdas (joined)", 0.05), ("random-ws", 0.0)):
        for of in MEASURES:
            results.samples["nb201", curve][of] = values + shift
    (line,) = (note for note in results.notes() if "anytime" in note)
    assert line == (
        "nb201: gdas (joined) has significantly lower anytime regrets than 1 of 2 others (gdas) and significantly "
        "higher anytime regrets than 1 of 2 others (random-ws); Mann–Whitney, Holm over 2 tests, p < 0.05"
    )


@pytest.mark.parametrize(
    ("folders", "words"),
    [
        (["larger"], "larger/seed-5' channels=4 channels=2 scale="),
        (["group", "copy/seed-0"], "copy/seed-0' group/seed-0' seed 0"),
        (["empty"], "no searches"),
        (["nowhere"], "no folder"),
        (["recorded"], "nb.Recorder nb.compare"),
        (["group", "images/seed-5"], "images/seed-5' group/seed-0' images_sha256"),
    ],
)
def test_own_searches_that_cannot_be_compared_are_refused(compared, own_searches, folders, words, tmp_path):
    (own_searches / "empty").mkdir(exist_ok=True)
    if not (own_searches / "recorded").exists():
        with nb.Recorder(own_searches / "recorded", nb.search_space("nb201")) as recorder:
            recorder.record(nb.search_space("nb201")[0])
        shutil.copytree(own_searches / "group" / "seed-0", own_searches / "images" / "seed-5")
        config = own_searches / "images" / "seed-5" / "config.json"
        content = json.loads(config.read_text())
        content["images_sha256"] = "0" * 64
        content["options"]["seed"] = 5
        config.write_text(json.dumps(content))
    if not (own_searches / "copy").exists():
        shutil.copytree(own_searches / "group" / "seed-0", own_searches / "copy" / "seed-0")
    before = sorted(path.name for path in compared[0].parent.iterdir())
    with refuses(nb.InvalidInputError, *words.split()):
        drawn_again(compared[0].parent, joined=[own_searches / name for name in folders])
    assert sorted(path.name for path in compared[0].parent.iterdir()) == before


def test_own_searches_of_a_space_that_is_not_shown_are_refused(own_searches):
    with refuses(nb.InvalidInputError, "group/seed-0' searched nb201", "shows s1 or s2"):
        open_figure("methods", ["s1", "s2/gdas"], [own_searches / "group"])
    with refuses(nb.InvalidInputError, "shows s1, s2 or s3"):
        open_figure("methods", [], [own_searches / "group"])


def test_searches_of_the_figure_itself_and_unfinished_groups_are_refused(compared, own_searches, tmp_path):
    folder = compared[0].parent
    with refuses(nb.InvalidInputError, "gdas/seed-1' is a search of the figure itself", "join="):
        drawn_again(folder, joined=[folder / "nb201" / "gdas" / "seed-1"])
    group = tmp_path / "group"
    shutil.copytree(own_searches / "group", group)
    shutil.rmtree(group / "seed-3")
    with refuses(nb.UserError, f"'{group}' has 4 finished searches, of 5", f'resume="{group}"'):
        drawn_again(folder, joined=[group])


def test_two_joined_methods_are_also_compared_with_each_other(compared, own_searches, monkeypatch, tmp_path):
    shrink(monkeypatch, "methods-nb201", {**TINY, "epochs": 2, "threads": 1})
    for module in ("a", "b"):  # records of two classes with the same name
        shutil.copytree(own_searches / "group", tmp_path / module)
        for config in (tmp_path / module).glob("seed-*/config.json"):
            config.write_text(config.read_text().replace('"gdas"', f'"{module}:Mine"'))
    figure = open_figure("methods-nb201", ONLY, [tmp_path / "a", tmp_path / "b"])
    jobs = figure.jobs("quick", compared[0].parent, {}, SEEDS, lambda function, *rest: function(*rest))
    results = figure.results(jobs, figure.table(jobs, {}))
    for curve, shift in (("gdas", 0.1), ("random-ws", 0.1), ("Mine", 0.05), ("b:Mine", 0.0)):
        for of in MEASURES:
            results.samples["nb201", curve][of] = np.arange(5) / 1000 + shift
    first, second = (note for note in results.notes() if "anytime" in note)
    assert (
        "Mine has significantly lower anytime regrets than 2 of 3 others (gdas, random-ws) and significantly" in first
    )
    assert "b:Mine has significantly lower anytime regrets than 3 of 3 others (gdas, random-ws, Mine); " in second
    assert "Holm over 5 tests" in first and "Holm over 5 tests" in second


def test_each_setting_of_an_optimizer_is_a_row_of_its_own(compared, own_searches, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(compared[0].parent, folder)
    names = ["flooding", "other", "group"]
    _, picture = drawn_again(folder, joined=[own_searches / name for name in names])
    frame = pandas.read_csv(picture.with_suffix(".csv")).set_index("curve")
    assert list(frame.index[2:-1]) == ["gdas --draws 2 --flooding 0.5", "gdas --draws 3", "gdas --draws 2"]
    assert list(frame["seeds"][2:-1]) == [1, 1, 5]
    assert picture.name.endswith("-joined.png") and (folder / compared[0].name).exists()
