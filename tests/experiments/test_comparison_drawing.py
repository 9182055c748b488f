"""Figure, files and printed output of a comparison."""

from dataclasses import replace
from pathlib import Path

import compared_runs as make
import numpy as np
import pandas
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.cli import main
from nasbench1shot1.display.colours import METHODS, MOST_BANDS, curve_styles
from nasbench1shot1.experiments.comparison.comparing import compare_runs, compare_tasks
from nasbench1shot1.experiments.comparison.drawing import caption, comparison_figure, has_mean_line
from nasbench1shot1.ground.files import write_json
from nasbench1shot1.registry import BUILT_IN

TABLES = {"comparison.csv", "comparison-curves.csv", "rank_tests.csv", "table.md", "table.tex", "methods.txt"}
RANKS = [(50, 40, 30), (55, 45, 5), (59, 3, 33)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    make.search(out / "one", (40, 30, 20, 10, 0), optimizer="gdas")
    make.search(out / "stopped", (40, 30), finished=False)
    make.group(out / "seeds", RANKS, epochs=2)
    make.black_box(out / "random", repeats=10)
    make.black_box(out / "local", "local-search")
    return out


def test_compare_draws_on_given_axes_and_returns_them(folder):
    axes = Figure().add_subplot()
    drawn = nb.compare([folder / "one", nb.open_run(folder / "seeds")], labels=["mine", "theirs"], ax=axes)
    assert drawn is axes
    (mine, theirs), curves = axes.get_lines(), compare_runs([folder / "one", folder / "seeds"]).curves
    np.testing.assert_allclose(mine.get_ydata(), 100 * curves["gdas"].centre)
    np.testing.assert_allclose(theirs.get_ydata(), 100 * curves["darts"].centre)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["mine (n = 1)", "theirs (n = 3)"]
    assert axes.get_legend().get_title().get_text() == "mean and range"
    assert axes.get_ylabel() == "mean test regret [%] (predicted)"
    assert to_hex(mine.get_color()) == METHODS["gdas"] and to_hex(theirs.get_color()) == METHODS["darts"]
    assert len(axes.collections) == 1, "a band for the three seeds, none for the single run"


def test_the_figure_explains_its_bands_and_names_unfinished_runs(folder):
    found = compare_runs([folder / name for name in ("seeds", "random", "stopped")], ["a", "b", "c"])
    text = caption(found)
    assert "Lines and bands: mean and 95 % confidence interval (n < 6: range) over n runs." in text
    assert "Unfinished runs, shown as far as recorded: c (1 of 4 epochs)." in text
    assert (
        f"table {found.facts.table} (final regrets: " in text and "; along the curves of searches: predicted)." in text
    )
    figure = comparison_figure(found)
    axes = figure.axes[0]
    assert figure.caption == text
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "a (one-shot, n = 3)",
        "b (black-box, n = 10)",
        "c (one-shot, n = 1, unfinished)",
        f"mean over the space ({100 * found.mean:.2f} %)",
    ]
    assert "mean and 25 % to 75 % quantiles" in caption(compare_runs([folder / "random"], spread="quartiles"))
    assert "One run per curve." in caption(compare_runs([folder / "one"]))


def test_the_mean_regret_of_the_space_is_drawn_unless_it_flattens_the_curves(folder, tmp_path):
    table, (low, high) = nb.load_table(), ((2, 1, 0), (59, 58, 57))
    mean = table.mean_regret("s1")
    for number, (ranks, is_drawn) in enumerate(((low, False), (high, True))):
        found = compare_runs([make.search(tmp_path / str(number), ranks, finished=False)])
        assert found.mean == mean
        figure = comparison_figure(found)
        label = f"mean over the space ({100 * mean:.2f} %)"
        drawn = [line for line in figure.axes[0].get_lines() if line.get_label() == label]
        assert [list(line.get_ydata()) for line in drawn] == ([[100 * mean] * 2] if is_drawn else [])
        assert (label in [text.get_text() for text in figure.legends[0].get_texts()]) == is_drawn
        assert f"mean test regret of all networks of the space ({100 * mean:.2f} %)." in figure.caption
        assert ("Dash-dot-dot line" in figure.caption) == is_drawn
        axes = nb.compare([tmp_path / str(number)], ax=Figure().add_subplot())
        assert len(axes.get_lines()) == 1, "given axes show the runs alone"


