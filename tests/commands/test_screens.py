"""Details of output and messages: plurals, repeats, help, and a file given instead of a table."""

import re
from io import StringIO
from pathlib import Path

import numpy as np
import official_files as official
import pandas as pd
import pytest
from command_line import command
from refusals import exits, refuses
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.cli import main
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.text import counted
from nasbench1shot1.one_shot_search.screen import SearchProgress
from nasbench1shot1.tables.importing import import_table
from nasbench1shot1.tables.names import tables_folder


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 epochs"), (1, "1 epoch"), (2, "2 epochs"), (66_111, "66,111 epochs")]
)
def test_one_takes_the_singular(number: int, text: str) -> None:
    assert counted(number, "epoch") == text


def test_a_query_with_a_budget_of_one_epoch(
    tmp_path: Path, real_cells: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trainings = official.made_up(official.graphs_of(real_cells, slice(0, 2)), (1, 2))
    file = official.write_file(tmp_path / "short.tfrecord", trainings)
    import_table(file, tmp_path / "short", epochs=[1, 2], report=lambda line: None)
    known = nb.load_table(tmp_path / "short").hashes(0)[0]
    for epochs, text in (("1", "after 1 epoch"), ("2", "after 2 epochs")):
        main(["query", known, "--epochs", epochs, "--table", str(tmp_path / "short")])
        assert capsys.readouterr().out.splitlines()[0].rstrip() == f"{known} {text}"


def test_a_query_of_several_data_sets_names_the_option_that_selects_one(capsys: pytest.CaptureFixture[str]) -> None:
    main(["query", "6111", "--table", "nb201"])
    last = capsys.readouterr().out.splitlines()[-1]
    words = last.rstrip(".").split()[-2:]
    assert words[0] == "--dataset" and words[1] in nb.load_table("nb201").datasets
    main(["query", "6111", "--table", "nb201", *words])
    assert "--dataset" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["embedded", "nb201"])
def test_table_info_explains_columns_without_a_metric(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["table", "info", "--table", name])
    table, heading = nb.load_table(name), "Columns without a metric (keys, encodings, and memberships in spaces): "
    (shown,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith(heading)]
    columns = table.description["columns"].items()
    members = [column for column, about in columns if "metric" not in about and column.startswith("member_")]
    assert members and set(members) < set(shown.removeprefix(heading).split(", "))


def test_table_info_reports_the_number_of_repeats(
    tmp_path: Path, real_cells: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trainings = official.made_up(official.graphs_of(real_cells, slice(0, 2)), (108,))
    import_table(official.write_file(tmp_path / "a.tfrecord", trainings), tmp_path / "a", report=lambda line: None)
    main(["table", "info", "--table", str(tmp_path / "a")])
    first, images, where, *_ = capsys.readouterr().out.splitlines()
    assert first.endswith("2 cells, budget of 108 epochs, 3 repeats per cell and budget")
    assert images == "Data set: cifar10"
    assert where == f"Folder: {tmp_path / 'a'}", "no empty line for a table that lists no space"
    main(["table", "info"])
    assert (
        capsys.readouterr()
        .out.splitlines()[0]
        .endswith("budgets of 4, 12, 36, 108 epochs, 1 repeat per cell and budget")
    )


@pytest.mark.parametrize(
    ("evaluated", "shown"),
    [((6,), "6"), ((3, 6), "3, 6"), ((1, 2, 3, 4, 6), "5 of 6 epochs"), ((1, 2, 3, 4, 5, 6), "1 to 6")],
)
def test_table_info_names_the_epochs_at_which_learning_curves_have_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], evaluated: tuple[int, ...], shown: str
) -> None:
    keys = [(arch, epochs) for arch in nb.load_table("nb201").hashes(range(2)) for epochs in range(1, 7)]
    frame = pd.DataFrame(keys, columns=["architecture", "epochs"]).assign(repeat=0, test_accuracy=0.5)
    frame["curve6_test_accuracy"] = np.where(frame["epochs"].isin(evaluated), 0.25, np.nan)
    frame["curve6_train_accuracy"] = np.where(frame["architecture"] == keys[0][0], 0.25, np.nan)
    nb.table_from_frame(frame, space=nb.search_space("nb201"), reference="present").save(tmp_path / "own")
    main(["table", "info", "--table", str(tmp_path / "own")])
    cells = [[cell.strip() for cell in line.split("│")[1:4]] for line in capsys.readouterr().out.splitlines()]
    assert ["test_accuracy", shown, "learning curves"] in cells
    assert ["train_accuracy", "1 to 6", "learning curves"] in cells


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (("statistics",), ("[ANALYSIS …]", "(default: all)")),
        (("table", "import"), ("--epochs INT …", "(default: 4 12 36 108)")),
    ],
)
def test_help_describes_options_with_several_values(line: tuple[str, ...], shown: tuple[str, ...]) -> None:
    screen = " ".join(command(*line, "--help").stdout.split())
    assert [text for text in shown if text not in screen] == []
    assert "[STR" not in screen
    assert "[INT" not in screen


# A file instead of a table -------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path, real_cells: Path, home: Path) -> Path:
    trainings = official.made_up(official.graphs_of(real_cells, slice(0, 2)))
    return official.write_file(tmp_path / "thesis.tfrecord", trainings)


@pytest.mark.parametrize("kind", [str, Path])
def test_the_refusal_of_a_file_explains_how_to_import_it(kind: type, file: Path) -> None:
    expected = f"{file} is a file, but a table is a folder: run `nb1shot1 table import {file}`, then give the table's"
    with pytest.raises(InvalidInputError) as caught:
        nb.load_table(kind(file))
    assert str(caught.value) == f"{expected} name, thesis"
    import_table(file, tables_folder() / "thesis", report=lambda line: None)
    assert len(nb.load_table("thesis")) == 2


