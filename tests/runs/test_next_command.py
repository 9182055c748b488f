"""Advised commands have the `--allow-module` that a run of a user's module needs."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tiny_studies import BUDGETS, TINY

import nasbench1shot1 as nb
from nasbench1shot1.black_box_search.studying import BlackBoxKind
from nasbench1shot1.ground.errors import RunStoppedError, UserError
from nasbench1shot1.runs.folder import CONFIG, SEEDS
from nasbench1shot1.runs.next_command import command_for, resume_advice, resume_command, resume_options
from nasbench1shot1.tuning.tuning import StudyKind

QUIET = Console(quiet=True)
OWN = {"kind": "search", "options": {"optimizer": "methods:Mine", "space": "my.spaces:SPACE"}}


@pytest.mark.parametrize(
    ("file", "content", "added"),
    [
        (CONFIG, OWN, " --allow-module methods,my.spaces"),
        (SEEDS, {"seeds": [0], "options": {"optimizer": "darts", "space": "spaces:SPACE"}}, " --allow-module spaces"),
        (CONFIG, {"kind": "study", "optimizer": "a:X", "space": "a:Y"}, " --allow-module a"),
        (CONFIG, {"kind": "search", "options": {"optimizer": "darts", "space": "__main__:SPACE"}}, ""),
        (CONFIG, {"kind": "search", "options": {"optimizer": "darts", "space": None}}, ""),
        (CONFIG, [], ""),
        (SEEDS, {"seeds": [0]}, ""),
        (SEEDS, {"options": "none"}, ""),
        ("notes.txt", {}, ""),
    ],
)
def test_commands_allow_the_modules_that_a_run_names(tmp_path: Path, file: str, content: object, added: str) -> None:
    folder = tmp_path / "a run"
    folder.mkdir()
    (folder / file).write_text(json.dumps(content))
    quoted = shlex.quote(str(folder))
    error = UserError(resume_command("tune", folder))
    assert error.for_command_line == f"nb1shot1 tune --resume {quoted}{added}"
    in_python = added.replace(" --allow-module ", ', allow_module="') + '"' * bool(added)
    assert str(error) == f'resume="{folder}"{in_python}'
    advice = UserError(resume_advice(folder, workers=2))
    assert advice.for_command_line == f"--resume {quoted} --workers 2{added}"
    stopped = RunStoppedError(folder, "tune", resume_options(folder))
    assert (stopped.command, str(stopped)) == (f"tune --resume {quoted}{added}", f"stopped; continue with {error}")
    assert command_for("report", folder) == f"nb1shot1 report {quoted}{added}"


def test_a_folder_that_begins_with_a_dash_is_not_an_option() -> None:
    folder = Path("-x")
    error = UserError(resume_command("tune", folder))
    assert (error.for_command_line, str(error)) == ("nb1shot1 tune --resume ./-x", 'resume="-x"')
    assert RunStoppedError(folder, "tune", resume_options(folder)).command == "tune --resume ./-x"
    assert command_for("report", folder) == "nb1shot1 report ./-x"


@pytest.mark.parametrize(
    ("kind", "start", "command"),
    [
        (StudyKind, lambda out: nb.tune(out=out, workers=2, console=QUIET, **TINY, **BUDGETS), "tune"),
        (BlackBoxKind, lambda out: nb.black_box("random", repeats=2, out=out, workers=2, console=QUIET), "blackbox"),
    ],
)
def test_a_stopped_study_is_continued_with_as_many_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any, start: Any, command: str
) -> None:
    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "loop", stop)
    with pytest.raises(RunStoppedError) as stopped:
        start(tmp_path / "study")
    assert stopped.value.command == f"{command} --resume {tmp_path / 'study'} --workers 2"
    assert str(stopped.value).endswith(f'resume="{tmp_path / "study"}", workers=2')
    with pytest.raises(RunStoppedError) as stopped:
        {"tune": nb.tune, "blackbox": nb.black_box}[command](resume=tmp_path / "study", workers=3, console=QUIET)
    assert stopped.value.command == f"{command} --resume {tmp_path / 'study'} --workers 3"
