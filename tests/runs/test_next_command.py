"""Advised commands have the `--allow-module` that a run of a user's module needs."""

import json
import shlex
from pathlib import Path

import pytest

from nasbench1shot1.runs.folder import CONFIG, SEEDS
from nasbench1shot1.runs.next_command import command_for, resume_command, resume_options

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
    assert resume_options(folder) == f"--resume {quoted}{added}"
    assert resume_command("tune", folder, "--host X") == f"nb1shot1 tune --resume {quoted} --host X{added}"
    assert command_for("report", folder) == f"nb1shot1 report {quoted}{added}"
