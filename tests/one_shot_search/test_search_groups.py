"""Folders of several seeds open as a group record."""

import json

import compared_runs as make
import pytest
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.record import open_search

RANKS = [(3, 2, 1), (6, 5, 4), (9, 8, 7)]


def test_a_group_opens_with_its_searches_in_order(tmp_path):
    made = make.group(tmp_path / "group", RANKS)
    found = nb.open_run(tmp_path / "group")
    assert isinstance(found, nb.SearchGroup) and found.is_finished
    loaded = nb.load_run(tmp_path / "group")
    assert isinstance(loaded, nb.SearchGroup) and loaded.seeds == found.seeds
    assert isinstance(nb.load_run(tmp_path / "group" / "seed-0"), nb.Run)
    assert found.seeds == (0, 1, 2)
    assert [run.config["seed"] for run in found] == [0, 1, 2]
    assert (len(found), found[0], found[-2:]) == (3, found.runs[0], found.runs[1:])
    regrets = [run.lines[-1]["test_regret"] for run in found.runs]
    mean = f"mean test regret {100 * sum(regrets) / 3:.2f} % (predicted)"
    assert repr(found) == f"SearchGroup('{made.folder}': darts on s1, seeds 0, 1, 2; 3 of 3 finished, {mean})"
    assert found.metrics["seed"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    frame = found.metrics
    frame["test_regret"] *= 100
    assert found.metrics["test_regret"].tolist() == [line["test_regret"] for run in found.runs for line in run.lines]


def test_a_group_reads_its_own_folder_after_the_current_folder_has_changed(tmp_path, monkeypatch):
    make.group(tmp_path / "group", RANKS)
    monkeypatch.chdir(tmp_path)
    found = nb.open_run("group")
    monkeypatch.chdir("/")
    assert found.is_finished and [run.folder for run in found] == [tmp_path / "group" / f"seed-{n}" for n in range(3)]


def test_a_stopped_group_contains_the_started_searches(tmp_path):
    made = make.group(tmp_path / "group", RANKS, started=2)
    assert not made.is_finished
    assert [run.folder.name for run in made.runs] == ["seed-0", "seed-1"]
    none = make.group(tmp_path / "none", RANKS, started=0)
    assert len(none) == 0 and not none.is_finished
    assert list(none.metrics.columns) == [*nb.Run.as_frame([]).columns, "seed"]


@pytest.mark.parametrize("content", [{"seeds": [0, 0], "options": {}}, {"seeds": [], "options": {}}, {"seeds": [1]}])
def test_a_damaged_group_is_refused(content, tmp_path):
    (tmp_path / "seeds.json").write_text(json.dumps(content))
    with refuses(nb.DamagedFileError, tmp_path / "seeds.json"):
        nb.open_run(tmp_path)


def test_another_folder_is_not_a_group(tmp_path):
    with refuses(nb.InvalidInputError, "seeds.json"):
        nb.SearchGroup.open(tmp_path)


def test_a_group_where_one_search_is_needed_is_refused(tmp_path):
    made = make.group(tmp_path / "group", RANKS)
    sentence = r"holds the searches of several seeds: choose one of them, such as .*/seed-0 \(in Python, group\[0\]\)"
    for call, group in ((open_search, made.folder), (nb.correlate, made.folder), (nb.correlate, made)):
        with pytest.raises(nb.InvalidInputError, match=sentence):
            call(group)


def test_the_suggested_search_of_a_group_has_the_lowest_seed(tmp_path):
    (tmp_path / "seeds.json").touch()
    for seed in (10, 2):
        (tmp_path / f"seed-{seed}").mkdir()
    with refuses(nb.InvalidInputError, tmp_path / "seed-2"):
        open_search(tmp_path)
