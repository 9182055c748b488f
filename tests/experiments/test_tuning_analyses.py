"""Analyses of studies, compared with plain computations."""

import math

import numpy as np
import pandas
import pytest
from refusals import refuses
from synthetic_study import by_weight_decay, write_study

import nasbench1shot1 as nb
from nasbench1shot1.display.colours import METHODS
from nasbench1shot1.experiments.rescoring import rescore_study
from nasbench1shot1.experiments.tuning.best import best_configurations, best_of, transfer_table
from nasbench1shot1.experiments.tuning.trajectory import Curve, average, costs, draw_trajectories, trajectory
from nasbench1shot1.tables.table import load_table
from nasbench1shot1.tuning.record import Study


def diverges(configuration) -> bool:
    return configuration["learning_rate"] > 0.3


@pytest.fixture(scope="module")
def studies(tmp_path_factory) -> list[Study]:
    folder = tmp_path_factory.mktemp("studies")
    return [write_study(folder / str(seed), seed=seed, diverges=diverges, iterations=9) for seed in (0, 1, 2)]


def plain_trajectory(lines: list[dict]) -> list[tuple[float, int]]:
    """Time and number of every new incumbent."""
    clock, best, found = 0.0, math.inf, []
    for line in lines:
        clock += line["finished"] - line["started"] if line["loss"] is None else line["simulated_seconds"]
        if line["loss"] is not None and line["loss"] < best:
            best = line["loss"]
            found.append((clock, line["number"]))
    return [*found, (clock, found[-1][1])]


def test_a_trajectory_has_every_new_incumbent_and_the_end_time(studies):
    for study in studies:
        frame, expected = trajectory(study.observations), plain_trajectory(study.lines)
        assert list(frame["number"]) == [number for _, number in expected]
        assert list(frame["seconds"]) == pytest.approx([seconds for seconds, _ in expected])
        assert list(frame["test_regret"]) == [study.lines[number]["test_regret"] for _, number in expected]
        assert any(line["loss"] is None for line in study.lines)


def test_the_incumbent_is_chosen_by_loss_alone(studies):
    frame = studies[0].observations
    before = trajectory(frame)
    changed = trajectory(frame.assign(test_regret=-frame["test_regret"], table_test_error=0.5))
    assert list(changed["number"]) == list(before["number"])


def test_equal_losses_keep_the_first_incumbent_and_its_time():
    frame = pandas.DataFrame(
        {
            "number": [0, 1, 2, 3],
            "configuration_id": ["0-0-0", "0-0-1", "0-0-2", "0-0-3"],
            "budget": 25,
            "loss": [np.nan, 0.1, 0.1, 0.2],
            "validation_regret": [np.nan, 0.01, 0.01, 0.02],
            "test_regret": [np.nan, 0.03, 0.02, 0.01],
            "architecture": [None, "a", "b", "c"],
            "search_seconds": [np.nan, 1.0, 2.0, 3.0],
            "simulated_seconds": [np.nan, 10.0, 20.0, 30.0],
            "started": [0.0, 5.0, 6.0, 7.0],
            "finished": [5.0, 6.0, 7.0, 8.0],
        }
    )
    assert list(costs(frame)) == [5.0, 10.0, 20.0, 30.0]
    found = trajectory(frame)
    assert list(found["number"]) == [1, 1]
    assert list(found["seconds"]) == [15.0, 65.0]
    assert trajectory(frame.head(2))["seconds"].tolist() == [15.0]
    assert trajectory(frame.head(1)).empty


def test_times_of_a_table_and_of_this_machine_are_not_added(studies):
    frame = studies[0].observations.copy()
    known, walls = frame["architecture"].notna(), frame["finished"] - frame["started"]
    assert 0 < known.sum() < len(frame), "some searches diverged"
    assert list(costs(frame)) == list(frame["simulated_seconds"].where(known, walls))
    frame.loc[known.idxmax(), "simulated_seconds"] = np.nan  # the table lacks one training time
    assert list(costs(frame)) == list(walls)


def held(frame: pandas.DataFrame, seconds: float, name: str) -> float:
    value = math.nan
    for _, row in frame.iterrows():
        if row["seconds"] <= seconds:
            value = row[name]
    return value


def test_the_average_is_over_the_incumbents_at_every_time(studies):
    repetitions = [trajectory(study.observations) for study in studies]
    frame = average(repetitions)
    assert frame["seconds"].iloc[0] == max(of["seconds"].iloc[0] for of in repetitions)
    assert frame["seconds"].iloc[-1] == min(of["seconds"].iloc[-1] for of in repetitions)
    assert frame["seconds"].is_monotonic_increasing and len(frame) > 5
    for _, row in frame.iterrows():
        for name in ("test_regret", "validation_regret"):
            values = [held(of, row["seconds"], name) for of in repetitions]
            mean = sum(values) / 3
            assert row[f"{name}_mean"] == pytest.approx(mean)
            assert row[f"{name}_std"] == pytest.approx(math.sqrt(sum((v - mean) ** 2 for v in values) / 2))
    assert frame["validation_regret_mean"].is_monotonic_decreasing  # incumbents are chosen on validation


