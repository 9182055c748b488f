"""The commands of a shell script: bash runs the script, but only writes down what it would run."""

import os
import subprocess
from pathlib import Path

BASH = "/bin/bash"
RECORD = r"""
exec 9>"$COMMANDS"
command_not_found_handle() {
    input=
    if [ "$1 $2" = "python -" ]; then IFS= read -r -d "" input; fi
    printf '%s\0' "$@" ${input:+"$input"} $'\n' >&9
}
function . { :; }
"""
"""Every program is missing, so bash calls the handler, which writes the words down. `. FILE` does nothing. The text
that `python -` reads counts as its last word."""
VARIABLES = {"SLURM_ARRAY_TASK_ID": "0", "SLURM_JOB_ID": "1"}


def recorded_commands(script: str, folder: Path) -> list[list[str]]:
    """Words of every command that a script runs, after bash has expanded variables, loops and continued lines.

    Args:
        script: what bash reads; nothing but bash itself runs.
        folder: the current folder of the script; the commands are written to a file in it.

    Raises:
        AssertionError: bash reports an error, such as a syntax error or a program with a path.
    """
    path = folder / "commands"
    environment = {"PATH": os.devnull, "COMMANDS": str(path), **VARIABLES}
    done = subprocess.run(
        [BASH, "--norc", "-c", RECORD + script], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert not done.stderr, (script, done.stderr)
    return [line.split("\0") for line in path.read_text().split("\0\n\0") if line]
