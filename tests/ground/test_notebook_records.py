"""Records show their state and result in one line, and in notebooks also their picture."""

import base64
import html
import json
import shutil
from xml.etree import ElementTree

import compared_runs as make
import numpy as np
import pytest
from matplotlib.figure import Figure

import nasbench1shot1 as nb
from nasbench1shot1.experiments.comparison.comparing import compare_runs
from nasbench1shot1.ground.notebooks import Displayed
from nasbench1shot1.ground.text import percent
from nasbench1shot1.one_shot_search.record import SearchRecord
from nasbench1shot1.runs.record import RunRecord

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_search_shows_its_epochs_and_regret(tmp_path):
    run = make.search(tmp_path / "run", (4, 3, 2, 1, 0))
    regret = percent(run.lines[-1]["test_regret"])
    assert repr(run) == f"Run('{run.folder}': darts on s1, seed 0, epoch 4 of 4, test regret {regret} (predicted))"


def test_an_unfinished_search_shows_its_progress_and_is_not_cached(tmp_path):
    run = make.search(tmp_path / "run", (4, 3), finished=False)
    assert repr(run).endswith("seed 0, epoch 1 of 4, unfinished)")
    lines = (run.folder / "metrics.jsonl").read_text()
    (run.folder / "metrics.jsonl").write_text(lines.splitlines(keepends=True)[0])
    assert repr(run).endswith("epoch 0 of 4, unfinished)")
    assert len(run.lines) == 1


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"test_regret": "a", "test_measured": 1}'])
def test_a_damaged_record_still_has_a_repr(content, tmp_path):
    run = make.search(tmp_path / "run", (1, 0))
    (run.folder / "summary.json").write_text(content)
    assert repr(run).endswith("seed 0, files missing or damaged)")
    group = make.group(tmp_path / "group", [(1, 0)])
    (group.folder / "seed-0" / "summary.json").write_text(content)
    assert repr(group).endswith("seeds 0; files missing or damaged)")


def test_a_finished_search_does_not_state_values_that_its_lines_lack(tmp_path):
    run = make.search(tmp_path / "run", (1, 0))
    first, last = (run.folder / "metrics.jsonl").read_text().splitlines(keepends=True)
    for damaged in (first, first + last.replace('"epoch": 1', '"epoch": 1, "train_loss": 3.0'), last):
        (run.folder / "metrics.jsonl").write_text(damaged)
        assert repr(run).endswith("seed 0, files missing or damaged)")
        assert repr(nb.load_run(run.folder)) == repr(run)
    (run.folder / "metrics.jsonl").write_text((first + last).replace(": ", ":  "))
    assert "epoch 1 of 4, test regret" in repr(run), "equal lines with other spaces"


def test_a_regret_missing_from_the_table_is_reported(tmp_path):
    run = make.search(tmp_path / "run", (1, 0))
    summary = json.loads((run.folder / "summary.json").read_text())
    (run.folder / "summary.json").write_text(json.dumps({**summary, "test_regret": None}))
    assert repr(run).endswith("test regret not in the table)")


def test_a_started_group_shows_its_finished_searches(tmp_path):
    group = make.group(tmp_path / "group", [(1, 0), (2, 1)], started=1)
    regret = percent(group.runs[0].lines[-1]["test_regret"])
    assert repr(group).endswith(f"seeds 0, 1; 1 of 2 finished, mean test regret {regret} (predicted))")
    assert repr(make.group(tmp_path / "none", [(1, 0)], started=0)).endswith("seeds 0; 0 of 1 finished)")


def test_studies_show_result_and_picture(tmp_path):
    study = make.black_box(tmp_path / "study", repeats=2)
    mean = percent(study.final["test_regret"].mean())
    source = {0: " (predicted)", 2: ""}.get(study.final["test_measured"].sum(), " (partly predicted)")
    assert repr(study).endswith(f"random on s1, seed 0, 2 of 2 searches, mean test regret {mean}{source})")
    data = base64.b64encode((study.folder / "regret.png").read_bytes()).decode()
    assert f'src="data:image/png;base64,{data}"' in study._repr_html_()
    tuned = make.tuning(tmp_path / "tuned")
    lowest = percent(tuned.metrics["loss"].min())
    assert repr(tuned).endswith(f"{len(tuned.lines)} searches, lowest validation error {lowest})")


def test_a_notebook_shows_text_and_picture_of_runs_and_groups(tmp_path):
    group = make.group(tmp_path / "<group>", [(1, 0)])
    for record in (group, group.runs[0]):
        assert "<img" not in record._repr_html_()
        (record.folder / "regret.png").write_bytes(PNG)
        shown_html = record._repr_html_()
        assert "&lt;group&gt;" in shown_html and "<group>" not in shown_html
        assert base64.b64encode(PNG).decode() in shown_html


