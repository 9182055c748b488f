"""A benchmark records the revision of a compared project if it is a Git checkout."""

import subprocess
import sys
from pathlib import Path

from revisions import revision

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def git(folder, *arguments):
    identity = ["-c", "user.name=A", "-c", "user.email=a@b"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_revision_of_a_checkout_is_its_commit(tmp_path):
    git(tmp_path, "init", "-q")
    assert revision(tmp_path) is None  # no commit yet
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "Begin")
    assert git(tmp_path, "rev-parse", "HEAD").startswith(revision(str(tmp_path)))


def test_an_unpacked_archive_has_no_revision_even_inside_a_checkout(tmp_path):
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "Begin")
    (archive := tmp_path / "nasbench-1shot1-master").mkdir()
    assert revision(archive) is None


def test_a_checkout_without_git_installed_has_no_revision(tmp_path, monkeypatch):
    git(tmp_path, "init", "-q")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision(tmp_path) is None


def test_a_result_of_an_unpacked_archive_names_no_revision(tmp_path):
    program = (
        "import sys, types; sys.argv = ['optimizer_speed.py']; import optimizer_speed as benchmark\n"
        f"print(benchmark.about(types.SimpleNamespace(peer={str(tmp_path)!r}, out='x'))['peer'])"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr
