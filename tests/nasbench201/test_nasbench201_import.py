"""Import of NAS-Bench-201's `.pth` files and NATS-Bench's archives: small files of their formats, and damaged ones."""

import builtins
import bz2
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nasbench201_files as files
import numpy as np
import pytest
import torch
from command_line import command
from refusals import fails, refuses

from nasbench1shot1.api import nats_bench
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.nasbench201.benchmark import DATASETS, OFFICIAL_SETS
from nasbench1shot1.nasbench201.cost import edge_parameter_count
from nasbench1shot1.nasbench201.numbering import all_operations
from nasbench1shot1.tables.importing import check_own_name, import_table, open_official
from nasbench1shot1.tables.table import Table, load_table

pytestmark = pytest.mark.usefixtures("home")

INDICES = (284, 0, 11)


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    """Three architectures; one has no seeds 777 and 999 at 200 epochs, as in the official files."""
    made = files.pth_content(INDICES, files.ALL_SEEDS)
    full = made["arch2infos"][11]["full"]
    for dataset in DATASETS:
        for seed in (777, 999):
            del full["all_results"][dataset, seed]
        full["dataset_seed"][dataset] = [888]
    return made


def pth(folder: Path, content: dict[str, Any]) -> Path:
    return files.write_pth(folder / "NAS-Bench-201-mine.pth", content)


def archive(folder: Path, content: dict[str, Any]) -> Path:
    return files.write_archive(folder / "NATS-tss-mine-simple", content)


def single_file(folder: Path, content: dict[str, Any]) -> Path:
    return files.write_single_file(folder / "NATS-tss-mine.pickle.pbz2", content)


@pytest.mark.parametrize("write", [pth, archive, single_file])
def test_every_value_is_restored(
    write: Callable[[Path, dict[str, Any]], Path], content: dict[str, Any], tmp_path: Path
) -> None:
    lines: list[str] = []
    meta = import_table(write(tmp_path, content), tmp_path / "table", report=lines.append)
    table = load_table(tmp_path / "table")
    assert lines == []
    assert (len(table), table.datasets, table.epochs, table.repeats) == (3, DATASETS, (12, 200), 4)
    assert table.seeds == (111, 777, 888, 999)
    assert table.spaces == ()  # only three of the 15,625 architectures
    assert meta["source"]["records"] == 4 * (3 + 3 + 3 + 1)
    assert table.fidelity() == ""
    for index, of_budgets in content["arch2infos"].items():
        for of_budget in of_budgets.values():
            for (dataset, seed), fields in of_budget["all_results"].items():
                check_training(table, index, dataset, seed, fields)


def check_training(table: Table, index: int, dataset: str, seed: int, fields: dict[str, Any]) -> None:
    epochs = fields["epochs"]
    found = table.query(index, epochs, run=seed, dataset=dataset)
    assert found.train_loss == fields["train_losses"][epochs - 1]
    assert found.train_accuracy == pytest.approx(fields["train_acc1es"][epochs - 1] / 100, abs=1e-7)
    assert found.training_time == 7.5 * epochs
    assert (found.trainable_parameters, found.flops) == (129_306, 15_647_370)
    for split in ("validation", "test"):
        if (name := OFFICIAL_SETS[dataset].get(split)) is None:
            assert np.isnan(getattr(found, f"{split}_accuracy"))
            continue
        last = f"{name}@{epochs - 1}"
        assert getattr(found, f"{split}_loss") == fields["eval_losses"][last]
        assert getattr(found, f"{split}_accuracy") == pytest.approx(fields["eval_acc1es"][last] / 100, abs=1e-7)
    assert found.evaluation_time == 2.5 * epochs or dataset == "cifar10"


def test_missing_seeds_of_an_architecture_are_nan(content: dict[str, Any], tmp_path: Path) -> None:
    import_table(pth(tmp_path, content), tmp_path / "table")
    table = load_table(tmp_path / "table")
    every = table.query([0, 11], run="all", dataset="cifar100").test_accuracy
    assert np.isnan(every).tolist() == [[True, False, False, False], [True, True, False, True]]
    assert table.query(11, dataset="cifar100").test_accuracy == every[1, 2]
    assert table.query(0, dataset="cifar100").test_accuracy == pytest.approx(every[0, 1:].mean(), rel=1e-12)
    drawn = table.query([0, 11] * 30, run="random", rng=np.random.default_rng(0), dataset="cifar100").test_accuracy
    assert set(drawn) == {*every[0, 1:], every[1, 2]}


def test_older_files_without_times_are_imported(tmp_path: Path) -> None:
    content = files.pth_content([5])
    for fields in content["arch2infos"][5]["full"]["all_results"].values():
        fields["train_times"], fields["eval_times"] = None, {}
    import_table(pth(tmp_path, content), tmp_path / "table")
    table = load_table(tmp_path / "table")
    old, new = (table.query(5, epochs, dataset="cifar100") for epochs in (200, 12))
    assert np.isnan([old.training_time, old.evaluation_time]).all()
    assert old.validation_accuracy > 0
    assert (new.training_time, new.evaluation_time) == (90, 30)


def test_epochs_that_take_differently_long_become_learning_curves(tmp_path: Path) -> None:
    content = files.pth_content([5, 7], files.ALL_SEEDS)
    fields = content["arch2infos"][7]["full"]["all_results"]["cifar10", 888]
    fields["train_times"] = {epoch: 1.0 + epoch for epoch in range(200)}
    import_table(pth(tmp_path, content), tmp_path / "table")
    table = load_table(tmp_path / "table")
    at = {"epochs": 10, "budget": 200, "dataset": "cifar10"}
    assert table.query(7, run=888, **at).training_time == 55
    assert table.query(7, run=999, **at).training_time == 75
    assert table.query(5, **at).training_time == 75
    assert table.query(7, 10, dataset="cifar100", budget=200).training_time == 75
    assert table.query(7, 200, run=888, dataset="cifar10").training_time == 200 * 201 / 2
    assert table.about("training_time", "cifar100").accumulates == "evenly"
    assert table.about("training_time", "cifar10").accumulates is None
    train = nats_bench.create(table, "tss", verbose=False).query_by_index(7, "cifar10", "200")[888].get_train(9)
    assert (train["cur_time"], train["all_time"]) == (10, 55)


def test_costs_come_from_seed_888_if_seeds_disagree(tmp_path: Path) -> None:
    content = files.pth_content([5], files.ALL_SEEDS)
    for (dataset, seed), fields in content["arch2infos"][5]["full"]["all_results"].items():
        if dataset == "cifar10" and seed != 888:
            fields["params"], fields["flop"] = np.float64(0.5), 100.0
    del content["arch2infos"][5]["less"]["all_results"]["cifar100", 777]
    for seed in (777, 888, 999):
        del content["arch2infos"][5]["full"]["all_results"]["cifar100", seed]
    import_table(pth(tmp_path, content), tmp_path / "table")
    table = load_table(tmp_path / "table")
    found = table.query(5, dataset="cifar10")
    assert (found.trainable_parameters, found.flops) == (129_306, 15_647_370)
    counted = table.query(5, dataset="cifar100")
    assert counted.trainable_parameters == edge_parameter_count(all_operations()[5].tolist(), classes=100)
    assert np.isnan(counted.flops)


def test_a_complete_file_lists_the_space(tmp_path: Path) -> None:
    content = files.pth_content([0])
    one = content["arch2infos"][0]["less"]["all_results"]
    content["arch2infos"] = {
        index: {"less": {"all_results": {("cifar10", 777): one["cifar10", 777]}}} for index in range(15_625)
    }
    import_table(pth(tmp_path, content), tmp_path / "table")
    table = load_table(tmp_path / "table")
    assert (len(table), table.spaces, table.epochs) == (15_625, ("nb201",), (12,))
    assert len(table.members("nb201")) == 15_625
    assert table.regret(0, reference="nb201", dataset="cifar10") == 0  # all have equal results


def test_other_budgets_are_omitted_with_a_notice(tmp_path: Path) -> None:
    content = files.pth_content([3])
    content["arch2infos"][3]["less"] = files.results(3, 1, (777,), np.random.default_rng(0))
    lines: list[str] = []
    import_table(pth(tmp_path, content), tmp_path / "table", report=lines.append)
    assert lines == ["NAS-Bench-201-mine.pth: omitted 4 trainings with budgets other than 12 and 200 epochs"]
    assert load_table(tmp_path / "table").epochs == (200,)


# Refused input ---------------------------------------------------------------------------------------------------


def set_value(content: dict[str, Any], name: str, key: Any, value: Any) -> None:
    content["arch2infos"][3]["less"]["all_results"]["cifar100", 777][name][key] = value


def set_cost(content: dict[str, Any], name: str, value: float) -> None:
    content["arch2infos"][3]["less"]["all_results"]["cifar100", 777][name] = value


