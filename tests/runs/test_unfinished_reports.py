"""A report that was killed leaves an unfinished folder in the folder of its run, which does not stop the run."""

from pathlib import Path

import pytest
from tiny_search import search

import nasbench1shot1 as nb
from nasbench1shot1.runs.lifecycle import is_aborted_start


def test_a_search_is_resumed_beside_the_folder_of_a_killed_report(tmp_path: Path) -> None:
    run = search(tmp_path / "run", epochs=2)
    (tmp_path / "run" / "summary.json").unlink()
    (unfinished := tmp_path / "run" / ".report-x.host.1.abc.part").mkdir()
    (unfinished / ".metrics.jsonl.part").write_text("of a running report")
    (tmp_path / "run" / ".metrics.jsonl.1.part").write_text("unfinished")
    resumed = nb.search(resume=tmp_path / "run")
    assert resumed.lines == run.lines
    assert (unfinished / ".metrics.jsonl.part").exists()
    assert not (tmp_path / "run" / ".metrics.jsonl.1.part").exists()


def test_an_unfinished_folder_is_not_an_aborted_start(tmp_path: Path) -> None:
    (tmp_path / "run" / ".a.part").mkdir(parents=True)
    assert not is_aborted_start(tmp_path / "run")
    with pytest.raises(nb.InvalidInputError, match="already exists"):
        search(tmp_path / "run", epochs=1)