def test_black_box_runs_can_be_averaged_at_chosen_times(studies):
    runs = [
        pandas.DataFrame({"seconds": [1.0, 10.0, 100.0], "test_regret": [3.0, x, x], "validation_regret": [3.0, x, x]})
        for x in (1.0, 2.0)
    ]
    frame = average(runs, at=np.array([0.5, 5.0, 50.0, 500.0]))
    assert list(frame["seconds"]) == [5.0, 50.0]
    assert list(frame["test_regret_mean"]) == [3.0, 1.5]
    assert average(runs[:1])["test_regret_std"].isna().all()


@pytest.mark.parametrize("repetitions", [[], [pandas.DataFrame({"seconds": [], "test_regret": []})]])
def test_an_average_needs_incumbents(repetitions):
    with refuses(nb.InvalidInputError, "incumbent"):
        average(repetitions)


def test_the_picture_shows_zero_regret_and_the_default(studies):
    repetitions = [trajectory(study.observations) for study in studies]
    repetitions[0].loc[len(repetitions[0]) - 1, "test_regret"] = 0.0
    black_box = pandas.DataFrame({"seconds": [500.0, 5e4], "test_regret": [0.04, 0.02], "validation_regret": 0.03})
    curves = [
        Curve("darts", "DARTS", "darts", "tuned", repetitions),
        Curve("random", "random search", "random", "black-box", [black_box]),
    ]
    figure = draw_trajectories({"search space 1": curves}, "title", "caption", "predicted")
    axes = next(axes for axes in figure.axes if axes.lines)
    assert axes.get_yscale() == "log" and axes.get_xscale() == "log"
    steps, dots, other = axes.lines
    drawn = average(repetitions)
    assert list(steps.get_xdata()) == list(drawn["seconds"])
    assert list(steps.get_ydata()) == pytest.approx(list(100 * drawn["test_regret_mean"]))
    default = [study.lines[0] for study in studies]
    assert list(dots.get_ydata()) == pytest.approx([100 * np.mean([line["test_regret"] for line in default])])
    assert list(other.get_ydata()) == [4.0, 2.0]
    assert min(steps.get_ydata()) > axes.get_ylim()[0] > 0


def test_a_panel_with_many_methods_has_a_row_per_kind():
    frame = pandas.DataFrame({"seconds": [500.0, 5e4], "test_regret": [0.04, 0.02], "validation_regret": 0.03})
    methods = {"tuned": ["darts", "gdas", "pc-darts"], "black-box": ["random", "random", "tpe", "smac", "reinforce"]}
    curves = [
        Curve(f"{method} {number}", method, method, kind, [frame, frame])
        for kind, own in methods.items()
        for number, method in enumerate(own)
    ]
    figure = draw_trajectories({"s1": curves, "s2": curves[:4]}, "title", "caption", "predicted")
    axes = [axes for axes in figure.axes if axes.get_title()]
    assert [each.get_title() for each in axes] == ["s1: tuned", "s2: tuned", "s1: black-box", "s2: black-box"]
    assert [len(each.lines) for each in axes] == [3, 3, 5, 1]
    assert [len(each.collections) for each in axes] == [3, 3, 0, 1]  # bands
    styles = [[(line.get_color(), line.get_linestyle()) for line in each.lines] for each in axes]
    assert [colour for colour, _ in styles[0]] == [METHODS[name] for name in methods["tuned"]]
    assert [colour for colour, _ in styles[2]] == [METHODS[name] for name in methods["black-box"]]
    assert len(set(styles[0] + styles[2])) == len(curves)  # curves of one colour differ in line style
    assert all(each.get_ylim() == axes[0].get_ylim() for each in axes)


def test_trajectories_take_colours_and_labels():
    frame = pandas.DataFrame({"seconds": [500.0, 5e4], "test_regret": [0.04, 0.02], "validation_regret": 0.03})
    curves = [Curve(name, name.upper(), name, "tuned", [frame, frame]) for name in ("darts", "gdas")]
    texts: tuple[str, str, str] = ("title", "caption", "predicted")
    drawn = draw_trajectories({"s1": curves}, *texts, colors={"first": "red"}, labels=["first", "GDAS"])
    axes = next(axes for axes in drawn.axes if axes.lines)
    assert [line.get_color() for line in axes.get_lines()] == ["red", METHODS["gdas"]]
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == ["first", "GDAS"]
    assert drawn.caption.startswith("Shown: tuned: mean and range of 2 repetitions.\n")
    with refuses(nb.InvalidInputError, "3 labels", "2 curves"):
        draw_trajectories({"s1": curves}, *texts, labels=["a", "b", "c"])


