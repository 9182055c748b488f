"""NATS-Bench's archives of both spaces: genuine records, packed archives, damaged and foreign ones."""

import bz2
import io
import pickle
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import command
from refusals import fails, refuses

from nasbench1shot1.cli import main
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, OutOfDomainError, UserError
from nasbench1shot1.ground.plain_pickle import load_plain_pickle
from nasbench1shot1.nasbench201.benchmark import BENCHMARK, OFFICIAL_SETS
from nasbench1shot1.tables.importing import import_table
from nasbench1shot1.tables.table import Table, load_table
from nasbench1shot1.trial_files.description import TIMES

TSS, SSS = "NATS-tss-v1_0-3ffb9-simple", "NATS-sss-v1_0-50262-simple"

pytestmark = pytest.mark.usefixtures("home")


def packed(folder: Path, tar: Path) -> Path:
    with tarfile.open(tar, "w") as archive:
        archive.add(folder, folder.name)
    return tar


@pytest.fixture(scope="module", params=[TSS, SSS])
def imported(request: pytest.FixtureRequest, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Table:
    made = tmp_path_factory.mktemp("imported") / "table"
    import_table(shared / "nats_fake" / request.param, made, report=lambda line: None)
    return load_table(made)


def records(shared: Path, name: str, index: int) -> dict[str, Any]:
    file = shared / "nats_fake" / name / f"{index:06d}.pickle.pbz2"
    with bz2.open(file) as unpacked:
        loaded: dict[str, Any] = load_plain_pickle(unpacked, file.name)  # type: ignore[arg-type]
    return loaded


def test_every_value_of_every_epoch_is_imported(imported: Table, shared: Path) -> None:
    """The table is compared with the records' own fields; only losses within trainings are rounded, to float32."""
    compared = 0
    for index in (0, 11, 284):
        for of_budget in records(shared, imported.name, index).values():
            for (dataset, seed), fields in of_budget["all_results"].items():
                budget = fields["epochs"]
                assert (
                    imported.query(index, budget, run=seed, dataset=dataset).train_loss
                    == fields["train_losses"][budget - 1]
                )
                for epochs in {1, budget // 2, budget} - {0}:
                    found = imported.query(index, epochs, run=seed, dataset=dataset, budget=budget)
                    for split, official in OFFICIAL_SETS[dataset].items():
                        key = epochs - 1 if split == "train" else f"{official}@{epochs - 1}"
                        kind = "train" if split == "train" else "eval"
                        if key in fields[f"{kind}_acc1es"]:
                            accuracy, loss = (fields[f"{kind}_{values}"][key] for values in ("acc1es", "losses"))
                            assert found[f"{split}_accuracy"] == pytest.approx(accuracy / 100, rel=1e-7)
                            assert found[f"{split}_loss"] == pytest.approx(loss, rel=1e-7)
                            compared += 1
                        seconds = fields[f"{kind}_times"][key]
                        assert found[TIMES[split]] == pytest.approx(epochs * seconds, rel=1e-12)
                    assert found.latency == fields["latency"][0]
                    assert found.trainable_parameters == round(1e6 * fields["params"])
                    assert found.flops == round(1e6 * fields["flop"])
    assert compared > 400


def test_an_epoch_of_a_longer_training_is_not_a_budget(imported: Table) -> None:
    longest = imported.full_budget
    short = imported.query(11, 12, dataset="cifar10", run="mean")
    within = imported.query(11, 12, dataset="cifar10", run="mean", budget=longest)
    assert (short.epochs, short.budget, within.epochs, within.budget) == (12, 12, 12, longest)
    assert short.test_accuracy > within.test_accuracy + 0.04  # its learning rate has already decayed to zero
    assert imported.curves == imported.epochs[-2:] if imported.epochs[0] == 1 else imported.epochs
    for asked, mentioned in (
        ({"epochs": 50}, ("50", "budget=")),
        ({"epochs": 50, "budget": 36}, ("36",)),
        ({"epochs": longest + 1, "budget": longest}, (str(longest + 1),)),
        ({"epochs": 0, "budget": longest}, ("0",)),
    ):
        with refuses(OutOfDomainError, *mentioned):
            imported.query(11, dataset="cifar10", **asked)  # type: ignore[arg-type]
    with refuses(InvalidInputError, "budget"):
        imported.query(11, 3, dataset="cifar10", budget=longest, halfway=True)
    end = imported.query(11, dataset="cifar10")
    assert imported.query(11, longest, dataset="cifar10", budget=longest).test_accuracy == end.test_accuracy


def test_queries_of_curves_agree_with_each_other(imported: Table) -> None:
    budget, rng = imported.full_budget, np.random.default_rng(0)
    several = imported.query([0, 11, 284], 7, run="all", dataset="cifar10", budget=budget)
    values = imported.values("test_accuracy", 7, "cifar10", budget)
    np.testing.assert_array_equal(several.test_accuracy, values)
    np.testing.assert_array_equal(imported.measured("test_accuracy", 7, "cifar10", budget), values)
    for row, index in enumerate((0, 11, 284)):
        one = imported.query(index, 7, dataset="cifar10", budget=budget)
        assert one.test_accuracy == pytest.approx(np.nanmean(values[row]))
        assert imported.value("test_accuracy", row, 7, dataset="cifar10", budget=budget) == one.test_accuracy
        drawn = imported.query(index, 7, run="random", rng=rng, dataset="cifar10", budget=budget).test_accuracy
        assert drawn in values[row]
        assert one.is_measured("test_accuracy")
        assert np.isnan(one.validation_accuracy)
        assert one["trainable_parameters"] == imported.query(index, dataset="cifar10").trainable_parameters


def test_the_command_shows_an_epoch_of_a_longer_training(imported: Table, capsys: pytest.CaptureFixture[str]) -> None:
    budget = imported.full_budget
    asked = ["11", "--table", str(imported.folder), "--epochs", "7", "--budget", str(budget), "--dataset", "cifar10"]
    main(["query", *asked])
    shown = capsys.readouterr().out
    test = imported.query(11, 7, dataset="cifar10", budget=budget).test_accuracy
    assert f"after 7 epochs of {budget} on cifar10" in shown
    assert f"{test:.4f}" in shown
    assert "regret" not in shown


def test_the_size_space_has_the_published_values(shared: Path, tmp_path: Path) -> None:
    meta = import_table(shared / "nats_fake" / SSS, tmp_path / "table", report=lambda line: None)
    table = load_table(tmp_path / "table")
    assert (meta["keyed_by"], table.epochs, table.seeds) == ("nats_size", (1, 12, 90), (777, 888, 999))
    percents = {
        ("cifar10-valid", "validation"): 86.796,
        ("cifar10-valid", "test"): 86.22,
        ("cifar10", "test"): 89.51,
        ("cifar100", "validation"): 62.78,
        ("cifar100", "test"): 62.70,
        ("cifar100", "valtest"): 62.74,
        ("ImageNet16-120", "valtest"): 33.05,
    }
    for (dataset, split), percent in percents.items():
        assert table.query("8:8:40:32:40", dataset=dataset)[f"{split}_accuracy"] == pytest.approx(percent / 100)
    seconds = [table.query(0, epochs, dataset="cifar10-valid").training_time for epochs in (1, 12, 90)]
    assert seconds == pytest.approx([3.548, 42.577, 319.328], abs=1e-3)
    assert [table.seeds_of(0, epochs, "cifar10") for epochs in (1, 12, 90)] == [(777,), (777, 888, 999), (777,)]


# Packed archives --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [TSS, SSS])
def test_a_packed_archive_is_read_without_unpacking(name: str, shared: Path, tmp_path: Path) -> None:
    tar = packed(shared / "nats_fake" / name, tmp_path / f"{name}.tar")
    meta = import_table(tar, tmp_path / "packed", report=lambda line: None)
    import_table(shared / "nats_fake" / name, tmp_path / "folder", report=lambda line: None)
    assert load_table(tmp_path / "packed").id == load_table(tmp_path / "folder").id
    assert len(meta["source"]["sha256"]) == 64
    assert {path.name for path in tmp_path.iterdir()} == {tar.name, "packed", "folder"}


@pytest.mark.parametrize("cut", [100, 600, 15_000, 50_000, "records", "end"])
def test_a_truncated_packed_archive_is_refused(cut: int | str, shared: Path, tmp_path: Path) -> None:
    tar = packed(shared / "nats_fake" / SSS, tmp_path / f"{SSS}.tar")
    with tarfile.open(tar) as archive:
        ends = [one.offset_data + -(-one.size // 512) * 512 for one in archive if one.isreg()]
    size = {"records": ends[-2], "end": ends[-1]}.get(str(cut), cut)
    tar.write_bytes(tar.read_bytes()[: int(size)])
    with refuses(UserError, tar.name):
        import_table(tar, tmp_path / "table")
    assert [path.name for path in tmp_path.iterdir()] == [tar.name]


def member(name: str, kind: bytes = tarfile.REGTYPE, content: bytes = b"") -> Callable[[tarfile.TarFile], None]:
    def add(archive: tarfile.TarFile) -> None:
        about = tarfile.TarInfo(name)
        about.type, about.size, about.linkname = kind, len(content), "/etc/passwd"
        archive.addfile(about, io.BytesIO(content))

    return add


@pytest.mark.parametrize(
    "add",
    [
        member("x/000003.pickle.pbz2", tarfile.SYMTYPE),
        member("x/000003.pickle.pbz2", tarfile.LNKTYPE),
        member("x/000003.pickle.pbz2", tarfile.FIFOTYPE),
        member("../000003.pickle.pbz2"),
        member("/000003.pickle.pbz2"),
        member("x/000011.pickle.pbz2"),
    ],
    ids=["symlink", "hard link", "fifo", "parent", "absolute", "second"],
)
def test_strange_members_are_refused(add: Callable[[tarfile.TarFile], None], shared: Path, tmp_path: Path) -> None:
    tar = tmp_path / "strange.tar"
    with tarfile.open(tar, "w") as archive:
        archive.add(shared / "nats_fake" / SSS, SSS)
        add(archive)
    with refuses(InvalidInputError, tar.name, "'"):
        import_table(tar, tmp_path / "table")
    assert not (tmp_path / "table").exists()


def test_a_record_that_expands_without_end_is_refused(shared: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("nasbench1shot1.trial_files.archives._LARGEST_RECORD", 100_000)
    with refuses(DamagedFileError, "meta.pickle.pbz2"):
        import_table(shared / "nats_fake" / SSS, tmp_path / "table")


def test_a_small_file_that_would_fill_the_memory_is_refused(shared: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(shared / "nats_fake" / SSS, tmp_path / SSS, copy_function=shutil.copyfile)
    folder.chmod(0o755)
    empty_sets = b"\x80\x04(" + 2**23 * b"\x8f" + b"l."
    (folder / "000000.pickle.pbz2").write_bytes(packed_sets := bz2.compress(empty_sets))
    assert len(packed_sets) < 1000
    with refuses(DamagedFileError, "000000.pickle.pbz2", "opcodes"):
        import_table(folder, tmp_path / "table")


@pytest.mark.parametrize("kind", ["sets", "memo"])
def test_a_tiny_record_that_would_fill_the_memory_is_refused(kind: str, shared: Path, tmp_path: Path) -> None:
    """Records of less than 4 MiB: two million sets, which take 500 MB, and a memo that takes 8 GB."""
    folder = shutil.copytree(shared / "nats_fake" / SSS, tmp_path / SSS, copy_function=shutil.copyfile)
    folder.chmod(0o755)
    harmful = b"\x80\x04(" + 2_000_000 * b"\x8f" + b"l." if kind == "sets" else b"\x80\x02}r\xff\xff\xff\x1f."
    (folder / "000000.pickle.pbz2").write_bytes(bz2.compress(harmful))
    with refuses(DamagedFileError, "000000.pickle.pbz2", "1,000,000"):
        import_table(folder, tmp_path / "table")


def test_a_single_file_that_expands_without_end_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    """Its content is 50,000 times as large as the file: 32 MiB of zeros in one string."""
    zeros = b"\x80\x04B" + (2**25).to_bytes(4, "little") + bytes(2**25) + b"."
    file = tmp_path / "bomb.pickle.pbz2"
    file.write_bytes(bz2.compress(zeros))
    with refuses(DamagedFileError, file, f"{2**22 + 30 * file.stat().st_size:,} bytes"):
        import_table(file, tmp_path / "table")
    assert not (tmp_path / "table").exists()


def test_a_single_file_of_genuine_records_is_within_the_limits(shared: Path, tmp_path: Path) -> None:
    for name in (TSS, SSS):
        folder, file = shared / "nats_fake" / name, tmp_path / f"{name}.pickle.pbz2"
        meta = load_plain_pickle(io.BytesIO(bz2.decompress((folder / "meta.pickle.pbz2").read_bytes())), "meta")
        infos = {index: records(shared, name, index) for index in (0, 11, 284)}
        file.write_bytes(bz2.compress(pickle.dumps({"meta_archs": meta["meta_archs"], "arch2infos": infos})))
        import_table(file, tmp_path / name, report=lambda line: None)
        assert len(load_table(tmp_path / name)) == 3


@pytest.mark.parametrize("kind", ["sparse", "long names"])
def test_damaged_headers_of_a_packed_archive_are_refused(kind: str, tmp_path: Path) -> None:
    tar = tmp_path / "damaged.tar"
    with tarfile.open(tar, "w", format=tarfile.PAX_FORMAT) as archive:
        about = tarfile.TarInfo("meta.pickle.pbz2")
        about.pax_headers = {"GNU.sparse.map": "a,b"} if kind == "sparse" else {}
        archive.addfile(about)
    if kind == "long names":
        header = tarfile.TarInfo("x")
        header.type, header.size = tarfile.GNUTYPE_LONGNAME, 1
        tar.write_bytes(1500 * (header.tobuf() + b"x".ljust(512, b"\0")) + tar.read_bytes())
    with refuses(DamagedFileError, "damaged.tar"):
        import_table(tar, tmp_path / "table")
    assert not (tmp_path / "table").exists()


def test_files_other_than_archives_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tar").write_bytes(b"text" * 1000)
    with refuses(UserError, "thesis.tar"):
        import_table(tmp_path / "thesis.tar", tmp_path / "table")
    with tarfile.open(tmp_path / "empty.tar", "w"):
        pass
    with refuses(InvalidInputError, "empty.tar", "meta.pickle.pbz2"):
        import_table(tmp_path / "empty.tar", tmp_path / "table")
    fails(command("table", "import", str(tmp_path / "empty.tar")), "empty.tar")


def test_an_official_name_must_match_the_md5(shared: Path, tmp_path: Path) -> None:
    record = shared / "nats_fake" / SSS / "000000.pickle.pbz2"
    named = shutil.copy(record, tmp_path / "NATS-sss-v1_0-50262.pickle.pbz2")
    with refuses(DamagedFileError, "50262", "MD5"):
        import_table(named, tmp_path / "table")
    assert not (tmp_path / "table").exists()


@pytest.mark.parametrize("is_packed", [False, True])
def test_an_archive_of_another_benchmark_is_refused(is_packed: bool, shared: Path, tmp_path: Path) -> None:
    folder = shared / "nats_fake" / SSS
    source = packed(folder, tmp_path / "size.tar") if is_packed else folder
    with refuses(InvalidInputError, source.name, "NATS-Bench (size)", "NAS-Bench-201"):
        import_table(source, tmp_path / "table", benchmark=BENCHMARK)
    assert not (tmp_path / "table").exists()


def test_records_of_the_other_space_are_refused(shared: Path, tmp_path: Path) -> None:
    mixed = shutil.copytree(shared / "nats_fake" / TSS, tmp_path / "mixed", copy_function=shutil.copyfile)
    mixed.chmod(0o755)
    (mixed / "000011.pickle.pbz2").unlink()
    shutil.copyfile(shared / "nats_fake" / SSS / "000011.pickle.pbz2", mixed / "000011.pickle.pbz2")
    with refuses(InvalidInputError, "mixed", "8:8:8:16:32", "11"):
        import_table(mixed, tmp_path / "table")
