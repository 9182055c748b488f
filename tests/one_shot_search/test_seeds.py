"""Groups of seeds: input is checked before writing, and the record is checked on resuming."""

import json
import shutil
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import exits, refuses
from rich.console import Console
from tiny_search import TINY

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.one_shot_search import loop
from nasbench1shot1.runs import machine

QUIET = Console(quiet=True)
SMALL = {**TINY, "epochs": 1}


@pytest.mark.parametrize("seeds", [[0, -1], [0, "one"], [0, 1.5], [0, True], [1, 1]])
def test_a_bad_second_seed_is_refused_before_the_first_search(tmp_path, seeds):
    with pytest.raises(nb.InvalidInputError) as caught:
        nb.search_seeds(seeds, out=tmp_path / "group", console=QUIET, **SMALL)
    assert "seed" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "leftovers",
    [[], [f".lock.{step}.1.{0:032x}" for step in ("break", "restore")]],
    ids=["empty", "leftovers of a lock"],
)
def test_an_empty_folder_becomes_a_new_group(tmp_path, leftovers):
    (tmp_path / "group").mkdir()
    for name in leftovers:
        (tmp_path / "group" / name).touch()
    group = nb.search_seeds([0], out=tmp_path / "group", console=QUIET, **SMALL)
    assert repr(group) == repr(nb.load_run(tmp_path / "group"))
    assert [run.folder.name for run in group] == ["seed-0"]
    assert nb.draw_regret(group).get_lines()


def test_a_folder_is_opened_for_advice_only_if_it_is_refused(tmp_path, monkeypatch):
    opened: list[Path] = []
    monkeypatch.setattr("nasbench1shot1.one_shot_search.seeds.replace_advice", lambda folder, _: opened.append(folder))
    nb.search_seeds([0], out=tmp_path / "group", console=QUIET, **SMALL)
    assert opened == []
    with pytest.raises(nb.InvalidInputError):
        nb.search_seeds([0], out=tmp_path / "group", console=QUIET, **SMALL)
    assert opened == [tmp_path / "group"]


def test_searches_that_were_run_one_by_one_become_a_group(tmp_path):
    """As a job array of Slurm runs them."""
    folder, shared = tmp_path / "group", {**SMALL, "console": QUIET}
    alone = nb.search(out=folder / "seed-1", seed=1, **shared)
    before = (alone.folder / "metrics.jsonl").read_bytes()
    with refuses(nb.InvalidInputError, "seed-1", "optimizer"):
        nb.search_seeds([0, 1], out=folder, optimizer="gdas", **shared)
    with refuses(nb.InvalidInputError, "group"):
        nb.search_seeds([0], out=folder, **shared)
    assert [path.name for path in folder.glob("[!.]*")] == ["seed-1"]
    group = nb.search_seeds([0, 1], out=folder, **shared)
    assert [run.config["seed"] for run in group] == [0, 1]
    assert (alone.folder / "metrics.jsonl").read_bytes() == before
    assert group.is_finished


def test_the_rest_of_a_start_that_was_killed_does_not_block_a_group(tmp_path):
    folder, shared = tmp_path / "group", {**SMALL, "console": QUIET}
    nb.search(out=folder / "seed-0", **shared)
    for seed, names in {1: ["environment.json", ".config.json.1.part"], 2: []}.items():
        (folder / f"seed-{seed}").mkdir()
        for name in names:
            (folder / f"seed-{seed}" / name).write_text("{}")
    (folder / "seed-1" / "notes.txt").touch()
    with refuses(nb.InvalidInputError, folder):
        nb.search_seeds([0, 1, 2], out=folder, **shared)
    (folder / "seed-1" / "notes.txt").unlink()
    assert nb.search_seeds([0, 1, 2], out=folder, **shared).is_finished


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_searches_that_cannot_become_longer_stay_finished(tmp_path):
    images = tmp_path / "own.npz"
    pixels = np.random.default_rng(0).integers(0, 256, (120, 16, 16, 3), dtype=np.uint8)
    np.savez(images, images=pixels, labels=np.arange(120) % 10)
    folder = tmp_path / "group"
    nb.search_seeds([0, 1], out=folder, console=QUIET, images=images, **SMALL)
    before = contents(folder)
    images.rename(tmp_path / "moved.npz")
    with refuses(nb.UserError, images):
        nb.search_seeds(resume=folder, epochs=2, console=QUIET)
    np.savez(images, images=255 - pixels, labels=np.arange(120) % 10)
    with refuses(nb.InvalidInputError, folder / "seed-0"):
        nb.search_seeds(resume=folder, epochs=2, console=QUIET)
    assert contents(folder) == before
    (tmp_path / "moved.npz").replace(images)
    (folder / "seed-1" / "checkpoint.pt").write_bytes(b"damaged")
    with refuses(nb.DamagedFileError, folder / "seed-1" / "checkpoint.pt"):
        nb.search_seeds(resume=folder, epochs=2, console=QUIET)
    group = nb.load_run(folder)
    assert [(run.is_finished, len(run.lines)) for run in group] == [(True, 3), (True, 2)]
    assert not group.is_finished and "1 of 2 finished" in repr(group)


