"""The `nb1shot1 statistics` command."""

import json
import re

import pandas
import pytest
from command_line import command, new_process
from conftest import CHECKOUT
from refusals import fails
from space_statistics_tables import retrained_table

import nasbench1shot1 as nb
from nasbench1shot1.commands.statistics import Statistics
from nasbench1shot1.experiments.space_statistics.catalogue import GENERIC, offered
from nasbench1shot1.experiments.space_statistics.nasbench101 import ANALYSES
from nasbench1shot1.registry import benchmarks


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    folder = tmp_path_factory.mktemp("statistics")
    done = new_process("statistics", "--table", "nb101-sample", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "statistics" / nb.load_table("nb101-sample").id, done.stdout


def test_all_analyses_of_the_real_sample(everything):
    out, screen = everything
    refused = {"noise-distribution", "autocorrelation"}
    answered = {*ANALYSES, *GENERIC} - refused
    files = {f"{name}.{kind}" for name in answered for kind in ("csv", "png")}
    assert {path.name for path in out.iterdir()} == files | {"summary.json"}
    assert all((out / f"{name}.png").read_bytes().startswith(b"\x89PNG") for name in answered)
    assert all((out / f"{name}.png").stat().st_size < 220_000 for name in answered)
    for name in refused:
        assert f"Skipped {name}: the table" in screen.replace("a random walk can visit every cell, but ", "")
    assert "Spearman with 108" in " ".join(screen.replace("│", " ").split())
    summary = json.loads((out / "summary.json").read_text())
    assert set(summary["answers"]) == answered
    assert set(summary["refusals"]) == refused
    assert not any(answer["predicted"] for answer in summary["answers"].values())
    assert summary["answers"]["error-distribution"]["split"] == "validation", "the sample has no test accuracy"


def test_the_help_names_the_analyses_of_all_benchmarks():
    named = set(re.findall(r"[a-z]+(?:-[a-z]+)*", str(Statistics.__doc__)))
    assert {name for benchmark in benchmarks() for name in offered(benchmark)} <= named


def test_frames_are_written_in_full(everything):
    out, _ = everything
    frame = pandas.read_csv(out / "budget-correlation.csv")
    assert frame["spearman"].round(2).tolist()[-1] == 0.88
    assert len(pandas.read_csv(out / "cost.csv")) == 27_001


def test_one_analysis_of_predictions(tmp_path):
    given = ("--predicted", "--out", "here", "--style", "paper", "--width", "page")
    done = command("statistics", "depth-and-width", *given, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "here").iterdir()} == {
        "depth-and-width.csv",
        "depth-and-width.pdf",
        "depth-and-width.txt",
        "summary.json",
    }
    assert b"/FontFile2" in (tmp_path / "here" / "depth-and-width.pdf").read_bytes()
    assert "predicted" in done.stdout
    assert "66,111" in done.stdout
    assert "Skipped " not in done.stdout