def test_the_axis_of_time_says_what_the_times_are():
    curves = [Curve("darts", "DARTS", "darts", "tuned", [regrets_of(0.03)])]
    texts = ("title", "caption", "predicted")
    drawn = draw_trajectories({"s1": curves}, *texts)
    assert next(axes for axes in drawn.axes if axes.lines).get_xlabel().startswith("simulated time: ")
    drawn = draw_trajectories({"s1": curves}, *texts, clock="evaluations")
    assert next(axes for axes in drawn.axes if axes.lines).get_xlabel() == "evaluations"


def test_only_the_kind_whose_band_was_cut_says_so():
    ends = {"tuned": (0.04, 0.001), "black-box": (0.04, 0.03)}  # mean minus standard deviation: below and above zero
    curves = [
        Curve(kind, kind, method, kind, [regrets_of(end) for end in ends[kind]])
        for kind, method in (("tuned", "darts"), ("black-box", "random"))
    ]
    figure = draw_trajectories({"s1": curves}, "title", "caption", "predicted", spread="std")
    said = [line.removeprefix("Shown: ").removesuffix(".") for line in figure.caption.splitlines()[:2]]
    assert said == [
        "tuned: mean ± standard deviation (cut at 0), 2 repetitions",
        "black-box: mean ± standard deviation, 2 repetitions",
    ]


def regrets_of(end):
    return pandas.DataFrame({"seconds": [500.0, 5e4], "test_regret": [0.05, end], "validation_regret": 0.03})


def test_the_best_configurations_are_sorted_by_their_lowest_loss(studies):
    study = studies[0]
    names = list(study.config_space)
    best: dict[str, dict] = {}
    for line in study.lines:
        identity = line["configuration_id"]
        if line["loss"] is not None and (identity not in best or line["loss"] < best[identity]["loss"]):
            best[identity] = line
    expected = sorted(best.values(), key=lambda line: (line["loss"], line["number"]))[:5]
    frame = best_configurations(study.observations, names, count=5)
    assert list(frame["configuration_id"]) == [line["configuration_id"] for line in expected]
    assert list(frame["budget"]) == [line["budget"] for line in expected]
    assert list(frame["rank"]) == [1, 2, 3, 4, 5]
    for _, row in frame.iterrows():
        assert {name: row[name] for name in names} == study.configurations[row["configuration_id"]]
        assert row["is_default"] == (row["configuration_id"] == "0-0-0")


def test_the_best_configuration_of_a_budget_is_transferred(studies, tmp_path):
    study = studies[1]
    at_50 = [line for line in study.lines if line["budget"] == 50 and line["loss"] is not None]
    expected = min(at_50, key=lambda line: line["loss"])
    assert best_of(study, 50) == study.configurations[expected["configuration_id"]]
    with pytest.raises(nb.InvalidInputError, match=r"33 epochs.*give 25.*\b50\b.*\b100\b"):
        best_of(study, 33)
    unfinished = write_study(tmp_path / "unfinished", finished=False)
    with pytest.raises(nb.UserError, match=r"continue with resume="):
        best_of(unfinished, 50)
    failed = write_study(tmp_path / "failed", diverges=lambda _: True)
    with refuses(nb.UserError, "diverged"):
        best_of(failed, 50)
    assert trajectory(failed.observations).empty


def test_the_transfer_table_has_mean_and_standard_deviation():
    values = [0.01, 0.02, 0.06]
    frame = transfer_table({("s1", "darts-default"): values, ("s2", "darts-default"): [0.5]})
    assert frame.loc[0, "test_regret_mean"] == pytest.approx(0.03)
    assert frame.loc[0, "test_regret_std"] == pytest.approx(math.sqrt((0.02**2 + 0.01**2 + 0.03**2) / 2))
    assert math.isnan(frame.loc[1, "test_regret_std"]) and list(frame["runs"]) == [3, 1]


def test_rescoring_on_the_same_table_changes_nothing(studies):
    study = studies[2]
    frame = rescore_study(study, load_table())
    own = study.observations
    pandas.testing.assert_frame_equal(frame[list(own.columns)], own)
    assert not frame["test_measured"].any() and list(frame.columns).count("weight_decay") == 1


def test_a_synthetic_study_finds_the_best_weight_decay(studies):
    """The synthetic study has the properties that other tests assume."""
    for study in studies:
        frame = study.observations[study.observations["loss"].notna()]
        assert frame["weight_decay"].map(lambda x: by_weight_decay({"weight_decay": x})).corr(frame["loss"]) > 0.8