@pytest.mark.parametrize("format, shown", [(None, "png"), ("svg", "svg+xml"), ("pdf", None)])
def test_a_notebook_shows_the_picture_in_the_recorded_format(format, shown, tmp_path):
    group = make.group(tmp_path / "group", [(1, 0)], format=format)
    tuned = make.tuning(tmp_path / "tuned", searches={**make.synthetic.SMALL, "format": format})
    for record, name in ((group, "regret"), (group.runs[0], "regret"), (tuned, "trajectory")):
        for suffix in ("png", "svg", "pdf"):
            (record.folder / f"{name}.{suffix}").write_bytes(suffix.encode())
        shown_html = record._repr_html_()
        data = base64.b64encode((format or "png").encode()).decode()
        assert (f'src="data:image/{shown};base64,{data}"' in shown_html) if shown else ("<img" not in shown_html)


def test_an_unfinished_record_does_not_show_an_earlier_picture(tmp_path):
    group = make.group(tmp_path / "group", [(1, 0), (2, 1)])
    for record in (group, group.runs[0]):
        (record.folder / "regret.png").write_bytes(PNG)
        assert "<img" in record._repr_html_()
    (group.runs[0].folder / "summary.json").unlink()
    assert ["<img" in record._repr_html_() for record in (group, group.runs[0])] == [False, False]


def test_an_unreadable_picture_is_omitted(tmp_path):
    run = make.search(tmp_path / "run", (1, 0))
    (run.folder / "regret.png").mkdir()
    shown = run._repr_html_()
    assert "epoch 1 of 4" in shown and percent(run.summary["test_regret"]) in shown
    assert "<img" not in shown


def rows_of(html: str) -> dict[str, list[str]]:
    """The texts of the rows of an HTML table, by the text of their first cell."""
    assert html.count("<table>") == 1
    rows = ElementTree.fromstring(html[: html.index("</table>")] + "</table>").iter("tr")
    texts = [["".join(cell.itertext()) for cell in row] for row in rows]
    return {first: others for first, *others in texts}


def test_a_finished_search_shows_its_options_numbers_and_table(tmp_path):
    run = make.search(tmp_path / "run", (4, 3, 2, 1, 0))
    rows = rows_of(run._repr_html_())
    line = run.lines[-1]
    assert rows["folder"] == [str(run.folder)] and rows["architecture"] == [line["architecture"]]
    assert rows["options"][0].startswith("scale quick, preset ") and "epochs 4" in rows["options"][0]
    assert rows["progress"] == ["epoch 4 of 4"] and rows["table"] == [run.config["table_id"]]
    for split in ("test", "validation"):
        source = "measured" if line[f"{split}_measured"] else "predicted"
        assert rows[f"{split} regret"] == [f"{percent(line[f'{split}_regret'])} ({source})"]
        assert rows[f"{split} error"] == [f"{percent(line[f'table_{split}_error'])} ({source})"]


def test_a_group_shows_mean_and_range(tmp_path):
    group = make.group(tmp_path / "group", [(1, 0), (2, 1), (3, 5)])
    finals = [run.lines[-1]["test_regret"] for run in group.runs]
    rows = rows_of(group._repr_html_())
    assert rows["mean test regret"] == [f"{percent(sum(finals) / 3)} (predicted; n = 3)"]
    assert rows["lowest and highest test regret"] == [f"{percent(min(finals))}, {percent(max(finals))}"]
    assert rows["table"] == [group.runs[0].config["table_id"]]


@pytest.mark.parametrize("change", ["unfinished", "damaged"])
def test_unfinished_and_damaged_records_show_their_repr(change, tmp_path):
    group = make.group(tmp_path / "<group>", [(1, 0)])
    summary = group.runs[0].folder / "summary.json"
    if change == "damaged":
        summary.write_text('{"test_regret": "a"}')
    else:
        summary.unlink()
    for record in (group, group.runs[0]):
        assert record._repr_html_() == f"<pre>{html.escape(repr(record))}</pre>"


def test_studies_show_their_numbers_and_draw_themselves(tmp_path):
    study = make.black_box(tmp_path / "study", repeats=2)
    rows, regrets = rows_of(study._repr_html_()), study.final["test_regret"]
    assert rows["mean test regret"][0].startswith(f"{percent(regrets.mean())} (")
    assert rows["median test regret"] == [percent(regrets.median())]
    assert rows["standard deviation of test regret"] == [percent(regrets.std())]
    assert "evaluations 6" in rows["options"][0] and rows["table"] == [study.config["table_id"]]
    tuned = make.tuning(tmp_path / "tuned", runs=True)
    best = tuned.metrics.loc[tuned.metrics["loss"].idxmin()]
    rows = rows_of(tuned._repr_html_())
    assert rows["lowest validation error"] == [percent(best["loss"])]
    assert rows["its test regret"] == [f"{percent(best['test_regret'])} (predicted)"]
    shutil.rmtree(tuned.folder / "runs")
    assert "source unknown" in rows_of(tuned._repr_html_())["its test regret"][0]
    assert all(f"{name} {value}" in rows["its configuration"][0] for name, value in _configuration(tuned, best))


