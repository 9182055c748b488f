"""Figures and reports: drawn values equal the record, and predictions are marked."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas
import pytest
import tiny_search
from matplotlib.figure import Figure
from refusals import exits, refuses
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.display.colours import METHODS
from nasbench1shot1.experiments.reports import write_report
from nasbench1shot1.experiments.rescoring import rescore
from nasbench1shot1.ground.text import percent
from nasbench1shot1.one_shot_search.regret_curve import (
    anytime_regret,
    draw_anytime_regret,
    draw_one_shot_error,
    regret_figure,
)
from nasbench1shot1.one_shot_search.screen import format_regret
from nasbench1shot1.one_shot_search.seeds import search_seeds

TINY = {**tiny_search.TINY, "epochs": 2}


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[nb.Run]:
    out = tmp_path_factory.mktemp("seeds") / "group"
    return search_seeds([0, 1, 2], out=out, console=Console(quiet=True), **TINY)


def texts(figure: Figure) -> str:
    from matplotlib.text import Text

    return "\n".join(item.get_text() for item in figure.findobj(Text))


def test_several_seeds_are_separate_runs_drawn_as_mean_and_spread(runs):
    assert [run.config["seed"] for run in runs] == [0, 1, 2]
    assert len({str(run.lines) for run in runs}) == 3
    group = runs[0].folder.parent
    assert (group / "regret.png").read_bytes()[:4] == b"\x89PNG"
    frame = anytime_regret([run.metrics for run in runs]).frame
    values = np.array([run.metrics["test_regret"] for run in runs])
    assert np.allclose(frame["test_regret_mean"], values.mean(axis=0))
    assert np.allclose(frame["test_regret_std"], values.std(axis=0, ddof=1))
    assert frame.index.tolist() == [0, 1, 2]


def test_a_stopped_group_of_seeds_can_be_resumed(runs, tmp_path):
    group = shutil.copytree(runs[0].folder.parent, tmp_path / "group")
    shutil.rmtree(group / "seed-2")
    (group / "seed-1" / "summary.json").unlink()
    again = search_seeds([], resume=group, console=Console(quiet=True))
    assert [[{**line, "search_seconds": 0, "simulated_seconds": 0} for line in run.lines] for run in again] == [
        [{**line, "search_seconds": 0, "simulated_seconds": 0} for line in run.lines] for run in runs
    ]


def test_the_drawn_curves_equal_the_recorded_numbers(runs):
    frame = anytime_regret([runs[0].metrics])
    upper, lower = Figure().subplots(2)
    assert draw_anytime_regret(frame, upper, "darts") is upper
    assert draw_one_shot_error(frame, lower, "darts") is lower
    test, valid = upper.get_lines()
    assert np.allclose(test.get_ydata(), 100 * runs[0].metrics["test_regret"])
    assert np.allclose(valid.get_ydata(), 100 * runs[0].metrics["validation_regret"])
    (error,) = lower.get_lines()
    assert np.allclose(error.get_ydata(), 100 * runs[0].metrics["one_shot_validation_error"])
    assert test.get_linewidth() == error.get_linewidth() > valid.get_linewidth()
    assert test.get_color() == error.get_color() == METHODS["darts"]


def test_a_long_provenance_is_on_its_own_line_of_the_legend(runs):
    frame = runs[0].metrics.assign(test_measured=[True, False, False])
    axes = draw_anytime_regret(anytime_regret([frame]), Figure().add_subplot(), "darts")
    assert axes.get_lines()[0].get_label() == "test regret\n(33 % measured, else predicted)"


def test_estimates_shrunk_toward_measurements_are_called_predicted(runs, measured_table):
    table = nb.load_table()
    cells = map(nb.search_space("s1").__getitem__, range(200))
    arch = next(cell for cell in cells if table.query(cell).is_measured("validation_accuracy"))
    for behind, is_measured, source in ((table, False, "predicted"), (measured_table, True, "measured")):
        found = nb.score(arch, behind)
        assert found.validation_measured is is_measured
        frame = runs[0].metrics.assign(validation_measured=found.validation_measured)
        axes = draw_anytime_regret(anytime_regret([frame]), Figure().add_subplot(), "darts", table=behind)
        assert axes.get_lines()[1].get_label() == f"validation regret ({source})"
        assert format_regret(asdict(found), "validation") == f"{percent(found.validation_regret)} ({source})"
    assert "(predicted)" in repr(table.query(arch)).partition(", test_accuracy")[0]


def test_a_constant_regret_of_zero_is_above_the_frame(runs):
    frame = runs[0].metrics.assign(test_regret=0.0, validation_regret=0.0)
    axes = draw_anytime_regret(anytime_regret([frame]), Figure().add_subplot(), "darts")
    assert axes.get_ylim()[0] < 0 < axes.get_ylim()[1]


def test_the_mean_regret_of_the_space_is_a_line_in_the_regret_row(runs):
    table = nb.load_table()
    upper, lower, _entropy = regret_figure(runs[:1], [runs[0].metrics], table).axes
    (mean,) = [line for line in upper.get_lines() if line.get_label().startswith("mean over the space (")]
    assert list(mean.get_ydata()) == pytest.approx([100 * table.mean_regret("s1")] * 2)
    assert upper.get_ylim()[0] < 0 and upper.get_ylim()[1] > 100 * table.mean_regret("s1")  # the line is visible
    assert len(lower.get_lines()) == 1
    assert lower.get_ylabel().startswith("one-shot")


def test_a_figure_states_its_scale_its_table_and_what_is_predicted(runs):
    table, table_id = nb.load_table(), runs[0].config["table_id"]
    captions = texts(regret_figure(runs[:1], [runs[0].metrics], table))
    for words in ("quick scale: 2 channels × 1 cell,", "40 + 40 images of cifar10-sample", table_id, "seed 0"):
        assert words in captions
    assert "predicted)" in captions.split("validation regret")[0]
    assert "measured)" not in captions.replace("not measurements", "").split("validation regret")[0]
    assert "shown:" not in captions  # one seed has no band
    of_group = regret_figure(runs, [run.metrics for run in runs], table, spread="range")
    assert of_group.legends[0].get_title().get_text() == "mean and minimum to maximum, 3 seeds"
    assert of_group.caption.startswith("Shown: mean and minimum to maximum, 3 seeds.\n")


def test_a_figure_of_early_stopped_searches_states_where_they_end(runs):
    frames = [run.metrics for run in runs]
    last = frames[0]["epoch"].max()
    assert "only up to epoch" not in texts(regret_figure(runs, frames, nb.load_table()))
    frames[1] = frames[1][:-1]
    assert f"only up to epoch {last - 1}, where the first" in texts(regret_figure(runs, frames, nb.load_table()))


def test_a_figure_of_unfinished_searches_does_not_report_an_early_stop(runs, tmp_path):
    some = [runs[0], nb.load_run(unfinished_copy(runs[1], tmp_path / "run", 2))]
    note = "4 of 6 seeds have not started"
    title = regret_figure(some, [run.metrics for run in some], nb.load_table(), note).title
    assert "only up to epoch 1, as some are unfinished" in title
    assert f"2 seeds; {note}" in title


def test_a_search_that_finishes_during_a_report_is_reported_as_unfinished(runs, tmp_path):
    folder = unfinished_copy(runs[0], tmp_path / "run", 2)
    run = nb.load_run(folder)
    assert len(run.lines) == 2
    for name in ("metrics.jsonl", "summary.json"):
        shutil.copy(runs[0].folder / name, folder / name)
    summary = write_report(run, nb.load_table(), tmp_path / "report")
    assert (summary["searched_epochs"], summary["unfinished"]) == (1, "Not finished: epoch 1 of 2.")


def test_a_search_may_finish_while_its_lines_are_read(runs, tmp_path, monkeypatch):
    folder = unfinished_copy(runs[0], tmp_path / "run", 2)

    def end_afterwards(path, real=nb.Run.read_lines):
        lines = real(path)
        shutil.copy(runs[0].folder / "summary.json", path / "summary.json")
        return lines

    monkeypatch.setattr(nb.Run, "read_lines", staticmethod(end_afterwards))
    assert len(nb.load_run(folder).lines) == 2


def test_a_run_is_rescored_on_another_table_without_changing_it(runs, measured_table, tmp_path):
    run = runs[0]
    before = {path.name: path.read_bytes() for path in run.folder.iterdir() if path.is_file()}
    frame = rescore(run, measured_table)
    assert frame["architecture"].tolist() == run.metrics["architecture"].tolist()
    assert frame["one_shot_validation_error"].tolist() == run.metrics["one_shot_validation_error"].tolist()
    assert frame["test_measured"].all()
    assert frame["test_regret"].tolist() == [measured_table.regret(arch) for arch in run.architectures]
    summary = write_report(run, measured_table, tmp_path / "report")
    assert summary["table_id"] == measured_table.id
    written = pandas.read_json(tmp_path / "report" / "metrics.jsonl", lines=True)
    assert np.allclose(written["test_regret"], frame["test_regret"], rtol=0, atol=1e-15)
    assert {path.name: path.read_bytes() for path in run.folder.iterdir() if path.is_file()} == before
    assert "test regret (measured)" in texts(regret_figure([run], [frame], measured_table))


def test_a_report_uses_the_table_of_the_search_by_default(measured_table, tmp_path, capsys, monkeypatch):
    run = nb.search("darts", space="s1", table=measured_table.folder, **TINY, out=tmp_path / "run")
    for name, table in (("", measured_table), ("embedded", nb.load_table("embedded"))):
        monkeypatch.setenv("NB1SHOT1_TABLE", name)
        cli.main(["report", str(run.folder)])
        assert f"Table {table.id}" in capsys.readouterr().out
        summary = json.loads((run.folder / f"report-{table.id}" / "summary.json").read_text())
        assert summary["test_regret"] == table.regret(run.architectures[-1])


def test_a_ranking_uses_the_table_of_the_search_by_default(measured_table, tmp_path, monkeypatch):
    more = {"keep_weights_every": 2, "table": measured_table.folder, "out": tmp_path / "run"}
    run = nb.search("darts", space="s1", **TINY, **more)
    for name, table in (("", measured_table), ("embedded", nb.load_table("embedded"))):
        monkeypatch.setenv("NB1SHOT1_TABLE", name)
        ranking = nb.correlate(run, out=tmp_path / table.name, architectures=20, images=20, resamples=10)
        assert ranking.config["table_id"] == table.id
        monkeypatch.delenv("NB1SHOT1_TABLE")
        cli.main(["report", str(ranking.folder), "--out", str(tmp_path / f"{table.name}-report")])
        summary = json.loads((tmp_path / f"{table.name}-report" / "summary.json").read_text())
        assert summary["table_id"] == table.id


def test_a_report_never_overwrites_a_run(runs, measured_table):
    with refuses(nb.InvalidInputError, runs[0].folder):
        write_report(runs[0], measured_table, runs[0].folder)


def unfinished_copy(run: nb.Run, out: Path, lines: int) -> Path:
    """A copy of a search with only its first lines recorded."""
    shutil.copytree(run.folder, out)
    (out / "summary.json").unlink()
    recorded = (out / "metrics.jsonl").read_text().splitlines(keepends=True)
    (out / "metrics.jsonl").write_text("".join(recorded[:lines]))
    return out


def test_an_unfinished_search_is_reported_up_to_its_last_record(runs, tmp_path, capsys):
    folder = unfinished_copy(runs[0], tmp_path / "run", 2)
    cli.main(["report", str(folder), "--out", str(tmp_path / "report")])
    assert "Not finished: epoch 1 of 2." in capsys.readouterr().out
    summary = json.loads((tmp_path / "report" / "summary.json").read_text())
    assert (summary["searched_epochs"], summary["unfinished"]) == (1, "Not finished: epoch 1 of 2.")
    assert (tmp_path / "report" / "regret.png").read_bytes()[:4] == b"\x89PNG"
    run = nb.load_run(folder)
    assert "seed 0, unfinished: epoch 1 of 2" in texts(regret_figure([run], [run.metrics], nb.load_table()))


def test_a_search_without_epochs_is_refused_by_report(runs, tmp_path, capsys):
    folder = unfinished_copy(runs[0], tmp_path / "run", 0)
    with exits(capsys, "nb1shot1 search --resume"):
        cli.main(["report", str(folder), "--out", str(tmp_path / "report")])
    assert not (tmp_path / "report").exists()


def test_an_unfinished_group_is_reported_without_unstarted_seeds(runs, tmp_path, capsys):
    group = shutil.copytree(runs[0].folder.parent, tmp_path / "group")
    for seed in (1, 2):
        shutil.rmtree(group / f"seed-{seed}")
    unfinished_copy(runs[1], group / "seed-1", 2)
    cli.main(["report", str(group), "--out", str(tmp_path / "report")])
    output = capsys.readouterr().out
    assert output.count("final architecture") == 2
    assert output.count("Not finished: epoch 1 of 2.") == 1
    assert "Not finished: 1 of 3 seeds has not started." in output
    assert {path.name for path in (tmp_path / "report").iterdir()} == {"seed-0", "seed-1", "regret.png", "regret.csv"}


def test_a_report_keeps_every_digit(runs, tmp_path):
    write_report(runs[0], nb.load_table(), tmp_path / "report")
    lines = [json.loads(line) for line in (tmp_path / "report" / "metrics.jsonl").read_text().splitlines()]
    assert lines == runs[0].lines


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ({"seeds": []}, "seeds"),
        ({"seeds": [0, 1], "seed": 5}, "seed"),
        ({"seeds": [0, 1], "space": "s4"}, "s4"),
        ({"seeds": [0, 1], "epochs": 0}, "epochs 1,000,000"),
    ],
)
def test_a_mistake_with_several_seeds_leaves_no_folder(tmp_path, arguments, values):
    with refuses(nb.UserError, *values.split()):
        search_seeds(**{**TINY, "console": Console(quiet=True), "out": tmp_path / "group", **arguments})
    assert not (tmp_path / "group").exists()


def test_a_group_of_seeds_can_be_extended(runs, tmp_path):
    group = shutil.copytree(runs[0].folder.parent, tmp_path / "group")
    content = json.loads((group / "seeds.json").read_text())
    assert nb.load_run(group).is_finished
    more = {**content, "options": {**content["options"], "epochs": 3}}
    (group / "seeds.json").write_text(json.dumps(more))  # as if killed before a search was resumed
    assert not nb.load_run(group).is_finished
    grown = search_seeds([], resume=group, epochs=3, console=Console(quiet=True))
    assert grown.is_finished
    assert [run.config["epochs"] for run in grown] == [3, 3, 3]


def test_missing_and_unfinished_runs_are_refused(runs, tmp_path):
    with refuses(nb.InvalidInputError, tmp_path):
        nb.load_run(tmp_path)
    with refuses(nb.InvalidInputError, "run"):
        anytime_regret([])


def test_an_architecture_missing_from_the_table_is_refused(runs, measured_table, tmp_path):
    other = nb.search(out=tmp_path / "s2", console=Console(quiet=True), **{**TINY, "space": "s2", "epochs": 1})
    with refuses(nb.OutOfDomainError, measured_table.id):
        rescore(other, measured_table)


def test_a_report_gives_the_regret_on_all_data_sets(tmp_path, capsys):
    arch = nb.search_space("nb201")[6111]
    with nb.Recorder(tmp_path / "run", "nb201") as recorder:
        recorder.record(arch)
        recorder.finish()
    capsys.readouterr()
    cli.main(["report", str(tmp_path / "run"), "--out", str(tmp_path / "report")])
    output = capsys.readouterr().out
    for dataset in ("cifar10", "cifar100", "ImageNet16-120"):
        regret = nb.load_table("nb201").regret(arch, split="test", dataset=dataset)
        assert f"Test regret on {dataset}: {100 * regret:.2f} % (measured)" in output
    labels = nb.draw_regret(tmp_path / "run").get_legend_handles_labels()[1]
    assert labels == [
        *(f"test regret on {dataset} (measured)" for dataset in ("cifar10", "cifar100", "ImageNet16-120")),
        "validation regret on cifar10 (measured)",
        "mean over the space on cifar10 (7.31 %)",
    ]