def test_a_search_whose_phases_would_move_is_not_taken_into_a_longer_group(tmp_path):
    folder, shared = tmp_path / "group", {**TINY, "optimizer": "darts-pt", "selection_epochs": 1, "console": QUIET}
    nb.search(out=folder / "seed-0", **{**shared, "epochs": 2})
    before = contents(folder)
    with refuses(nb.InvalidInputError, folder / "seed-0", "selection", options="epochs"):
        nb.search_seeds([0, 1], out=folder, **{**shared, "epochs": 6})
    assert contents(folder) == before


def test_the_first_error_of_searches_in_this_process_ends_the_group(tmp_path):
    folder, error = tmp_path / "group", ZeroDivisionError("mine")

    def fail(epoch):
        raise error

    with pytest.raises(ZeroDivisionError) as caught:
        nb.search_seeds([0, 1], out=folder, callbacks=[fail], console=QUIET, **{**SMALL, "epochs": 2})
    assert caught.value is error
    assert caught.traceback[-1].name == "fail"
    assert {path.name for path in folder.iterdir()} == {"seeds.json", "seed-0"}
    seen = []
    group = nb.search_seeds(resume=folder, callbacks=[seen.append], console=(screen := Console(file=StringIO())))
    assert [epoch.folder.name for epoch in seen] == 2 * ["seed-0"] + 3 * ["seed-1"]  # epoch 0 of seed 0 was recorded
    assert group.is_finished
    assert screen.file.getvalue().count("Picture:") == 2


