"""Standard output that is closed, full, abandoned by its reader or not UTF-8; text that looks like markup."""

import errno
import io
import os
import sys
from pathlib import Path

import pytest
from command_line import new_process
from refusals import fails
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.cli import main
from nasbench1shot1.ground.downloads import DownloadBar
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.terminal import guarded_output
from nasbench1shot1.ground.text import line_printer, literal_console

CELL = "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"
QUICK = ["--scale", "quick", "--channels", "2", "--cells", "1", "--images-per-half", "40", "--batch-size", "20"]


@pytest.mark.parametrize(("arguments", "text"), [(["query", CELL], "regret in s1"), (["search", "--help"], "Lambda")])
def test_an_output_encoding_with_missing_characters_does_not_fail(arguments: list[str], text: str) -> None:
    done = new_process(*arguments, environment={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert text in done.stdout


@pytest.mark.parametrize("arguments", [["query", CELL], ["query", "--help"], ["--version"]], ids=" ".join)
def test_a_full_disk_behind_the_output_is_reported(arguments: list[str]) -> None:
    fails(new_process(*arguments, redirected="> /dev/full"), "nb1shot1:", os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("arguments", [["query", CELL], ["query", "--help"]], ids=" ".join)
@pytest.mark.parametrize("redirected", [">&-", "| true"])
def test_closed_output_ends_quietly(arguments: list[str], redirected: str) -> None:
    done = new_process(*arguments, redirected=redirected)
    assert done.returncode == (0 if redirected == ">&-" else 1)
    assert done.stderr == ""


def test_an_error_with_closed_or_full_standard_error_keeps_its_exit_code() -> None:
    for redirected in ("2>&-", "2> /dev/full"):
        done = new_process("nonsense", redirected=redirected)
        assert (done.returncode, done.stdout) == (2, "")


def test_markup_in_a_folder_name_is_printed_literally(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["search", *QUICK, "--epochs", "1", "--out", "[a]/[/red]:smile:"])
    assert "Picture: [a]/[/red]:smile:/regret.png" in capsys.readouterr().out


def test_markup_in_tables_and_bars_is_printed_literally() -> None:
    from rich.table import Table

    screen = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", screen)
        table = Table("[/red] and more", title="[a] :smile:")
        table.add_row("[b]")
        literal_console().print(table)
        line_printer(Console())("[c] [/red] :smile:")
    shown = screen.getvalue()
    assert all(text in shown for text in ("[/red]", "[a] :smile:", "[b]", "[c] [/red] :smile:"))
    screen = io.StringIO()
    with DownloadBar("[/red]", Console(file=screen, force_terminal=True, width=100)) as bar:
        bar.total = 1
    assert "[/red]" in screen.getvalue()


def refuse(error: Exception) -> None:
    with guarded_output():
        raise error


@pytest.mark.parametrize(
    "error",
    [
        PermissionError(errno.EACCES, "Permission denied", "/locked/x"),
        OSError(errno.ENAMETOOLONG, "File name too long", "x" * 10_000),
        NotADirectoryError(errno.ENOTDIR, "Not a directory", b"file/\xff"),
    ],
)
def test_an_unexpected_file_error_is_reported_in_one_sentence(
    error: OSError, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        refuse(error)
    said = capsys.readouterr().err
    assert stop.value.code == 2
    assert said.startswith("nb1shot1: ") and f"({error.strerror})" in said
    assert len(said) < 400 and said[:-1].isprintable()


@pytest.mark.parametrize("error", [KeyError("x"), OSError("of nothing"), InvalidInputError("x"), RuntimeError()])
def test_bugs_keep_their_traceback(error: Exception) -> None:
    with pytest.raises(type(error)):
        refuse(error)


UNUSABLE = ["~nosuchuser/x", "a" * 300, "x" * 70_000, "\udcff", ""]
PATHS = [
    ["search", *QUICK, "--out"],
    ["search", "--resume"],
    ["search", *QUICK, "--table"],
    ["train", CELL, "--out"],
    ["train", "--resume"],
    ["report"],
    ["query", CELL, "--table"],
    ["table", "import"],
    ["table", "import", "file", "--out"],
    ["table", "build", "--out"],
    ["data", "import"],
    ["statistics", "--out"],
    ["reproduce", "figure2", "--dry-run", "--out"],
]


@pytest.mark.parametrize("arguments", PATHS, ids=" ".join)
def test_unusable_paths_are_reported_in_one_sentence(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for value in UNUSABLE:
        with pytest.raises(SystemExit) as stop:
            main([*arguments, value])
        out, said = capsys.readouterr()
        assert (stop.value.code, out) == (2, "")
        assert said.startswith("nb1shot1: ") and said.count("\n") == 1 and len(said) < 700
        assert value[:20] in said or "\\udcff" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("variable", "arguments"), [("NB1SHOT1_TABLE", ["table"]), ("NB1SHOT1_DATA", ["data"])])
def test_unusable_paths_in_the_environment_are_refused(
    variable: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for value in UNUSABLE[:-1]:
        monkeypatch.setenv(variable, value)
        with pytest.raises(SystemExit) as stop:
            main([*arguments, "info"])
        assert stop.value.code == 2
        assert capsys.readouterr().err.startswith(f"nb1shot1: {variable} '")


@pytest.mark.parametrize("arguments", [["search", "--out="], ["search", "--out", ""], ["query", ""]])
def test_empty_arguments_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert ("argument" if arguments[0] == "query" else "--out") in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["{}"], ["search", "--{}"], ["search", "--epochs", "{}"], ["search", "--space", "{}"], ["query", "{}"],
     ["search", "--seeds", "{}"], ["data", "import", "file", "--name", "{}"], ["statistics", "{}"]],
    ids=" ".join,
)  # fmt: skip
def test_long_arguments_are_not_repeated_in_full(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([word.replace("{}", "y" * 70_000) for word in arguments])
    assert stop.value.code == 2
    assert len(capsys.readouterr().err) < 4_100


LUCKY = """
import nasbench1shot1 as nb


class Lucky(nb.BlackBoxOptimizer):
    def ask(self):
        return self.query(self.space.sample(self.rng))

    def tell(self, query, validation_error, seconds):
        pass
"""


def test_a_module_in_the_current_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lucky_here.py").write_text(LUCKY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    main(["blackbox", "--optimizer", "lucky_here:Lucky", "--evaluations", "3", "--repeats", "2", "--out", "study"])
    assert len(nb.open_run(tmp_path / "study").final) == 2
    sys.modules.pop("lucky_here")
