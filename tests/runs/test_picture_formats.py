"""The file format of pictures, for every command that draws."""

from pathlib import Path

import pytest
from command_line import command, new_process
from matplotlib.figure import Figure
from refusals import fails
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.display.axes import save_figure

STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
TINY = {"scale": "quick", "epochs": 1, "channels": 2, "cells": 1, "images_per_half": 40, "batch_size": 20, "threads": 1}
CELL = "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> nb.Run:
    return nb.search(out=tmp_path_factory.mktemp("format") / "run", format="svg", console=Console(quiet=True), **TINY)


def started_with(path: Path, suffix: str) -> bool:
    return path.read_bytes().startswith(STARTS[suffix])


@pytest.mark.parametrize("suffix", STARTS)
def test_equal_figures_give_equal_files(tmp_path, suffix):
    for name in ("a", "b"):
        figure = Figure()
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], "o-", clip_on=True)
        axes.fill_between([0, 1], [0, 1], alpha=0.2)
        save_figure(figure, tmp_path / f"{name}.{suffix}")
    assert started_with(tmp_path / f"a.{suffix}", suffix)
    assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_a_search_records_its_format(run):
    assert run.config["format"] == "svg"
    assert all((run.folder / f"{name}.svg").is_file() for name in ("regret", "cells"))
    assert not list(run.folder.glob("*.png"))


@pytest.mark.parametrize("suffix", ["svg", "pdf"])
def test_reports_of_different_formats_replace_each_other(run, tmp_path, suffix):
    for each in ("png", suffix):
        done = command("report", str(run.folder), "--out", str(tmp_path / "report"), "--format", each)
        assert done.returncode == 0, done.stderr
        assert f"Picture: {tmp_path / 'report' / f'regret.{each}'}" in done.stdout
        assert started_with(tmp_path / "report" / f"regret.{each}", each)
        pictures = [path for path in (tmp_path / "report").glob("regret.*") if path.suffix != ".csv"]
        assert len(pictures) == 1


def test_a_black_box_study_uses_the_given_format(tmp_path):
    arguments = ("--optimizer", "random", "--evaluations", "3", "--repeats", "2", "--out", str(tmp_path / "study"))
    done = new_process("blackbox", *arguments, "--format", "pdf")  # forked processes write placeholders
    assert done.returncode == 0, done.stderr
    assert started_with(tmp_path / "study" / "regret.pdf", "pdf")
    assert f"Picture: {tmp_path / 'study' / 'regret.pdf'}" in done.stdout


def test_a_drawn_cell_uses_the_given_format(tmp_path):
    done = command("query", CELL, "--draw", str(tmp_path / "cell"), "--format", "svg")
    assert done.returncode == 0, done.stderr
    assert started_with(tmp_path / "cell.svg", "svg")
    for given in (("--format", "svg"), ("--style", "paper")):
        fails(command("query", CELL, *given), given[0], "--draw")
    for folder in (".", "/"):
        fails(command("query", CELL, "--draw", folder, "--format", "svg"), "--draw", f"'{folder}'")


def test_statistics_use_the_given_format(tmp_path):
    arguments = ("--table", "nb101-sample", "--out", str(tmp_path / "here"), "--format", "svg")
    done = command("statistics", "cost", *arguments)
    assert done.returncode == 0, done.stderr
    assert started_with(tmp_path / "here" / "cost.svg", "svg")


@pytest.mark.parametrize("name", ["search", "correlate", "tune", "blackbox", "report", "reproduce", "statistics"])
def test_an_unknown_format_is_refused(name):
    fails(command(name, "--format", "gif"), "gif")