def test_any_error_before_the_first_epoch_removes_a_new_group(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "evaluate", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        nb.search_seeds([0, 1], out=tmp_path / "group", console=QUIET, **SMALL)
    assert list(tmp_path.iterdir()) == []


DAMAGES = {
    "mixed types": {"seeds": [0, "1"]},
    "no seeds": {"seeds": []},
    "a repeated seed": {"seeds": [0, 0]},
    "seeds as text": {"seeds": "0-1"},
    "options as a list": {"options": []},
    "an option of another type": {"options": {"epochs": "one"}},
    "an unknown option": {"options": {"epoch": 1}},
    "an unknown optimizer": {"options": {"optimizer": "dart"}},
}


@pytest.fixture(scope="module")
def group(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("groups") / "group"
    nb.search_seeds([0], out=folder, console=QUIET, **SMALL)
    return folder


@pytest.mark.parametrize("name", ["regret.png", "cells.png"])
def test_resuming_a_finished_group_draws_missing_pictures(group, name):
    picture = group / "seed-0" / name
    before = picture.read_bytes()
    picture.unlink()
    nb.search_seeds(resume=group, console=QUIET)
    assert picture.read_bytes() == before


@pytest.mark.parametrize("workers", [1, 2])
def test_resuming_a_finished_search_shows_its_result_without_a_table(group, workers):
    nb.search_seeds([], resume=group, workers=workers, console=(screen := Console(file=StringIO(), width=200)))
    first, second, *_ = screen.file.getvalue().splitlines()
    assert first == f"{group / 'seed-0'} is already finished."
    assert second.startswith("Picture of all: ")


def test_a_search_without_its_options_is_found_before_a_group_is_resumed(group):
    config = group / "seed-0" / "config.json"
    config.rename(kept := group.parent / "config.json")
    try:
        with refuses(nb.DamagedFileError, config, group / "seed-0", options=""):
            nb.search_seeds(resume=group, console=QUIET)
    finally:
        kept.rename(config)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_record_of_a_group_is_refused(group, damage):
    path = group / "seeds.json"
    whole = path.read_text()
    try:
        content = json.loads(whole)
        options = damage.get("options")
        merged = {**content["options"], **options} if isinstance(options, dict) else options
        path.write_text(json.dumps({**content, **damage, **({} if options is None else {"options": merged})}))
        with pytest.raises(nb.UserError, match=r"seeds\.json|optimizer"):
            nb.search_seeds([], resume=group, console=QUIET)
        with pytest.raises(SystemExit) as ended:
            cli.main(["search", "--resume", str(group)])
        assert ended.value.code == 2
    finally:
        path.write_text(whole)


def test_a_new_group_names_an_option_in_which_an_existing_group_differs(group):
    shared = nb.load_run(group).options
    with refuses(nb.InvalidInputError, group, options="overwrite out"):
        nb.search_seeds([0, 1], out=group, console=QUIET, **shared)
    with refuses(nb.InvalidInputError, group, 0.5, options="weight_decay overwrite out"):
        nb.search_seeds([0, 1], out=group, console=QUIET, **{**shared, "weight_decay": 0.5})


def test_a_group_whose_seeds_have_other_options_is_refused(group):
    path = group / "seeds.json"
    whole = path.read_text()
    try:
        content = json.loads(whole)
        path.write_text(json.dumps({**content, "options": {**content["options"], "weight_decay": 0.5}}))
        with refuses(nb.InvalidInputError, group / "seed-0", options="weight_decay epochs"):
            nb.search_seeds([], resume=group, console=QUIET)
    finally:
        path.write_text(whole)


@pytest.mark.parametrize("seeds", ["0-1" + 6000 * "9", 7000 * "9", "0-x"])
def test_seeds_that_are_not_a_list_are_refused(tmp_path, seeds, capsys):
    with exits(capsys):
        cli.main(["search", "--scale", "quick", "--out", str(tmp_path / "group"), "--seeds", seeds])
    assert list(tmp_path.iterdir()) == []


def test_a_report_on_a_full_disk_keeps_existing_files(group, tmp_path, monkeypatch):
    out = tmp_path / "report"
    cli.main(["report", str(group), "--out", str(out)])
    before = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}

    def full(*_):
        raise nb.UserError("no space left on the disk")

    monkeypatch.setattr("nasbench1shot1.experiments.reports.save_figure", full)
    with pytest.raises(SystemExit):
        cli.main(["report", str(group), "--out", str(out)])
    assert {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_report_does_not_overwrite_other_files(group, tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    with exits(capsys, tmp_path):
        cli.main(["report", str(group), "--out", str(tmp_path)])
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_searches_of_a_larger_machine_are_read_and_resumed_with_their_threads(tmp_path, monkeypatch):
    folder, options = tmp_path / "group", {**SMALL, "threads": 3}
    nb.search_seeds([0], out=folder, console=QUIET, **options)
    recorded = json.loads((folder / "seeds.json").read_text())
    (folder / "seeds.json").write_text(json.dumps({**recorded, "seeds": [0, 1]}))  # seed 1 has not begun
    monkeypatch.setattr(machine, "MOST_THREADS", 2)
    with refuses(nb.InvalidInputError, 3, options="threads"):
        nb.search(out=tmp_path / "new", console=QUIET, **options)
    with refuses(nb.InvalidInputError, 3, options="threads"):
        nb.search_seeds([0], out=tmp_path / "new", console=QUIET, **options)
    assert not (tmp_path / "new").exists()
    group = nb.search_seeds(resume=folder, console=QUIET)
    assert [run.config["threads"] for run in group] == [3, 3]
    assert nb.search(resume=folder / "seed-0", epochs=2, console=QUIET).config["threads"] == 3


def test_resuming_without_the_recorded_gpu_does_not_advise_another_device(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    folder = tmp_path / "group"
    nb.search_seeds([0], out=folder, console=QUIET, **SMALL)
    for recorded in (folder / "seeds.json", folder / "seed-0" / "config.json"):
        recorded.write_text(recorded.read_text().replace('"cpu"', '"cuda:1"'))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for resume, run in ((nb.search_seeds, folder), (nb.search, folder / "seed-0")):
        with refuses(nb.InvalidInputError, run, "cuda:1", "GPU", options="") as caught:
            resume(resume=run, console=QUIET)
        assert not isinstance(caught.value, nb.DamagedFileError)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_an_error_on_resuming_keeps_a_group_in_which_no_search_has_begun(tmp_path):
    folder = tmp_path / "group"
    nb.search_seeds([0], out=folder, console=QUIET, **SMALL)
    shutil.rmtree(folder / "seed-0")
    before = (folder / "seeds.json").read_bytes()
    with refuses(nb.UserError, "nope.pem"):
        nb.search_seeds(resume=folder, scheduler="tls://x:1", tls_ca_file="nope.pem", console=QUIET)
    assert (folder / "seeds.json").read_bytes() == before
