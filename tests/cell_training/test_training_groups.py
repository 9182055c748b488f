"""Lists of architectures that are trained into a table: record, table, continuing, command line, and bad input."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import warm_process
from refusals import exits, refuses
from rich.console import Console
from tiny_training import (
    CELL,
    EDGES,
    TINY,
    TINY_EDGES,
    assert_same_training,
    train_edges,
    without_seconds,
    write_images,
)

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.cell_training.lists import listed, networks_of, read_list
from nasbench1shot1.ground.text import percent
from nasbench1shot1.nasbench101.cost import Skeleton, multiply_adds
from nasbench1shot1.nasbench101.features import flops
from nasbench1shot1.runs.folder import read_lines
from nasbench1shot1.tables.keys import RowKeys

QUIET = Console(quiet=True)
OTHER = "nb201:|avg_pool_3x3~0|+|none~0|nor_conv_1x1~1|+|skip_connect~0|none~1|avg_pool_3x3~2|"
THIRD = 4711
"""An official index."""
OPTIONS: dict[str, Any] = {**TINY_EDGES, "epochs": 3}


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_images(tmp_path_factory.mktemp("images") / "coloured.npz")


def words(options: dict[str, Any]) -> list[str]:
    """The command that trains a list with these options."""
    given = ([f"--{name.replace('_', '-')}", str(value)] for name, value in options.items())
    return ["train", *(word for pair in given for word in pair)]


def train(out: Path, images: Path, architectures: Any = (EDGES, THIRD), **options: Any) -> nb.TrainingGroup:
    return nb.train_cells(architectures, out=out, images=str(images), console=QUIET, **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def group(images: Path, tmp_path_factory: pytest.TempPathFactory) -> nb.TrainingGroup:
    """Two architectures, two seeds."""
    folder = tmp_path_factory.mktemp("group")
    return train(folder / "trainings", images, seeds=(0, 4), into=folder / "table")


@pytest.fixture
def copied(group: nb.TrainingGroup, tmp_path: Path) -> Path:
    shutil.copytree(group.folder, tmp_path / "trainings")
    return tmp_path / "trainings"


def test_every_training_is_an_ordinary_one(group: nb.TrainingGroup, images: Path, tmp_path: Path) -> None:
    alone = train_edges(tmp_path / "run", images, epochs=3, seed=4)
    assert_same_training(alone, nb.open_run(group.folder / "nb201-10192" / "seed-4"))
    assert [run.config["seed"] for run in group] == [0, 0, 4, 4]
    assert group[1].trained == group[3].trained == nb.search_space("nb201")[THIRD]
    found = nb.open_run(group.folder)
    assert isinstance(found, nb.TrainingGroup) and found.is_finished and len(found) == 4
    assert repr(found).endswith("2 architectures × 2 seeds, 4 of 4 trainings finished)")


def test_the_table_has_the_recorded_values_at_every_epoch(group: nb.TrainingGroup) -> None:
    table = nb.load_table(str(group.folder.parent / "table"))
    table.verify()
    assert table.id == group.table("table").id
    assert (len(table), table.epochs, table.seeds, table.curves) == (2, (3,), (0, 4), (3,))
    assert table.datasets == ("cifar10-valid",)
    for run in group:
        seed = run.config["seed"]
        for line in run.lines:
            found = table.query(run.trained, epochs=int(line["epochs"]), budget=3, run=seed)
            for name in ("validation_accuracy", "test_accuracy", "train_accuracy", "training_time"):
                assert found[name] == line[name]
                assert found.source(name) == "measured"
        end = table.query(run.trained, run=seed)
        assert (end.test_accuracy, end.training_time) == (run.final.test_accuracy, run.final.training_time)
        assert end.trainable_parameters == run.trainable_parameters
    mean = table.query(EDGES, run="mean").test_accuracy
    assert mean == pytest.approx(np.mean([run.final.test_accuracy for run in (group[0], group[2])]))
    told = table.info()
    assert "4 trainings of 3 epochs at the quick scale" in told["description"]
    assert told["trainings"]["options"]["learning_rate"] == 0.1 and not told["trainings"]["is_protocol"]
    assert told["trainings"]["environments"][0]["torch"]
    assert "1 thread" in told["columns"]["training_time"]["caveat"]


def test_a_table_of_own_images_does_not_name_cifar10(tmp_path: Path) -> None:
    rng, labels = np.random.default_rng(0), np.arange(210) % 3
    np.savez(tmp_path / "own.npz", images=rng.integers(0, 256, (210, 16, 16, 3)).astype(np.uint8), labels=labels)
    found = train(tmp_path / "trainings", tmp_path / "own.npz", [EDGES], seeds=[0], into=tmp_path / "table")
    table = nb.load_table(str(tmp_path / "table"))
    assert (found[0].summary["dataset"], table.datasets) == ("other", ("other",))
    assert found[0].dataset == "other" and list(found.to_frame()["dataset"]) == ["other"]
    assert table.query(EDGES).test_accuracy == found[0].final.test_accuracy


def test_the_frame_has_a_row_for_every_training(group: nb.TrainingGroup) -> None:
    frame = group.to_frame()
    assert len(frame) == 4 and set(frame["learning_rate"]) == {0.1} and set(frame["dataset"]) == {"cifar10-valid"}
    row = frame[(frame["seed"] == 4) & (frame["architecture"] == EDGES)].iloc[0]
    assert row["test_accuracy"] == group[2].final.test_accuracy
    assert row["network"] == EDGES.removeprefix("nb201:")
    assert row["flops"] > 10 * row["trainable_parameters"]


def test_a_notebook_shows_and_draws_trainings(group: nb.TrainingGroup) -> None:
    values = [run.summary["test_accuracy"] for run in group.runs]
    assert f">{percent(min(values))} to {percent(max(values))}, mean " in group._repr_html_()
    assert f">{percent(values[0])} (measured)</td>" in group[0]._repr_html_()
    ax = group[0].plot()
    drawn = {round(float(y), 6) for line in ax.lines for y in line.get_ydata() if y == y}
    assert round(100 * values[0], 6) in drawn
    both = {round(float(y), 6) for line in group.plot().lines for y in line.get_ydata() if y == y}
    assert {round(100 * value, 6) for value in values} <= both


def test_black_box_searches_and_statistics_read_the_table(
    group: nb.TrainingGroup, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = group.folder.parent / "table"
    space = ["--space", "nb201", "--table", str(table), "--epochs", "3"]
    study = ["--optimizer", "random", "--evaluations", "20000", "--repeats", "1", "--out", str(tmp_path / "study")]
    cli.main(["blackbox", *space, *study])
    (line,) = nb.open_run(tmp_path / "study").lines
    assert line["architecture"] in {str(run.trained) for run in group}
    cli.main(["statistics", "learning-curves", "--table", str(table), "--out", str(tmp_path / "statistics")])
    assert "epoch 1 to 3" in " ".join(capsys.readouterr().out.split())


def test_a_second_call_skips_resumes_and_extends(
    group: nb.TrainingGroup, copied: Path, images: Path, tmp_path: Path
) -> None:
    stopped = copied / "nb201-4711" / "seed-0"
    shutil.rmtree(stopped)
    kept = copied / "nb201-4711" / "seed-4" / "summary.json"
    before = kept.stat().st_mtime_ns
    longer = train(copied, images, [OTHER, EDGES, THIRD], seeds=[4, 0], into=tmp_path / "table")
    assert kept.stat().st_mtime_ns == before
    assert_same_training(group[1], nb.open_run(stopped))
    assert len(longer.table()) == 3 and longer[0].network_id == OTHER.removeprefix("nb201:")
    wanted = {"architectures": [OTHER, EDGES, THIRD], "seeds": range(5), "out": copied, "images": str(images)}
    assert nb.plan("train", measure=False, **wanted, **OPTIONS)["runs"].item() == 3 * 3  # new seeds
    assert nb.open_run(copied).seeds == (0, 4)
    train(copied, images, [OTHER, EDGES, THIRD], seeds=(0, 1, 4), into=tmp_path / "table")  # replaces its own table
    assert nb.load_table(str(tmp_path / "table")).seeds == (0, 1, 4)


KILLED = """
import os, signal, sys
from rich.console import Console
import nasbench1shot1 as nb
from nasbench1shot1.cell_training import loop

