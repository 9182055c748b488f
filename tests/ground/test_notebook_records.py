"""Records show their state and result in one line, and in notebooks also their picture."""

import base64
import json

import compared_runs as make
import pytest

import nasbench1shot1 as nb
from nasbench1shot1.experiments.comparison.comparing import compare_runs
from nasbench1shot1.ground.notebooks import record_as_html
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
        html = record._repr_html_()
        assert "&lt;group&gt;" in html and "<group>" not in html
        assert base64.b64encode(PNG).decode() in html
    assert record_as_html("a < b", None) == "<pre>a &lt; b</pre>"


@pytest.mark.parametrize("format, shown", [(None, "png"), ("svg", "svg+xml"), ("pdf", None)])
def test_a_notebook_shows_the_picture_in_the_recorded_format(format, shown, tmp_path):
    group = make.group(tmp_path / "group", [(1, 0)], format=format)
    tuned = make.tuning(tmp_path / "tuned", searches={**make.synthetic.SMALL, "format": format})
    for record, name in ((group, "regret"), (group.runs[0], "regret"), (tuned, "trajectory")):
        for suffix in ("png", "svg", "pdf"):
            (record.folder / f"{name}.{suffix}").write_bytes(suffix.encode())
        html = record._repr_html_()
        data = base64.b64encode((format or "png").encode()).decode()
        assert (f'src="data:image/{shown};base64,{data}"' in html) if shown else ("<img" not in html)


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
    assert "epoch 1 of 4, test regret" in run._repr_html_()
    assert "<img" not in run._repr_html_()


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
    assert repr(compare_runs(runs)) == f"Comparison(s1, over epochs; {shown}"
    assert nb.compare(runs)._repr_png_().startswith(PNG)
    assert nb.draw_cell(runs[0].architectures[0])._repr_png_().startswith(PNG)
