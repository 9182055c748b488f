"""The command line in separate processes: output and exit codes."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import command, new_process
from refusals import exits, fails, missing
from rich.console import Console
from warm_process import WarmProcess

import nasbench1shot1 as nb
from nasbench1shot1 import cli

TINY = [
    "--scale",
    "quick",
    "--epochs",
    "2",
    "--channels",
    "2",
    "--cells",
    "1",
    "--images-per-half",
    "40",
    "--batch-size",
    "20",
    "--threads",
    "1",
]


@pytest.fixture(scope="module")
def searched(tmp_path_factory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("cli")
    done = new_process("search", *TINY, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "runs" / "darts-s1-0", done.stdout


def test_search_reports_scale_result_and_folder(searched):
    folder, screen = searched
    run = nb.load_run(folder)
    assert "quick scale: 2 channels × 1 cell, on cpu with 1 thread; preset corrected" in screen
    assert "Images: 40 + 40 of cifar10-sample (bundled; CIFAR-10 has 50,000)" in screen
    assert f"Table {nb.load_table().id}\nUnmeasured accuracies are estimates; results" in screen
    assert [line.split()[0] for line in screen.splitlines() if line.startswith("    ")] == ["0", "1", "2"]
    assert "the mean over all cells of s1 is" in screen
    widths = {len(line) for line in screen.splitlines() if not line.startswith(("darts", "Final", "Picture"))}
    assert max(widths) <= 90
    assert f"Final architecture: '{run.architectures[-1]}'" in screen
    assert f"% ({'measured' if run.summary['test_measured'] else 'predicted'})" in screen
    assert "regret.png" in screen.splitlines()[-1]
    assert (folder / "regret.png").stat().st_size > 10_000


def test_resume_cannot_be_combined_with_other_options(searched):
    folder, _ = searched
    grown = command("search", "--resume", str(folder), "--epochs", "3")
    assert grown.returncode == 0, grown.stderr
    assert nb.load_run(folder).metrics["epoch"].tolist() == [0, 1, 2, 3]
    same = command("search", "--resume", str(folder), "--seed", "0", "--no-compile")
    assert same.returncode == 0, "an option that equals the run's own contradicts nothing"
    fails(command("search", "--resume", str(folder), "--seed", "7"), "--seed 0", 7)
    fails(command("search", "--resume", str(folder), "--space", "s2"), "--space s1", "s2")


def test_options_on_resuming_are_checked_against_the_recorded_optimizer(tmp_path):
    few = {"channels": 2, "cells": 1, "images_per_half": 40, "batch_size": 20, "epochs": 1, "threads": 1}
    options = {**few, "scale": "quick", "candidates": 3, "finalists": 2, "controller_steps": 2}
    run = nb.search("enas", out=tmp_path / "run", console=Console(quiet=True), **options)
    again = command("search", f"--resume={run.folder}", "--epochs=2", "--controller-steps=2")
    assert again.returncode == 0, again.stderr
    assert nb.load_run(run.folder).metrics["epoch"].tolist() == [0, 1, 2]
    fails(
        command("search", "--optimizer", "darts", "--optimizer=enas", "--relaxation", "gumbel"), "--relaxation", "enas"
    )


def test_several_seeds_are_searched_as_a_group(tmp_path):
    done = command("search", *TINY, "--epochs", "1", "--seeds", "0-1", "--out", str(tmp_path / "group"))
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "group").iterdir()} == {"seed-0", "seed-1", "seeds.json", "regret.png"}
    assert "Test regret of 2 seeds, " in done.stdout
    assert done.stdout.splitlines()[-1].endswith("group/regret.png")
    report = command("report", str(tmp_path / "group"), "--out", str(tmp_path / "report"))
    assert report.returncode == 0, report.stderr
    assert {path.name for path in (tmp_path / "report").iterdir()} == {"seed-0", "seed-1", "regret.png", "regret.csv"}


def test_ctrl_c_exits_cleanly_and_the_run_can_be_resumed(tmp_path):
    # Background processes and their children ignore Ctrl-C, and the tests may run in the background.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    call = f"{heed}; from nasbench1shot1.cli import main; main()"
    folder = tmp_path / "runs" / "darts-s1-0"
    with WarmProcess(call, "search", *TINY, "--epochs", "400", cwd=tmp_path) as process:
        while not (folder / "checkpoint.pt").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
    assert process.returncode == 130
    assert not missing(said, "nb1shot1 search --resume runs/darts-s1-0")
    assert "Traceback" not in said
    epochs = len(nb.load_run(folder).lines)
    assert 1 <= epochs < 400


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["serch"], "serch search"),
        (["table", "inf"], "inf info"),
        (["data"], "'data' info download import"),
        (["table", "foo"], "foo build download import info list verify"),
        (["search", "--spce", "s1"], "--spce --space"),
        (["search", "darts"], "darts --optimizer"),
        (["search", "--scale", "quick", "s2", "x"], "s2 --space"),
        (["tune", "gdas"], "gdas --optimizer"),
        (["search", "quick"], "'quick' --scale"),
        (["search", "runs/x"], "runs/x --help"),
        (["search", "--optimizer", "random-ws", "--relaxation", "gumbel"], "--relaxation random-ws"),
        (["search", "--epochs", "abc"], "--epochs abc"),
        (["search", "--epochs", "0", "--scale", "quick"], "--epochs 1,000,000 0"),
        (["search", "--epochs", "9" * 20], "--epochs 1,000,000 smaller"),
        (["data", "download", "foo"], "set 'foo' cifar100"),
        (["search", "--space", "s4", "--scale", "quick"], "s4"),
        (["search", "--optimizer", "DARTS"], "DARTS darts"),
        (["search", "--optimizer", "regularized-evolution"], "regularized-evolution blackbox"),
        (["tune", "--optimizer", "reinforce"], "reinforce blackbox"),
        (["blackbox", "--optimizer", "darts"], "darts one-shot search"),
        (["search", "--seeds", "5-"], "--seeds 5- 0-5 1,3,8"),
        (["search", "--seeds", "0-99999999999999"], "--seeds 10,000"),
        (["search", "--seeds", "0-1", "--seed", "5", "--scale", "quick"], "--seeds --seed"),
        (["search", "--seeds", "0-1", "--resume", "nowhere"], "--resume seed --seeds"),
        (["search", "--resume", "nowhere"], "'nowhere'"),
        (["search", "--resume", "nowhere", "--workers", "2"], "'nowhere'"),
        (["blackbox", "--overwrite"], "--overwrite --allow-module"),
        (["search", "--epochs", "1.5"], "--epochs 1.5"),
        (["compare", "runs/x", "--over", "epoch"], "--over epoch epochs"),
        (["query", "foo"], "foo s1:0|0,1|0,2|1,3|2,4:"),
        (["search"], "cifar10-sample --scale"),
        (["report", "nowhere"], "'nowhere'"),
        (["query", "s1:0|0,1"], "'s1:0|0,1'"),
        (["query", "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv5x5"], "conv5x5"),
        (["query", "00ff"], "00ff 32"),
        (["query", "0" * 32], f"{0:032}"),
        (["table", "info", "--table", "nowhere"], "nowhere embedded"),
        (["data", "import", "nowhere.npz"], "nowhere.npz"),
    ],
)
def test_bad_input_gives_one_sentence_and_exit_code_2(tmp_path, arguments, values):
    fails(command(*arguments, cwd=tmp_path), *values.split())
    assert list(tmp_path.iterdir()) == []


def test_a_current_folder_that_was_removed_is_reported_in_one_sentence(tmp_path, monkeypatch, capsys):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with exits(capsys, "folder", "exists"):
        cli.main(["space", "s1"])


def test_ctrl_c_denies_only_that_anything_new_was_recorded(monkeypatch, capsys):
    def stop(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("nasbench1shot1.commands.table.List.run", stop)
    with pytest.raises(SystemExit) as caught:
        cli.main(["table", "list"])
    assert caught.value.code == cli.INTERRUPTED
    assert "anything new was recorded" in capsys.readouterr().err


def test_help_lists_every_command_and_every_option(searched):
    from nasbench1shot1.cli import COMMANDS
    from nasbench1shot1.one_shot_search.options import search_options

    overview = command("--help").stdout
    assert all(name in overview for name in COMMANDS)
    options = new_process("search", "--help")
    assert options.returncode == 0
    known = {*search_options({"scale": "quick"}).as_dict(), "out", "resume", "seeds", "allow_module"}
    assert [name for name in known if "--" + name.replace("_", "-") not in options.stdout] == []


@pytest.mark.parametrize(
    "name", ["report", "space", "query", "table info", "table verify", "table build", "data import"]
)
def test_every_command_has_help(name):
    done = new_process(*name.split(), "--help")
    assert done.returncode == 0, done.stderr
    assert f"nb1shot1 {name}" in done.stdout


def test_query_states_the_source_of_every_value():
    table = nb.load_table()
    arch = nb.search_space("s1")[100]
    screen = new_process("query", str(arch)).stdout
    metrics = table.query(arch)
    assert arch.cell.hash in screen
    assert table.id in screen
    assert f"{metrics.test_accuracy:.4f}" in screen
    assert "predicted" in screen
    assert "exact" in screen
    assert f"{100 * table.regret(arch):.2f} %" in screen
    assert "not in this table" in screen  # training accuracy


def test_query_accepts_an_official_index_of_nasbench201(tmp_path):
    done = command("query", "6111", "--table", "nb201", "--dataset", "cifar10", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert nb.search_space("nb201")[6111].official in done.stdout.replace("\n", "")
    assert "0.9437" in done.stdout
    assert not missing(command("query", "15625", "--table", "nb201", cwd=tmp_path).stderr, 15625)


def test_table_info_as_json_equals_the_metadata_of_the_table(tmp_path):
    assert json.loads(new_process("table", "info", "--json").stdout)["id"] == nb.load_table().id
    assert "all columns match their checksums" in command("table", "verify").stdout
    assert "66,111 cells" in command("table", "info").stdout


def test_report_writes_next_to_the_run(searched):
    folder, _ = searched
    done = command("report", str(folder))
    assert done.returncode == 0, done.stderr
    out = folder / f"report-{nb.load_table().id}"
    assert {path.name for path in out.iterdir()} == {"metrics.jsonl", "summary.json", "regret.png", "regret.csv"}
    assert "predicted" in done.stdout


@pytest.mark.parametrize("name", ["correlate", "search"])
def test_help_shows_optional_values_as_a_user_writes_them(name, tmp_path):
    done = command(name, "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "None}" not in done.stdout
    assert "{None" not in done.stdout
    assert "--out PATH" in done.stdout
    assert "--threads INT" in done.stdout


IMPORTED = ("queue", "random", "copy", "numpy", "types")
"""Modules that the command `space` imports."""


@pytest.mark.parametrize(
    ("start", "names"),
    [
        ([Path(sys.executable).parent / "nb1shot1"], IMPORTED),
        ([sys.executable, "-m", "nasbench1shot1"], IMPORTED[:-1]),  # Python starts with types
        ([sys.executable, "-P", "-m", "nasbench1shot1"], IMPORTED),
    ],
)
def test_modules_of_python_are_not_imported_from_the_current_folder(start, names, tmp_path):
    for name in names:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the current folder')")
    done = subprocess.run([*start, "space", "s1"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
