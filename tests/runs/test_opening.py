"""`nb.open_run` opens every kind of run; a module that only a record names is not imported."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from refusals import exits, refuses
from rich.console import Console
from tiny_search import search

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.cell_training.options import options_of
from nasbench1shot1.experiments.correlation.options import ranking_options
from nasbench1shot1.one_shot_search.options import SearchConfig, recorded_search
from nasbench1shot1.proxy_training.record import proxy_config
from nasbench1shot1.runs.machine import MOST_THREADS
from nasbench1shot1.runs.options import absolute_file, recorded_options
from nasbench1shot1.runs.running import check_equal_options

CELL = "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"
QUIET = Console(quiet=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> nb.Run:
    return search(tmp_path_factory.mktemp("opened") / "run", epochs=1)


def test_a_search_and_a_cell_training_are_opened_by_the_kind_in_their_configuration(run, tmp_path):
    small = {"scale": "quick", "epochs": 1, "stem_channels": 2, "stacks": 1, "device": "cpu", "threads": 1}
    training = nb.train_cell(CELL, out=tmp_path / "training", console=QUIET, **small)
    assert type(nb.open_run(run.folder)) is nb.Run
    assert type(nb.open_run(training.folder)) is type(training)
    assert json.loads((run.folder / "config.json").read_text())["kind"] == "search"
    assert json.loads((training.folder / "config.json").read_text())["kind"] == "cell training"
    with refuses(nb.InvalidInputError, training.folder, "nb.open_run"):
        nb.load_run(training.folder)


@pytest.mark.parametrize(
    ("recorded", "given", "said"),
    [
        (None, "present", "(without --reference, not with present)"),
        ("present", None, "(--reference present, not without it)"),
        ("s1", "present", "(--reference s1, not present)"),
    ],
)
def test_an_option_that_was_not_given_is_named_without_a_value(recorded, given, said):
    with refuses(nb.InvalidInputError, "runs/f2", "another search") as refused:
        check_equal_options(Path("runs/f2"), {"reference": recorded}, {"reference": given}, "search")
    assert said in refused.value.for_command_line and "None" not in str(refused.value)


def test_a_record_reads_its_own_folder_after_the_current_folder_has_changed(run, tmp_path, monkeypatch):
    shutil.copytree(run.folder, tmp_path / "here" / "run")
    shutil.copytree(run.folder, tmp_path / "there" / "run")
    (tmp_path / "there" / "run" / "metrics.jsonl").write_text("")
    (tmp_path / "there" / "run" / "summary.json").unlink()
    monkeypatch.chdir(tmp_path / "here")
    found = nb.open_run("run")
    assert found.folder == Path("run") and repr(found).startswith("Run('run': ")
    monkeypatch.chdir(tmp_path / "there")
    assert found.folder == tmp_path / "here" / "run"
    assert found.is_finished and found.lines == run.lines and found.summary == run.summary
    assert repr(found) == repr(run).replace(str(run.folder), str(tmp_path / "here" / "run"))
    monkeypatch.chdir(tmp_path / "here")
    assert found.folder == Path("run")


def test_options_of_a_machine_with_more_cores_can_be_read(run, tmp_path):
    """`MOST_THREADS` depends on the machine, so it applies only to new runs."""
    own = {"scale": "quick", "device": "cpu", "threads": 1}
    training = options_of(nb.Architecture.parse(CELL)).from_options(own)
    others = (training, proxy_config(own), ranking_options({"device": "cpu", "threads": 1}))
    for record, recorded in ((SearchConfig, run.config), *((type(of), vars(of)) for of in others)):
        many = {**recorded, "threads": 50 * MOST_THREADS}
        assert recorded_options(record, many, tmp_path / "config.json").threads == 50 * MOST_THREADS


def test_options_that_a_later_version_refuses_together_can_be_read(run, tmp_path):
    """A new search refuses flooding with this update since 2026-11-29."""
    own = {"update": "second-order", "flooding": 0.5}
    with refuses(nb.InvalidInputError, options="flooding update"):
        search(tmp_path / "new", **own)
    found = recorded_search({**run.config, **own}, tmp_path / "config.json").as_dict()
    assert {name: found[name] for name in own} == own


def test_a_kind_of_a_later_version_is_named(run, tmp_path):
    folder = Path(shutil.copytree(run.folder, tmp_path / "run"))
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**content, "kind": "dream"}))
    with refuses(nb.InvalidInputError, "dream"):
        nb.open_run(folder)


MODULE = """
from pathlib import Path
Path({mark!r}).touch()
from nasbench1shot1.optimizers.darts import DARTS

class Theirs(DARTS):
    pass
