"""The commands `table import`, `table download` and `table verify --hashes`."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import official_files as official
import pytest
from command_line import command, new_process
from refusals import exits, refuses

from nasbench1shot1.cli import main
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.nasbench101 import official_files as official_nasbench101
from nasbench1shot1.tables.importing import download_table, import_table
from nasbench1shot1.tables.table import load_table
from nasbench1shot1.tables.writing import write_table

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def file(tmp_path: Path, real_cells: Path) -> Path:
    trainings = official.made_up(official.graphs_of(real_cells, slice(0, 30)))
    return official.write_file(tmp_path / "mine.tfrecord", trainings)


def test_import_reports_where_the_table_is_and_how_to_use_it(file: Path, home: Path) -> None:
    done = new_process("table", "import", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    warning, what, where, *how = done.stdout.splitlines()
    table = load_table("mine")
    assert warning.startswith("mine.tfrecord is not one of NAS-Bench-101's official files")
    assert what == f"{table.id}: 30 cells; 3 repeats each at 4, 12, 36 and 108 epochs"
    assert where == f"in {home / 'tables' / 'mine'}"
    assert how == [
        "with a command: --table mine",
        "with all commands: export NB1SHOT1_TABLE=mine",
        "in Python: nb.load_table('mine')",
    ]
    queried = command("query", table.hashes(0)[0], "--table", "mine")
    assert queried.returncode == 0, queried.stderr
    assert table.id in queried.stdout


def test_import_to_another_folder_and_of_other_budgets(
    tmp_path: Path, real_cells: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trainings = official.made_up(official.graphs_of(real_cells, slice(0, 3)), (10, 20))
    file = official.write_file(tmp_path / "mine.tfrecord", trainings)
    with exits(capsys, 4, 12, 36, 108):
        main(["table", "import", str(file)])
    main(["table", "import", str(file), "--out", str(tmp_path / "there"), "--epochs", "10", "20"])
    assert load_table(tmp_path / "there").epochs == (10, 20)
    assert f"nb.load_table('{tmp_path / 'there'}')" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("out", "said"),
    [("embedded", " ./embedded"), ("nb201", " ./nb201"), ("there/embedded", " there/embedded"), ("./-x", "=-x")],
)
def test_import_names_a_folder_so_that_the_name_opens_it(
    out: str,
    said: str,
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["table", "import", str(file), "--out", out])
    assert f"with a command: --table{said}\n" in capsys.readouterr().out
    assert len(load_table(said[1:])) == 30


def test_a_file_of_trainings_replaces_the_table_of_an_earlier_version_if_asked(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "trained.csv"
    words = ["table", "import", "trained.csv", "--space", "nb101-5v", "--reference", "present"]
    file.write_text("architecture,epochs,test_accuracy,note,speed\n0,36,0.9,fast,3\n1728,36,0.8,slow,4\n")
    with exits(capsys, "note", "--ignore note"):
        main(words)
    with exits(capsys, "nots", "note"):
        main([*words, "--ignore", "nots"])
    assert not (home / "tables").exists()
    words += ["--ignore", "note", "speed"]
    main([*words, "--dataset", "cifar11"])
    first, said = load_table("trained"), capsys.readouterr().out
    assert "'cifar11'" in said and "'cifar10'" in said and "replaced" not in said
    file.write_text(file.read_text().replace("0.9", "0.7"))
    with exits(capsys, "another file", "--overwrite"):
        main(words)
    assert load_table("trained").id == first.id
    main([*words, "--overwrite", "--dataset", "cifar10"])
    said = capsys.readouterr().out
    assert f"replaced the table {first.id}" in said and "note:" not in said
    assert load_table("trained").id != first.id
    main(["table", "info", "--table", "trained"])
    assert "\nData set: cifar10\n" in capsys.readouterr().out


def test_an_imported_table_with_the_name_of_another_one_is_named_by_its_path(
    file: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = home / "tables" / "embedded"
    main(["table", "import", str(file), "--out", str(out)])
    assert f"with a command: --table {out}\n" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    main(["table", "import", str(file), "--out", "mine"])
    capsys.readouterr()
    main(["table", "import", str(file)])  # the folder ./mine takes precedence over the imported table
    assert f"with a command: --table {home / 'tables' / 'mine'}\n" in capsys.readouterr().out


@pytest.mark.parametrize("content", [b"", b"not this", b"x" * 1000])
def test_import_of_a_wrong_file_is_reported_in_one_sentence(content: bytes, tmp_path: Path, home: Path) -> None:
    file = tmp_path / "thesis.tfrecord"
    file.write_bytes(content)
    done = command("table", "import", str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"nb1shot1: {file} is ")
    assert not (home / "tables").exists() or list((home / "tables").iterdir()) == []


@pytest.mark.parametrize("options", [["--space", "s1"], ["--percent"]])
@pytest.mark.parametrize("name", ["trained.json", "folder"])
def test_options_of_trainings_need_a_csv_or_parquet_file(
    name: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trained.json").write_text("{}")
    (tmp_path / "folder").mkdir()
    with exits(capsys, f"'{name}' is not a CSV or Parquet file", ".csv.gz"):
        main(["table", "import", name, *options])
    with exits(capsys, "'nowhere.json' does not exist", ".csv.gz"):
        main(["table", "import", "nowhere.json", *options])


def test_options_of_trainings_do_not_apply_to_an_official_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with exits(capsys, "--space", "remove it"):
        main(["table", "import", str(file), "--space", "s1"])


# Verify ----------------------------------------------------------------------------------------------------------


def test_verify_computes_every_hash(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import_table(file, tmp_path / "t")
    table = load_table(tmp_path / "t")
    main(["table", "verify", "--table", str(tmp_path / "t"), "--hashes"])
    assert capsys.readouterr().out.splitlines() == [
        f"{table.id}: all columns match their checksums",
        f"{table.id}: the hashes of all 30 cells match their graphs, and no cell has two hashes",
    ]
    main(["table", "verify", "--table", str(tmp_path / "t")])
    assert len(capsys.readouterr().out.splitlines()) == 1


def changed(folder: Path, to: Path, **columns: np.ndarray) -> Path:
    table = load_table(folder)
    meta = {**table.info(), "spaces": []}
    columns = {name: table.column(name) for name in meta["columns"] if not name.startswith("encoding")} | columns
    meta["columns"] = {name: meta["columns"][name] for name in columns}
    write_table(to, columns, meta)
    return to


def test_verify_reports_a_hash_that_does_not_match_its_graph(file: Path, tmp_path: Path) -> None:
    import_table(file, tmp_path / "t")
    table = load_table(tmp_path / "t")
    cells = np.array(table.column("cell"))
    cells[[7, 8]] = cells[[8, 7]]
    wrong = load_table(changed(tmp_path / "t", tmp_path / "wrong", cell=cells))
    wrong.verify()
    with pytest.raises(DamagedFileError, match=table.hashes(7)[0]):
        wrong.keys.verify()


def test_verify_reports_its_progress(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nasbench1shot1.nasbench101.keys._AT_ONCE", 20)
    import_table(file, tmp_path / "t")
    said: list[tuple[str, float]] = []
    load_table(tmp_path / "t").keys.verify(lambda *step: said.append(step))
    assert [fraction for _, fraction in said] == [20 / 30, 1.0]


# Download --------------------------------------------------------------------------------------------------------


@pytest.fixture
def served(file: Path, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a small file accepted as nasbench_only108.tfrecord."""
    content = file.read_bytes()
    (tmp_path / "served" / "nasbench_only108.tfrecord").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(official_nasbench101, "ONLY108", replace(official_nasbench101.ONLY108, sha256=digest))
    return server