@pytest.mark.parametrize(
    ("change", "values"),
    [
        (lambda c: set_value(c, "train_acc1es", 11, 100.5), "train accuracy 1.005"),
        (lambda c: set_value(c, "eval_losses", "x-test@11", -1.0), "test loss -1"),
        (lambda c: set_value(c, "train_times", 3, float("inf")), "time inf"),
        (lambda c: set_value(c, "train_losses", 11, "none"), "ValueError:"),
        (lambda c: c["arch2infos"][3]["less"]["all_results"]["cifar100", 777].pop("params"), "KeyError: 'params'"),
        (lambda c: c["arch2infos"][3]["less"]["all_results"].update({("mnist", 777): {}}), "('mnist', cifar10-valid"),
        (lambda c: c["arch2infos"][3]["less"]["all_results"].update({("cifar10", 5): {}}), "5) seed"),
        (lambda c: c["meta_archs"].__setitem__(3, "|conv~0|"), "'|conv~0|'"),
        (lambda c: c["meta_archs"].__setitem__(3, None), "None"),
        (lambda c: c["arch2infos"].update({99_999: c["arch2infos"].pop(3)}), "IndexError: range"),
        (lambda c: c["arch2infos"].update({-1: c["arch2infos"].pop(3)}), "IndexError: -1"),
        (lambda c: set_cost(c, "params", 3e9), "3e+09 parameters"),
        (lambda c: set_cost(c, "params", -1.0), "-1 parameters"),
        (lambda c: set_cost(c, "flop", float("inf")), "inf FLOPs"),
        (lambda c: c.pop("meta_archs"), "meta_archs arch2infos"),
        (lambda c: c.update(arch2infos={}), "12 200"),
        (lambda c: c.update(arch2infos=[1]), "AttributeError:"),
    ],
)
def test_impossible_content_is_reported_in_one_sentence(
    change: Callable[[dict[str, Any]], Any], values: str, tmp_path: Path
) -> None:
    content = files.pth_content([3])
    change(content)
    with refuses(InvalidInputError, "NAS-Bench-201-mine.pth", *values.split()):
        import_table(pth(tmp_path, content), tmp_path / "table")
    assert not (tmp_path / "table").exists()


class Harmful:
    """An object whose unpickling calls a function."""

    def __reduce__(self) -> tuple[Any, ...]:
        return builtins.exec, ("raise SystemExit('code of the file was run')",)


@pytest.mark.parametrize("harmful", [Harmful(), np.float32(1), np.zeros(2)])
def test_pth_files_execute_no_code_and_load_no_other_objects(harmful: Any, tmp_path: Path) -> None:
    file = files.write_pth(tmp_path / "harmful.pth", {"meta_archs": [harmful], "arch2infos": {}})
    with refuses(DamagedFileError, "harmful.pth") as raised:
        import_table(file, tmp_path / "table")
    assert not [allowed for allowed in torch.serialization.get_safe_globals() if "numpy" in str(allowed)]
    assert "weights_only" not in str(raised.value)  # PyTorch's hint to load the file unsafely


@pytest.mark.parametrize("size", [0, 10, 1000, -1])
def test_truncated_pth_files_are_refused(size: int, tmp_path: Path) -> None:
    file = pth(tmp_path, files.pth_content([3]))
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(DamagedFileError, match=r"NAS-Bench-201 file .*truncated"):
        import_table(file, tmp_path / "table")
    assert not (tmp_path / "table").exists()


def test_the_command_reports_errors_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "thesis.pth").write_bytes(b"not this")
    fails(command("table", "import", str(tmp_path / "thesis.pth")), "thesis.pth", "NAS-Bench-201")


@pytest.mark.parametrize("damage", ["truncated", "foreign", "missing"])
@pytest.mark.parametrize("which", ["meta", "000003"])
def test_damaged_archives_are_refused(damage: str, which: str, tmp_path: Path) -> None:
    folder = archive(tmp_path, files.pth_content([3]))
    file = folder / f"{which}.pickle.pbz2"
    if damage == "missing":
        file.unlink()
        expected = str(folder) if which == "meta" else "has no trainings with 12 or 200 epochs"
    else:
        file.write_bytes(file.read_bytes()[:-50] if damage == "truncated" else b"something else")
        expected = f"{file} "
    with pytest.raises(UserError, match=expected):
        import_table(folder, tmp_path / "table")
    assert not (tmp_path / "table").exists()


def test_an_archive_with_an_architecture_of_another_space_is_refused(tmp_path: Path) -> None:
    content = files.pth_content([3])
    content["meta_archs"][3] = "8:16:24:32:40"
    with refuses(InvalidInputError, "NATS-tss-mine-simple", "'8:16:24:32:40'", "NAS-Bench-201"):
        import_table(archive(tmp_path, content), tmp_path / "table")
    assert not (tmp_path / "table").exists()


def test_an_archive_is_read_without_the_published_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = archive(tmp_path, files.pth_content([3]))
    monkeypatch.setitem(sys.modules, "nats_bench", None)
    assert import_table(folder, tmp_path / "table")["rows"] == 1