def test_many_curves_have_no_bands(folder, tmp_path):
    groups = [make.group(tmp_path / str(number), [(1, 2), (3, 4)]) for number in range(MOST_BANDS + 1)]
    axes = nb.compare(groups)
    assert not axes.collections and len(axes.get_lines()) == MOST_BANDS + 1
    assert "bands are omitted if there are more than 3 curves" in axes.figure.caption


def test_the_mean_regret_of_the_space_is_compared_with_what_is_drawn(folder, tmp_path):
    groups = [make.group(tmp_path / str(number), [(1, 2), (59, 58)]) for number in range(MOST_BANDS + 1)]
    for several, has_bands in ((groups[1:], True), (groups, False)):
        found = compare_runs(several)
        curve, band = (max(getattr(of, name).max() for of in found.curves.values()) for name in ("centre", "high"))
        assert band > 1.2 * curve
        assert has_mean_line(replace(found, mean=1.4 * curve))
        assert has_mean_line(replace(found, mean=1.6 * curve)) == has_bands
        assert not has_mean_line(replace(found, mean=1.6 * band))


def test_more_than_five_runs_are_drawn_on_two_axes(folder, tmp_path):
    searches = [make.search(tmp_path / str(number), (40, 30 + number), finished=False) for number in range(7)]
    above, below = nb.compare(searches, labels=list("abcdefg"))
    assert [len(axes.get_lines()) for axes in (above, below)] == [5, 4], "with the mean of the space"
    assert [text.get_text()[0] for text in below.figure.legends[0].get_texts()] == list("abcdefgm"), "one legend"
    assert above.figure is below.figure and above.get_ylim() == below.get_ylim()
    given = Figure().subplots(2)
    assert nb.compare(searches, labels=list("abcdefg"), ax=given) == list(given)
    assert [len(axes.get_lines()) for axes in given] == [4, 3]
    assert given[0].get_ylim() == given[1].get_ylim(), "axes without shared limits"
    nb.compare([*searches[:5], folder / "seeds"], labels=list("abcdef"), ax=given)
    titles = [axes.get_legend().get_title().get_text() for axes in given]
    assert titles == ["", "mean and range"], "only the seeds have a band"
    with refuses(nb.InvalidInputError, "ax", "five"):
        nb.compare(searches, labels=list("abcdefg"), ax=3)
    with refuses(nb.InvalidInputError, "ax"):
        nb.compare(searches[:5], labels=list("abcde"), ax=given)