def _configuration(study, line):
    return study.configuration(line["configuration_id"]).items()


def test_records_and_comparisons_draw_themselves(tmp_path):
    runs = [make.search(tmp_path / name, (2, rank), optimizer=name) for name, rank in (("darts", 1), ("gdas", 0))]
    for drawn, name in ((runs[0], "test"), (compare_runs(runs), "gdas (n = 1)")):
        figure = Figure()
        ax = figure.add_subplot()
        assert drawn.plot(ax=ax) is ax
        assert any(name in text for text in ax.get_legend_handles_labels()[1])
        assert drawn.plot().figure is not figure
    with pytest.raises(nb.InvalidInputError, match="must be matplotlib axes"):
        runs[0].plot(ax="left")


def test_a_group_draws_the_mean_regret_of_its_seeds(tmp_path):
    group = make.group(tmp_path / "group", [(4, 3, 2, 1, 0), (9, 7, 5, 5, 3)])
    ax = group.plot()
    curve = ax.get_lines()[0]
    mean = np.mean([run.metrics["test_regret"] for run in group.runs], axis=0)
    assert curve.get_ydata() == pytest.approx(100 * mean) and curve.get_xdata().tolist() == [0, 1, 2, 3, 4]
    assert curve.get_label() in ax.get_legend_handles_labels()[1] and len(ax.collections) == 1  # the band
    assert ax.get_xlabel().startswith("search epoch") and ax.get_ylabel() == "regret [%]"


def test_what_has_no_drawing_says_so():
    with pytest.raises(nb.InvalidInputError, match="cannot be drawn"):
        Displayed().plot()


def test_a_comparison_shows_a_row_for_each_run(tmp_path):
    runs = [make.search(tmp_path / name, (2, rank), optimizer=name) for name, rank in (("darts", 1), ("gdas", 0))]
    shown = compare_runs(runs, labels=["<b>", "GDAS"])._repr_html_()
    assert "<b>" not in shown
    rows = rows_of(shown)
    for run, label in zip(runs, ("<b>", "GDAS"), strict=True):
        regret = percent(run.lines[-1]["test_regret"])
        assert rows[label] == ["1", regret, "–", "–", regret, regret, "predicted"]  # neither interval nor deviation
    assert runs[0].config["table_id"] in shown


def test_a_table_draws_its_pareto_fronts_unless_another_analysis_is_named():
    table, panels = nb.load_table("nb101-5v"), Figure().subplots(1, 3)
    drawn = table.plot(ax=panels)
    ax = panels[0]
    front = next(line for line in ax.lines if line.get_label() == "Pareto front")
    costs, errors = np.array(front.get_data())
    best = table.query(table.hashes(range(len(table)))).test_accuracy
    assert drawn == list(panels) and (np.diff(costs) > 0).all() and (np.diff(errors) < 0).all()
    assert errors[-1] == pytest.approx(100 * (1 - np.nanmax(best)))
    assert "test error [%" in ax.get_ylabel() and "parameters" in ax.get_xlabel()
    assert table.plot(analysis="accuracy-distribution").lines[0].get_label() != front.get_label()


def test_a_table_shows_its_content():
    table = nb.load_table("nb201")
    rows = rows_of(table._repr_html_())
    assert rows["rows"] == [f"{len(table):,} networks"] and rows["data sets"] == [", ".join(table.datasets)]
    assert "test_accuracy" in rows["measured"][0] and table.id in table._repr_html_()
    assert "test_accuracy" in rows_of(nb.load_table("embedded")._repr_html_())["partly predicted"][0]


def test_every_kind_of_run_has_its_own_repr():
    kinds = [kind for kind in RunRecord.__subclasses__() if kind.__module__.startswith("nasbench1shot1.")]
    assert {SearchRecord, nb.BlackBoxStudy} <= set(kinds)
    assert [kind for kind in kinds if "_subject" not in vars(kind) or "__repr__" in vars(kind)] == []


def test_a_comparison_and_its_axes_are_displayed(tmp_path):
    runs = [make.search(tmp_path / name, (2, rank), optimizer=name) for name, rank in (("darts", 1), ("gdas", 0))]
    means = [percent(run.lines[-1]["test_regret"]) for run in runs]
    measured = {run.lines[-1]["test_measured"] for run in runs}
    assert measured == {False}
    shown = f"mean final test regret, predicted: darts {means[0]} (n = 1), gdas {means[1]} (n = 1))"
    assert repr(compare_runs(runs)) == f"Comparison(s1, over search epochs; {shown}"
    assert nb.compare(runs)._repr_png_().startswith(PNG)
    assert nb.draw_cell(runs[0].architectures[0])._repr_png_().startswith(PNG)