def kill(state, real=loop.train_step):
    if state.recipe.name == "nb201-10192" and state.step == 10:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(state)

loop.train_step = kill
nb.train_cells(eval(sys.argv[1]), out=sys.argv[2], console=Console(quiet=True), **eval(sys.argv[3]))
"""


def test_a_killed_call_continues_with_identical_results(group: nb.TrainingGroup, images: Path, tmp_path: Path) -> None:
    options = {**OPTIONS, "images": str(images), "seeds": [4]}
    ended = warm_process.python(KILLED, repr((THIRD, EDGES)), str(tmp_path / "run"), repr(options))
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not nb.open_run(tmp_path / "run").is_finished
    assert len(nb.open_run(tmp_path / "run").table()) == 1  # the other training is not finished
    for ours, theirs in zip(
        train(tmp_path / "run", images, (THIRD, EDGES), seeds=[4]), (group[3], group[2]), strict=True
    ):
        assert_same_training(theirs, ours)


def test_ctrl_c_says_where_finished_trainings_are_in_printable_characters(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = Mock(side_effect=KeyboardInterrupt)
    monkeypatch.setattr("nasbench1shot1.cell_training.several.run_jobs", stop)
    with refuses(KeyboardInterrupt, tmp_path / "trainings") as stopped:
        train(tmp_path / "trainings", images)
    assert str(stopped.value).isprintable()


def test_workers_give_the_same_results(group: nb.TrainingGroup, images: Path, tmp_path: Path) -> None:
    found = train(tmp_path / "run", images, [EDGES], seeds=(0, 4), workers=2)
    assert [without_seconds(run) for run in found] == [without_seconds(run) for run in (group[0], group[2])]


def test_cells_have_curves_and_halfway_values(images: Path, tmp_path: Path) -> None:
    hash_ = nb.Architecture.parse(CELL).network_id
    options = {**TINY, "images": str(images), "console": QUIET}
    found = nb.train_cells([CELL], out=tmp_path / "run", **options)
    alone = nb.train_cell(hash_, out=tmp_path / "alone", **options)
    (run,) = found
    assert [line["batch_loss"] for line in run.lines] == [line["batch_loss"] for line in alone.lines]
    assert [line["evaluation"] for line in run.lines] == ["initial", "epoch", "halfway", "epoch", "final"]
    assert [line["evaluation"] for line in alone.lines] == ["initial", None, "halfway", None, "final"]
    table = found.table()
    assert (table.benchmark.name, table.datasets, table.hashes([0])) == ("nasbench101", ("cifar10",), [hash_])
    assert table.query(hash_, halfway=True).test_accuracy == run.halfway.test_accuracy
    curve = [table.query(hash_, epochs=epoch, budget=4).validation_accuracy for epoch in range(1, 5)]
    assert curve == [line["validation_accuracy"] for line in run.lines[1:]]
    skeleton = Skeleton(stem_channels=4, stacks=3, cells_per_stack=1)
    assert table.query(hash_).flops == multiply_adds(run.trained, skeleton)


def test_multiply_adds_equal_the_counts_of_the_official_networks() -> None:
    rng, space = np.random.default_rng(0), nb.search_space("nb101")
    cells = [space.sample(rng).cell for _ in range(20)]
    codes = np.array([cell.encoding for cell in cells], np.uint64)
    assert [multiply_adds(cell) for cell in cells] == flops(codes).tolist()


def test_widths_are_trained_into_a_table(images: Path, tmp_path: Path) -> None:
    options = {"scale": "quick", "epochs": 1, "batch_size": 20, "threads": 1, "device": "cpu", "console": QUIET}
    found = nb.train_cells(["8:8:8:16:8"], out=tmp_path / "run", images=str(images), **options)
    official = nb.load_table("nats-size").query("8:8:8:16:8", dataset="cifar10")
    assert found.table().query("8:8:8:16:8").flops == official.flops


def test_a_list_has_comments_hashes_and_indices(tmp_path: Path) -> None:
    cell = nb.Architecture.parse(CELL)
    file = tmp_path / "list.txt"
    file.write_text(f"# cells\n\n  {CELL}  # a comment\n{nb.load_table().hashes([7])[0]}\n")
    assert [entry.place for entry in read_list(file)] == [f"line 3 of {file}", f"line 4 of {file}"]
    file.write_text(file.read_text().replace("# cells\n", "").replace("\n", "\r\n"), encoding="utf-8-sig", newline="")
    assert [entry.x for entry in read_list(file)] == [CELL, nb.load_table().hashes([7])[0]]  # as Windows writes it
    of, networks = networks_of(read_list(file), None)
    assert of.name == "nasbench101" and networks == [cell, nb.load_table().network(7)]
    of, networks = networks_of(listed([THIRD, EDGES]), None)  # the other entry determines the index's table
    assert [network.network_id for network in networks] == nb.load_table("nb201").hashes([4711, 10192])
    with refuses(nb.InvalidInputError, "architectures[0]", "4711"):
        networks_of(listed([THIRD]), None)
    assert networks_of(listed([THIRD]), nb.load_table("nb201"))[1] == networks[:1]


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ([EDGES, "nb201:|no|"], ["line 2", "|no|"]),
        ([EDGES, "15625"], ["line 2", "15625"]),
        ([EDGES, "# a comment", "10192"], ["line 3", "line 1"]),
        ([EDGES, CELL], ["line 2", "NAS-Bench-101", "NAS-Bench-201"]),
        (["# nothing"], ["list"]),
    ],
)
def test_a_bad_list_is_refused(
    lines: list[str], named: list[str], images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "list.txt").write_text("\n".join(lines))
    out, into = tmp_path / "run", tmp_path / "table"
    with exits(capsys, *named):
        cli.main(words({"list": tmp_path / "list.txt", "out": out, "into": into, "images": images, **OPTIONS}))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["list.txt"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"learning_rate": 0.2}, ["--learning-rate 0.1", "0.2", "--out"]),
        ({"epochs": 2}, ["--epochs 3", "2"]),
        ({"seeds": 0}, ["seed 4", "--seeds"]),
        ({"lines": EDGES}, ["nb201-4711", "--out"]),
        ({"into": "."}, ["."]),
        ({"out": "new", "into": "./new"}, ["--into", "new"]),
        ({"out": "new/runs", "into": "new"}, ["--into", "new"]),
        ({"out": "new", "into": "new/nb201-4711"}, ["--into", "new/nb201-4711"]),
        ({"out": "."}, ["--out"]),
        ({"batch_size": 1000, "out": "new"}, ["--batch-size"]),
    ],
)
def test_what_does_not_fit_a_group_is_refused(
    changes: dict[str, Any],
    named: list[str],
    group: nb.TrainingGroup,
    copied: Path,
    images: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.txt").write_text(str(changes.pop("lines", f"{EDGES}\n{THIRD}")))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    given = {"list": "list.txt", "out": copied, "seeds": "0,4", "images": images, **OPTIONS, **changes}
    with exits(capsys, *named):
        cli.main(words(given))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_the_table_of_other_trainings_is_not_replaced(group: nb.TrainingGroup, images: Path, tmp_path: Path) -> None:
    table = group.folder.parent / "table"
    before = (table / "meta.json").read_bytes()
    with refuses(nb.InvalidInputError, str(table), options="into"):
        train(tmp_path / "run", images, seeds=(0, 4), learning_rate=0.2, into=table)
    with refuses(nb.InvalidInputError, str(table), options="into"):
        train(tmp_path / "run", images, [OTHER], seeds=(0, 4), into=table)
    assert (table / "meta.json").read_bytes() == before and not (tmp_path / "run").exists()


def test_a_table_records_the_name_of_its_image_file_and_is_not_replaced_after_training_on_another(
    group: nb.TrainingGroup, images: Path, tmp_path: Path
) -> None:
    table = group.folder.parent / "table"
    before = (table / "meta.json").read_bytes()
    assert nb.load_table(table).info()["trainings"]["options"]["images"] == images.name
    assert str(images.parent).encode() not in before
    with np.load(images) as arrays:
        changed = {name: arrays[name] for name in arrays.files}
    changed["images"] = 255 - changed["images"]
    np.savez(tmp_path / images.name, **changed)
    with refuses(nb.InvalidInputError, str(table), options="into"):
        train(tmp_path / "run", tmp_path / images.name, [EDGES, THIRD], seeds=(0, 4), into=table)
    assert (table / "meta.json").read_bytes() == before


@pytest.mark.parametrize("given", [["--seeds", "0-1"], ["--into", "t"], ["--workers", "2"]])
def test_options_of_lists_need_a_list(given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with exits(capsys, given[0], "--list"):
        cli.main(["train", CELL, "--out", str(tmp_path / "run"), *given])
    assert not (tmp_path / "run").exists()


def test_a_list_excludes_what_a_single_training_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "list.txt").write_text(CELL)
    with exits(capsys, "--list", CELL):
        cli.main(["train", CELL, "--list", str(tmp_path / "list.txt")])
    with exits(capsys, "--seeds", "--seed"):
        cli.main(["train", "--list", str(tmp_path / "list.txt"), "--seed", "1"])


def test_diverged_trainings_do_not_stop_the_others(images: Path, tmp_path: Path) -> None:
    empty = "nb201:|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"  # its output does not depend on the images
    with refuses(nb.UserError, "nb201-10192/seed-0", "1 of 2"):
        train(tmp_path / "run", images, [EDGES, empty], learning_rate=1e18, weight_decay=0.0, into=tmp_path / "table")
    assert not (tmp_path / "table").exists()
    table = nb.open_run(tmp_path / "run").table()
    assert table.hashes(range(len(table))) == [empty.removeprefix("nb201:")]


def test_a_damaged_group_is_one_sentence(copied: Path) -> None:
    content = json.loads((copied / "trainings.json").read_text())
    first, *others = content["networks"]
    without_architecture = {name: value for name, value in first.items() if name != "architecture"}
    for change in (
        {"networks": 3},
        {"networks": []},
        {"networks": {"nb201-4711": first}},
        {"networks": [without_architecture, *others]},
        {"networks": [{**first, "architecture": 3}, *others]},
        {"networks": [{**first, "folder": "../elsewhere"}, *others]},
        {"benchmark": "none"},
        {"seeds": []},
        {"seeds": "04"},
        {"seeds": [0.5]},
        {"seeds": [-1]},
        {"seeds": [0, 0]},
        {"options": [["epochs", 3]]},
    ):
        (copied / "trainings.json").write_text(json.dumps({**content, **change}))
        with refuses(nb.DamagedFileError, str(copied / "trainings.json")):
            nb.open_run(copied)
    assert read_lines(copied / "nb201-4711" / "seed-0" / "metrics.jsonl")


@pytest.mark.parametrize("field", ["dataset", "flops", "test_accuracy", "training_time"])
def test_a_damaged_summary_of_a_training_is_refused(copied: Path, field: str) -> None:
    path = copied / "nb201-4711" / "seed-0" / "summary.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: {}}))
    for read in (nb.TrainingGroup.to_frame, nb.TrainingGroup.table):
        with refuses(nb.DamagedFileError, path, field):
            read(nb.open_run(copied))


def test_row_keys_without_new_tables_say_what_to_implement() -> None:
    class OwnKeys(RowKeys):
        pass

    with refuses(nb.InvalidInputError, "OwnKeys", "columns_of"):
        OwnKeys.columns_of([1])