@pytest.mark.parametrize("suffix", ["", "/", "/nasbench_only108.tfrecord"])
def test_download_checks_imports_and_removes(suffix: str, served: str, home: Path) -> None:
    said: list[str] = []
    folder = download_table("only108", served + suffix, report=said.append)
    assert folder == home / "tables" / "nasbench_only108"
    table = load_table("nasbench_only108")
    assert (table.name, len(table), len(said)) == ("nasbench_only108", 30, 1)
    assert table.info()["source"]["known"] is True
    assert list((home / "downloads").iterdir()) == []


def test_an_imported_table_is_not_downloaded_again(served: str, home: Path, tmp_path: Path) -> None:
    download_table("only108", served, keep=True)
    assert [path.name for path in (home / "downloads").iterdir()] == ["nasbench_only108.tfrecord"]
    (tmp_path / "served" / "nasbench_only108.tfrecord").unlink()
    assert download_table("only108", served) == home / "tables" / "nasbench_only108"
    (home / "tables" / "nasbench_only108" / "meta.json").write_text("{}")
    assert download_table("only108", served) == home / "tables" / "nasbench_only108"
    assert len(load_table("nasbench_only108")) == 30, "imported again from the kept file"


def test_a_file_with_wrong_content_is_refused(served: str, tmp_path: Path, home: Path) -> None:
    file = tmp_path / "served" / "nasbench_only108.tfrecord"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(UserError, match=r"nasbench_only108.tfrecord.*SHA-256 differs"):
        download_table("only108", served)
    assert not (home / "tables" / "nasbench_only108").exists()
    assert list((home / "downloads").iterdir()) == []


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/x", "nonsense", "SERVER/missing"])
def test_an_unavailable_download_explains_what_to_do(address: str, server: str) -> None:
    with refuses(UserError, "nb1shot1", "FILE"):
        download_table("full", address.replace("SERVER", server))


def test_the_target_is_checked_before_two_gigabytes_are_downloaded(served: str, home: Path) -> None:
    (home / "tables" / "nasbench_only108").mkdir(parents=True)
    (home / "tables" / "nasbench_only108" / "notes.txt").touch()
    with pytest.raises(InvalidInputError, match="files"):
        download_table("only108", served)
    assert not (home / "downloads").exists()


def test_other_names_and_addresses_are_supported() -> None:
    with pytest.raises(InvalidInputError, match="mean 'only108'"):
        download_table("108")
    assert official_nasbench101.ONLY108.home == "https://storage.googleapis.com/nasbench"


def test_the_download_command(served: str, capsys: pytest.CaptureFixture[str], home: Path) -> None:
    main(["table", "download", "only108", "--mirror", served])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"downloading {served}/nasbench_only108.tfrecord (499 MB), then importing it"
    assert lines[-4] == f"in {home / 'tables' / 'nasbench_only108'}"
    assert "NB1SHOT1_TABLE=nasbench_only108" in lines[-2]
    with exits(capsys, "'most'", "full", "only108"):
        main(["table", "download", "most"])
    main(["table", "download", "only108"])
    assert capsys.readouterr().out.startswith("nasbench_only108.tfrecord is already imported\n")