def test_the_error_about_a_missing_official_file_suggests_the_download(home: Path) -> None:
    with refuses(InvalidInputError, "'nasbench_full.tfrecord'", "nb1shot1"):
        nb.load_table("nasbench_full.tfrecord")


# Building a network needs a cell, not a hash -------------------------------------------------------------------------


def test_the_advice_in_the_refusal_of_a_hash_works() -> None:
    table, arch = nb.load_table(), nb.search_space("s1")[0]
    with pytest.raises(InvalidInputError, match=r"table\.cell\(table\.row_of\(hash\)\)"):
        nb.build_network(arch.cell.hash)
    small = {"stem_channels": 8, "cells_per_stack": 1}
    for named in (table.cell(table.row_of(arch.cell.hash)), nb.Architecture.parse(str(arch))):
        assert nb.build_network(named, **small).cell == arch.cell


def test_the_bar_of_a_search_shows_and_counts_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three epochs of four steps: an epoch trains for 2 seconds and is evaluated for 6."""
    now = [0.0]
    monkeypatch.setattr("nasbench1shot1.one_shot_search.screen.time.monotonic", lambda: now[0])
    line = {"train_loss": None, "one_shot_validation_error": 0.9, "test_regret": 0.01, "validation_regret": 0.01}
    console = Console(file=StringIO(), force_terminal=True, width=100)
    with SearchProgress([4] * 3, 0, console) as progress:
        task = progress._bar.tasks[0]
        assert task.description == "epoch 0/3  measuring the untrained supernet"
        assert SearchProgress([4] * 3, 4, console)._bar.tasks[0].description == "epoch 3/3", "a finished search"
        progress.epoch_done({**line, "epoch": 0, "search_seconds": 1})
        for epoch, shares in ((1, [1, 2, 3, 4]), (2, [4.25, 4.5, 4.75, 5])):
            said = []
            for share in shares:
                now[0] += 0.5
                progress.step(epoch, None)
                assert task.completed == pytest.approx(share)
                said.append(task.description.split("  ")[1])
            assert said == ["training"] * 3 + ["evaluating"]
            now[0] += 6
            progress.epoch_done({**line, "epoch": epoch, "search_seconds": 8})
            assert task.completed == 4 * epoch
        progress.step(3, 1.5)
        assert task.description == "epoch 3/3  loss 1.500  test regret 1.00 %"


def test_table_list_shows_bundled_and_imported_tables_and_marks_the_default(
    tmp_path: Path, real_cells: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NB1SHOT1_DATA", str(tmp_path))
    monkeypatch.setenv("NB1SHOT1_TABLE", "mine")
    trainings = official.made_up(official.graphs_of(real_cells, slice(0, 2)), (108,))
    file = official.write_file(tmp_path / "a.tfrecord", trainings)
    import_table(file, tables_folder() / "mine", report=lambda line: None)
    (tables_folder() / "broken").mkdir()
    (tables_folder() / "broken" / "meta.json").write_text("{")
    main(["table", "list"])
    rows = [line.split("│")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    found = {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in rows if cells[0].strip()}
    assert list(found) == ["embedded", "nb101-5v", "nb101-sample", "nb201", "nats-size", "broken", "mine (in use)"]
    assert found["mine (in use)"][1:] == ["2", "108"]
    assert found["broken"][0].startswith("unusable")


def test_data_info_prints_one_fact_per_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A long path is not broken, so that it can be copied."""
    data = tmp_path / ("long-name/" * 12)
    monkeypatch.setenv("NB1SHOT1_DATA", str(data))
    np.savez(tmp_path / "mine.npz", images=np.zeros((3, 8, 8, 3), np.uint8), labels=np.arange(3))
    main(["data", "import", str(tmp_path / "mine.npz")])
    capsys.readouterr()
    main(["data", "info"])
    sets = [section.splitlines() for section in capsys.readouterr().out.split("\n\n")]
    facts = [dict(re.split(r": +", line, maxsplit=1) for line in lines) for lines in sets]
    assert [of["name"] for of in facts] == ["cifar10-sample", "mine"]
    assert facts[1]["data set"] == "your own: 3 classes, 8 × 8 pixels"
    assert str(data) in facts[1]["path"]


@pytest.mark.parametrize(("word", "commands"), [("table", "list info verify import download build"), ("data", "info")])
def test_help_of_a_group_lists_its_commands(word: str, commands: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([word, "--help"])
    shown = capsys.readouterr().out
    assert all(f"  {word} {name} " in shown for name in commands.split())


@pytest.mark.parametrize("command", ["query", "train"])
def test_an_architecture_truncated_by_the_shell_is_explained(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with exits(capsys, "|"):
        main([command, "s1:0"])


@pytest.mark.parametrize("words", [[], ["table"], ["data"]], ids=" ".join)
def test_an_overview_fits_a_terminal_of_80_columns(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    main([*words, "--help"])
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) > 5
    assert max(map(len, shown)) <= 80


def test_the_bar_weighs_steps_by_their_images() -> None:
    """Two epochs of 60 images, in 6 and in 3 steps."""
    console = Console(file=StringIO(), force_terminal=True, width=100)
    with SearchProgress([6, 3], 1, console, images=[60, 60]) as progress:
        task, done = progress._bar.tasks[0], []
        for epoch, steps in ((1, 6), (2, 3)):
            for _ in range(steps):
                progress.step(epoch, None)
                done.append(task.completed)
            progress._step = 0  # as after an epoch, without its time
    assert task.total == 120 and done == pytest.approx([*range(10, 70, 10), 80, 100, 120])