@pytest.mark.parametrize("over", ["search-time", "simulated-time"])
def test_all_curves_and_their_ends_are_within_the_limits(over, tmp_path):
    good = [make.search(tmp_path / f"good{number}", (5, 3 + number)) for number in range(3)]
    bad = [make.search(tmp_path / f"bad{number}", (59, 58, 57, 40 + number)) for number in range(3)]
    above, below = nb.compare([*good, *bad], labels=list("abcdef"), over=over)
    assert (
        "Rings: ends of runs that finish before the longest one; dotted lines: their results afterwards."
        in above.figure.caption
    )
    longest = max(max(line.get_xdata()) for line in below.get_lines())
    for axes in (above, below):
        (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        dotted = [line for line in axes.get_lines() if line.get_linestyle() == ":"]
        assert all((line.get_marker(), line.get_markevery()) == ("o", [0]) for line in dotted)
        assert {line.get_xdata()[-1] for line in dotted} <= {longest} and (dotted or axes is below)
        for line in (line for line in axes.get_lines() if not str(line.get_label()).startswith("mean over")):
            assert low <= min(line.get_ydata()) and max(line.get_ydata()) <= high
            assert left <= min(line.get_xdata()) and max(line.get_xdata()) <= right


@pytest.mark.parametrize("final", [1, None])
def test_the_dotted_line_of_an_early_stopped_search_is_at_its_result(final, tmp_path):
    stopped, longer = make.search(tmp_path / "stopped", (20, 9, 4)), make.search(tmp_path / "longer", (25, 14, 6, 3, 1))
    if final is not None:
        write_json(stopped.folder / "summary.json", {**stopped.summary, "final_epoch": final})
    axes = nb.compare([stopped.folder, longer.folder], labels=["stopped", "longer"], over="search-time")
    (dotted,) = (line for line in axes.get_lines() if line.get_linestyle() == ":")
    result = 100 * stopped.lines[2 if final is None else final]["test_regret"]
    assert dotted.get_ydata().tolist() == pytest.approx([result, result])


def test_progress_of_groups_and_studies_is_described_in_words(folder, tmp_path):
    group = make.group(tmp_path / "group", RANKS, started=2, epochs=2)
    (group.folder / "seed-1" / "summary.json").unlink()
    study = make.black_box(tmp_path / "study", repeats=3)
    (study.folder / "summary.json").unlink()
    config = study.folder / "config.json"
    config.write_text(config.read_text().replace('"repeats": 3', '"repeats": 8'))
    tuned = make.tuning(tmp_path / "tuned", finished=False)
    found = compare_runs([group.folder, study.folder, tuned.folder])
    assert [contender.entry.progress for contender in found.contenders] == [
        "seed 1 at 2 of 2 epochs, 1 of 3 seeds not started",
        "3 of 8 searches",
        f"{len(tuned.lines)} of {tuned.options.brackets.planned} searches",
    ]
    assert found.results["finished"].tolist() == [False, False, False]
    assert found.results["n"].tolist() == [2, 3, 1]


def test_every_built_in_method_has_a_colour_and_curves_of_one_colour_differ():
    names = [*BUILT_IN["optimizers"], *BUILT_IN["black_box_optimizers"]]
    assert set(names) <= set(METHODS)
    alone = [curve_styles([name])[0] for name in names]
    assert len({(look["color"], str(look["linestyle"]), look["marker"]) for look in alone}) == len(names)
    assert METHODS["random"] not in {METHODS[name] for name in BUILT_IN["optimizers"]}  # which draw validation in black
    looks = curve_styles(["darts"] * 10)
    assert {look["color"] for look in looks} == {METHODS["darts"]}
    assert len({(str(look["linestyle"]), look["marker"]) for look in looks}) == 10
    darts, mine, yours = curve_styles(["darts", "Mine", "Yours"])
    assert darts == curve_styles(["gdas", "darts"])[1], "independent of the other curves"
    assert len({darts["color"], mine["color"], yours["color"]}) == 3


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_command_writes_figure_and_tables(suffix, start, folder, tmp_path, capsys):
    out = tmp_path / "out"
    runs = [str(folder / name) for name in ("random", "local", "one")]
    main(["compare", *runs, "--labels", "RS,LS,mine", "--out", str(out), "--format", suffix])
    figures = {f"{name}.{suffix}" for name in ("comparison", "distribution")}
    assert {path.name for path in out.iterdir()} == {*figures, "distribution.csv", *TABLES}
    assert (out / f"comparison.{suffix}").read_bytes().startswith(start)
    found = compare_tasks(runs, ["RS", "LS", "mine"])
    pandas.testing.assert_frame_equal(pandas.read_csv(out / "comparison.csv"), found.results)
    pandas.testing.assert_frame_equal(pandas.read_csv(out / "rank_tests.csv"), found.rank_tests)
    shown = " ".join(capsys.readouterr().out.split())
    assert "Test regret [%], " in shown and "predicted; s1" in shown and " effect " in shown
    assert "Too few searches for a rank test (fewer than 5): mine (1 search)." in shown
    assert f"Written: {out / f'comparison.{suffix}'}" in shown


def test_an_earlier_comparison_is_replaced(folder, tmp_path):
    out = tmp_path / "out"
    main(["compare", str(folder / "one"), "--out", str(out), "--format", "svg"])
    main(["compare", str(folder / "seeds"), "--out", str(out)])
    assert {path.name for path in out.iterdir()} == {
        *("comparison.png", "distribution.png", "distribution.csv"),
        *TABLES,
    }
    assert pandas.read_csv(out / "comparison.csv")["label"].tolist() == ["darts"]
    assert pandas.read_csv(out / "rank_tests.csv").empty