"""


@pytest.fixture
def theirs(run, tmp_path, monkeypatch) -> tuple[Path, Path]:
    """A run whose configuration names a third-party module, and the file that importing it would create."""
    mark = tmp_path / "imported"
    (tmp_path / "their_module.py").write_text(MODULE.format(mark=str(mark)))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "their_module", raising=False)
    folder = Path(shutil.copytree(run.folder, tmp_path / "run"))
    content = json.loads((folder / "config.json").read_text())
    content["options"]["optimizer"] = "their_module:Theirs"
    (folder / "config.json").write_text(json.dumps(content))
    return folder, mark


@pytest.mark.parametrize("command", [["report"], ["search", "--resume"], ["search", "--epochs", "2", "--resume"]])
def test_no_command_imports_a_module_because_a_configuration_names_it(theirs, command, capsys):
    folder, mark = theirs
    if command == ["report"]:
        cli.main([*command, str(folder)])
    else:
        with exits(capsys, "--allow-module their_module"):
            cli.main([*command, str(folder)])
    assert not mark.exists()


def test_python_does_not_import_a_module_because_a_configuration_names_it(theirs):
    folder, mark = theirs
    with refuses(nb.InvalidInputError, "their_module:Theirs"):
        nb.search(resume=folder, console=QUIET)
    assert not mark.exists()


@pytest.mark.parametrize("allowed", [{"allow_module": "their_module"}, {"optimizer": "their_module:Theirs"}])
def test_a_module_named_by_the_caller_is_imported(theirs, allowed):
    folder, mark = theirs
    with refuses(nb.InvalidInputError, folder):  # the checkpoint was written by DARTS
        nb.search(resume=folder, console=QUIET, **allowed)
    assert mark.exists()


def test_the_network_of_a_run_does_not_import_a_space_named_only_by_its_configuration(theirs):
    folder, mark = theirs
    content = json.loads((folder / "config.json").read_text())
    content["options"].update(optimizer="darts", space="their_module:SPACE")
    (folder / "config.json").write_text(json.dumps(content))
    (folder / "weights").mkdir()
    (folder / "weights" / "epoch-001.pt").touch()
    with refuses(nb.InvalidInputError, "their_module:SPACE"):
        nb.load_run(folder).supernet(1)
    assert not mark.exists()


def test_a_space_given_by_reference_is_not_imported(theirs):
    folder, mark = theirs
    content = json.loads((folder / "config.json").read_text())
    content["options"].update(optimizer="darts", space="their_module:SPACE")
    (folder / "config.json").write_text(json.dumps(content))
    with refuses(nb.InvalidInputError, "their_module:SPACE"):
        nb.search(resume=folder, console=QUIET)
    assert not mark.exists()


@pytest.mark.parametrize("name", ["search", "blackbox", "tune", "train", "correlate"])
def test_a_run_of_another_command_is_not_resumed(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    owners = {"search": "search", "black-box study": "blackbox", "tuning": "tune", "ranking": "correlate"}
    owners |= {"cell training": "train", "NAS-Bench-201 training": "train"}
    for kind, owner in owners.items():
        (tmp_path / "run").mkdir(exist_ok=True)
        (tmp_path / "run" / "config.json").write_text(json.dumps({"kind": kind, "options": {"optimizer": "random"}}))
        if owner != name:
            with pytest.raises(SystemExit):
                cli.main([name, "--resume", "run"])
            words = {"tuning": "a tuning study", "NAS-Bench-201 training": f"an {kind}"}.get(kind, f"a {kind}")
            told = capsys.readouterr().err
            assert told == f"nb1shot1: 'run' is {words}: resume it with nb1shot1 {owner} --resume run\n"


def test_a_finished_run_is_not_advised_to_continue(run):
    with refuses(nb.InvalidInputError, run.folder, options="overwrite out"):
        search(run.folder, epochs=1)


def test_an_empty_list_of_seeds_is_refused():
    with refuses(nb.InvalidInputError, options="seeds"):
        nb.search_seeds([], scale="quick")


def test_a_word_without_an_extension_is_a_name_and_not_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("cifar10-sample", "own.npz", "set.v2"):
        (tmp_path / name).touch()
    assert absolute_file("cifar10-sample") == "cifar10-sample"
    assert absolute_file("own.npz") == str(tmp_path / "own.npz")
    assert absolute_file("./cifar10-sample") == str(tmp_path / "cifar10-sample")
    assert absolute_file("set.v2") == "set.v2"  # perhaps an imported image set
    assert absolute_file("set.v2", "config_space", suffix=None) == str(tmp_path / "set.v2")
    assert absolute_file("other.npz") == "other.npz" and absolute_file(None) is None
    assert search(tmp_path / "run", epochs=1).config["images"] == "cifar10-sample"