def test_random_analyses_of_a_complete_table_are_determined_by_their_seed(tmp_path):
    retrained_table().save(tmp_path / "table")
    line = ("statistics", "autocorrelation", "top-volume", "--table", "table", "--out")
    for out, seed in (("a", "0"), ("b", "0"), ("c", "1")):
        done = command(*line, out, "--seed", seed, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    written = [(tmp_path / out / "autocorrelation.csv").read_bytes() for out in "abc"]
    assert written[0] == written[1] != written[2]
    volumes = {(tmp_path / out / "top-volume.csv").read_bytes() for out in "abc"}
    assert len(volumes) == 1, "all 576 encodings were used, none sampled"
    fails(command(*line[:2], "--space", "s1", "--table", "table", cwd=tmp_path), "% of s1", "--predicted")


def test_a_later_call_keeps_the_results_that_it_does_not_repeat(tmp_path):
    def summary(*arguments):
        done = command("statistics", "--table", "nb101-sample", "--out", "here", *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads((tmp_path / "here" / "summary.json").read_text())

    first = summary("depth-and-width", "noise-distribution")
    second = summary("cost")
    assert list(second["answers"]) == ["depth-and-width", "cost"] and second["refusals"] == first["refusals"] != {}
    assert second["answers"]["depth-and-width"] == first["answers"]["depth-and-width"]
    assert {f"{name}.{kind}" for name in second["answers"] for kind in ("csv", "png")} == {
        path.name for path in (tmp_path / "here").iterdir()
    } - {"summary.json"}
    assert summary("cost") == second
    other = summary("cost", "--seed", "1")
    assert list(other["answers"]) == ["cost"] and not other["refusals"], "the others had another seed"


def test_a_folder_with_something_else_is_not_written_to(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "summary.json").write_text("{}")
    (tmp_path / "run" / "metrics.jsonl").write_text("")
    failed = command("statistics", "cost", "--table", "nb101-5v", "--out", "run", cwd=tmp_path)
    fails(failed, "'run' holds something other than statistics", "--out")
    assert (tmp_path / "run" / "summary.json").read_text() == "{}" and len([*(tmp_path / "run").iterdir()]) == 2
    (tmp_path / "file").write_text("mine")
    fails(command("statistics", "cost", "--out", "file", cwd=tmp_path), "'file'", "--out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "plot.png").write_text("mine")
    for _ in range(2):
        assert command("statistics", "cost", "--table", "nb101-5v", "--out", "mine", cwd=tmp_path).returncode == 0
    assert (tmp_path / "mine" / "plot.png").read_text() == "mine"


def test_the_page_has_a_section_and_pictures_for_every_analysis():
    page = (CHECKOUT / "docs" / "space_statistics.md").read_text()
    sections = {line.removeprefix("## ").split(":")[0] for line in page.splitlines() if line.startswith("## ")}
    assert {*ANALYSES, *GENERIC} <= sections
    pictures = re.findall(r"\((space_statistics/[\w-]+\.png)\)", page)
    assert len(pictures) == len(ANALYSES) + len(GENERIC) - 1, "noise is the one that no bundled table can show"
    assert all(15_000 < (CHECKOUT / "docs" / picture).stat().st_size < 150_000 for picture in pictures)


def test_the_example_of_the_page_runs():
    page = (CHECKOUT / "docs" / "space_statistics.md").read_text()
    [example, _] = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(example, "space_statistics.md", "exec"), names)
    assert names["table"].id in names["axes"].figure.caption


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["budget-corelation"], "budget-correlation"),
        (["noise-distribution"], "repeat"),
        (["budget-correlation", "--split", "test"], "1 2 test"),
        (["cost", "--split", "train"], "'train'"),
        (["cost", "--table", "nowhere"], "nowhere"),
        (["known-cells"], "NAS-Bench-101 error-distribution"),
        (["cost", "--table", "nb201"], "NAS-Bench-201 accuracy-by-parameters"),
        (["--table", "nb201", "--split", "test"], "--split NAS-Bench-201"),
        (["--table", "nb201", "--predicted"], "--predicted NAS-Bench-201"),
        (["cost", "--kind", "unique"], "--kind cost"),
        (["cost", "--out", "/proc/statistics"], "/proc/statistics"),
        (["--seed", "-1"], "--seed 0 -1"),
    ],
)
def test_unanswerable_requests_give_one_sentence_and_exit_code_2(tmp_path, arguments, values):
    fails(command("statistics", *arguments, cwd=tmp_path), *values.split())
    assert list(tmp_path.iterdir()) == []


def test_an_option_that_no_selected_analysis_takes_is_refused(tmp_path):
    arguments = ("statistics", "dataset-ranks", "--table", "nb201", "--mark", "resnet-cell")
    fails(command(*arguments, cwd=tmp_path), "--mark", "dataset-ranks")
    assert not list(tmp_path.iterdir())