@pytest.mark.parametrize("write", [pth, archive, single_file])
def test_exchanged_records_are_refused(
    write: Callable[[Path, dict[str, Any]], Path], content: dict[str, Any], tmp_path: Path
) -> None:
    infos = content["arch2infos"]
    exchanged = {**content, "arch2infos": {**infos, 0: infos[11], 11: infos[0]}}
    with pytest.raises(InvalidInputError, match=r"index (0|11)"):
        import_table(write(tmp_path, exchanged), tmp_path / "table")


class Forged:
    """An object whose unpickling makes a folder."""

    def __init__(self, trap: Path) -> None:
        self.trap = trap

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.trap),)


@pytest.mark.parametrize("which", ["meta", "000003", "single file"])
def test_a_forged_archive_runs_no_code(which: str, tmp_path: Path) -> None:
    content, trap = files.pth_content([3]), tmp_path / "executed"
    folder = archive(tmp_path, content)
    file = folder / f"{which}.pickle.pbz2"
    if which == "single file":
        file = folder = single_file(tmp_path, content)
    loaded = pickle.loads(bz2.decompress(file.read_bytes()))  # noqa: S301  written above
    file.write_bytes(bz2.compress(pickle.dumps({**loaded, "extra": Forged(trap)})))
    with pytest.raises(InvalidInputError, match=r"'(posix|nt)\.mkdir'"):
        import_table(folder, tmp_path / "table")
    assert not trap.exists() and not (tmp_path / "table").exists()


def test_an_archive_with_weights_is_refused_with_the_name_of_what_it_needs(tmp_path: Path) -> None:
    content = files.pth_content([3])
    for fields in content["arch2infos"][3]["full"]["all_results"].values():
        fields["net_state_dict"] = {"weight": torch.zeros(2)}
    with pytest.raises(InvalidInputError, match=r"'torch\._utils\._rebuild_tensor_v2'"):
        import_table(archive(tmp_path, content), tmp_path / "table")


def test_this_package_does_not_unpickle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = pth(tmp_path, files.pth_content([3]))

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("unpickled")

    monkeypatch.setattr(pickle, "load", refused)
    monkeypatch.setattr(pickle, "loads", refused)
    monkeypatch.setattr(pickle, "Unpickler", refused)
    import_table(file, tmp_path / "table")


def test_epochs_apply_only_to_other_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"^epochs.*NAS-Bench-201-mine"):
        import_table(pth(tmp_path, files.pth_content([3])), tmp_path / "table", epochs=[12])


# Names, and opening without an import -----------------------------------------------------------------------------


def test_the_command_imports_under_the_name_of_the_file(content: dict[str, Any], tmp_path: Path, home: Path) -> None:
    file = single_file(tmp_path, content)
    done = command("table", "import", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    table = load_table("NATS-tss-mine")
    assert done.stdout.splitlines()[:2] == [
        f"{table.id}: 3 architectures; up to 4 repeats, seeds 111, 777, 888, 999, at 12 and 200 epochs",
        f"in {home / 'tables' / 'NATS-tss-mine'}",
    ]
    shown = command("table", "info", "--table", "NATS-tss-mine")
    assert "3 architectures, budgets of 12, 200 epochs" in shown.stdout


def test_another_file_with_the_same_name_does_not_replace_the_table(content: dict[str, Any], tmp_path: Path) -> None:
    for write in (pth, archive):
        first, other = tmp_path / f"first-{write.__name__}", tmp_path / f"other-{write.__name__}"
        first.mkdir(), other.mkdir()
        out = tmp_path / f"table-{write.__name__}"
        import_table(write(first, content), out)
        check_own_name(next(first.iterdir()), out)
        with pytest.raises(InvalidInputError, match="another"):
            check_own_name(write(other, files.pth_content([3])), out)


@pytest.mark.parametrize("write", [pth, archive])
def test_a_file_is_imported_when_first_opened(
    write: Callable[[Path, dict[str, Any]], Path], content: dict[str, Any], tmp_path: Path, home: Path
) -> None:
    path, lines = write(tmp_path, content), list[str]()
    first = open_official(path, report=lines.append)
    again = open_official(path, report=lines.append)
    assert first.id == again.id
    assert len(lines) == 1
    assert lines[0].startswith(f"importing {path} into {home / 'tables'}")


def test_an_archive_must_be_imported_before_opening(content: dict[str, Any], tmp_path: Path) -> None:
    folder = archive(tmp_path, content)
    with pytest.raises(InvalidInputError, match=r"NATS-Bench.*nb1shot1"):
        load_table(folder)


def test_a_changed_byte_in_a_zipped_file_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "zipped.pth"
    torch.save(files.pth_content(range(2)), file)
    content = bytearray(file.read_bytes())
    content[content.index(b"G@") + 8] ^= 1  # the last byte of a pickled number: the pickle stays valid
    file.write_bytes(content)
    with pytest.raises(DamagedFileError):
        import_table(file, tmp_path / "out")
    assert not (tmp_path / "out").exists()
