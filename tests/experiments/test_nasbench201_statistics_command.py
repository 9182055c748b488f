"""`nb1shot1 statistics` on the bundled table of NAS-Bench-201, and the page about it."""

import json
import re
from io import StringIO

import pandas
import pytest
from command_line import command
from conftest import CHECKOUT
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.commands.statistics import Statistics
from nasbench1shot1.experiments.space_statistics.nats_bench.topology import ANALYSES

NEED_CURVES = ("ranks-along-training", "learning-curves")
"""The analyses of learning curves, which only imported archives have."""
ANSWERED = [name for name in ANALYSES if name not in NEED_CURVES]
PAGE = CHECKOUT / "docs" / "nasbench201_statistics.md"


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    folder = tmp_path_factory.mktemp("statistics")
    done = command("statistics", "--table", "nb201", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "statistics" / nb.load_table("nb201").id, done.stdout


def test_all_analyses_of_the_bundled_table(everything):
    out, screen = everything
    files = {f"{name}.{kind}" for name in ANSWERED for kind in ("csv", "png")}
    assert {path.name for path in out.iterdir()} == files | {"summary.json"}
    assert all((out / f"{name}.png").read_bytes().startswith(b"\x89PNG") for name in ANSWERED)
    assert screen.count("Skipped ") == len(NEED_CURVES)
    assert "15,625 measured architectures" in " ".join(screen.replace("│", " ").split())
    summary = json.loads((out / "summary.json").read_text())
    assert list(summary["answers"]) == ANSWERED
    assert tuple(summary["refusals"]) == NEED_CURVES
    assert not any(answer["predicted"] for answer in summary["answers"].values())
    assert {answer["rows"] for answer in summary["answers"].values()} == {15_625}


@pytest.mark.parametrize("name", ANSWERED)
def test_every_file_counts_its_architectures(everything, name):
    out, _ = everything
    counts = pandas.read_csv(out / f"{name}.csv", usecols=["n"])["n"]
    assert counts.between(1, 15_625).all()


def test_one_analysis_of_distinct_topologies(tmp_path):
    line = ("statistics", "schedule-correlation", "--table", "nb201", "--kind", "unique", "--out", "here")
    done = command(*line, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    files = {path.name for path in (tmp_path / "here").iterdir()}
    assert files == {"schedule-correlation.csv", "schedule-correlation.png", "summary.json"}
    assert pandas.read_csv(tmp_path / "here" / "schedule-correlation.csv")["n"].max() == 6_466


def test_a_terminal_shows_which_analysis_is_running(tmp_path, monkeypatch):
    screen = Console(file=StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr("nasbench1shot1.ground.text.literal_console", lambda: screen)
    Statistics(("schedule-correlation", "learning-curves"), table="nb201", out=tmp_path / "here").run()
    shown = screen.file.getvalue()
    assert "schedule-correlation (1 of 2)" in shown
    assert "learning-curves (2 of 2)" in shown


def test_the_page_has_a_section_and_a_picture_for_every_analysis():
    page = PAGE.read_text()
    headings = [line.removeprefix("## ").split(":")[0] for line in page.splitlines() if line.startswith("## ")]
    assert set(ANALYSES) <= {name for heading in headings for name in heading.split(" and ")}
    pictures = re.findall(r"\((nasbench201_statistics/[\w-]+\.png)\)", page)
    assert pictures == [f"nasbench201_statistics/{name}.png" for name in ANSWERED]
    assert all(15_000 < (CHECKOUT / "docs" / picture).stat().st_size < 250_000 for picture in pictures)


def test_the_example_of_the_page_runs():
    [example] = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(example, PAGE.name, "exec"), names)
    assert names["table"].id in names["axes"].figure.caption
