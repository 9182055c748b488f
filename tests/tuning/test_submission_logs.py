"""Logs of a study, damaged by kills or by editing."""

import json

import pytest
from refusals import refuses

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.tuning.submissions import (
    ATTEMPTS,
    SUBMISSIONS,
    Attempts,
    Submission,
    Submissions,
    iterate_chronologically,
)
from nasbench1shot1.tuning.trials import RecordedObservation


def submission(number, after, budget=1):
    return Submission((0, 0, number), {"rate": 0.5 * number}, budget, False, after, 1.5)


def recorded(number, budget=1):
    return RecordedObservation((0, 0, number), budget, 0.5, 2.0)


def written(folder, *afters):
    log = Submissions(folder)
    for number, after in enumerate(afters):
        log.append(submission(number, after))
    return folder / SUBMISSIONS


def test_submissions_are_read_back_and_a_truncated_last_line_is_removed(tmp_path):
    path = written(tmp_path, 0, 0, 1)
    whole = path.read_text()
    for cut in (1, 20, len(whole.splitlines()[-1])):
        path.write_text(whole + whole.splitlines()[-1][:cut])
        assert Submissions(tmp_path).recorded == [submission(0, 0), submission(1, 0), submission(2, 1)]
        assert path.read_text() == whole
    path.write_text(whole[:-1])  # a line is complete only with its newline
    log = Submissions(tmp_path)
    assert log.recorded == [submission(0, 0), submission(1, 0)]
    log.append(submission(2, 1))
    assert path.read_text() == whole


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("number", 7),
        ("after", -1),
        ("after", 0.5),
        ("configuration_id", "0-0"),
        ("configuration_id", None),
        ("budget", None),
        ("submitted", "now"),
    ],
)
def test_damaged_submissions_are_refused(tmp_path, field, value):
    path = written(tmp_path, 0, 0, 1)
    lines = path.read_text().splitlines()
    lines[2] = json.dumps({**json.loads(lines[2]), field: value})
    path.write_text("\n".join(lines) + "\n")
    with refuses(DamagedFileError, tmp_path / "submissions.jsonl"):
        Submissions(tmp_path)


def test_a_trial_that_is_submitted_twice_is_refused(tmp_path):
    path = written(tmp_path, 0, 0)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1]["configuration_id"] = lines[0]["configuration_id"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(DamagedFileError, match="twice"):
        Submissions(tmp_path)


def test_a_configuration_with_different_values_is_refused(tmp_path):
    log = Submissions(tmp_path)
    for budget, rate in ((1, 0.5), (2, 0.25)):
        log.append(Submission((0, 0, 0), {"rate": rate}, budget, False, budget - 1, 1.5))
    with refuses(DamagedFileError, tmp_path / "submissions.jsonl", "0-0-0"):
        Submissions(tmp_path)


def test_events_are_replayed_in_their_original_order(tmp_path):
    submissions = [submission(0, 0), submission(1, 0), submission(2, 1), submission(3, 2), submission(4, 2)]
    observations = [recorded(1), recorded(0)]
    found = list(iterate_chronologically(tmp_path, submissions, observations))
    assert found == [*submissions[:2], observations[0], submissions[2], observations[1], *submissions[3:]]


@pytest.mark.parametrize(
    ("submissions", "observations"),
    [
        ([submission(0, 0), submission(1, 1)], []),  # the observation before the second one is missing
        ([submission(0, 0)], [recorded(1)]),
        ([submission(0, 0)], [recorded(0, budget=2)]),
        ([submission(0, 0)], [recorded(0), recorded(0)]),
        ([submission(0, 0), submission(1, 1)], [recorded(1), recorded(0)]),  # observed before it was submitted
    ],
)
def test_contradictory_records_are_refused(tmp_path, submissions, observations):
    with refuses(DamagedFileError, tmp_path / "metrics.jsonl"):
        list(iterate_chronologically(tmp_path, submissions, observations))


def test_the_file_of_submissions_is_named_if_it_is_missing(tmp_path):
    with refuses(DamagedFileError, tmp_path / "submissions.jsonl", "metrics.jsonl"):
        list(iterate_chronologically(tmp_path, [], [recorded(0)]))


def test_attempts_are_counted_across_sessions(tmp_path):
    key = (0, 0, 1), 4
    Attempts(tmp_path).append(key, 0.5)
    Attempts(tmp_path).append(key, 0.6)
    with (tmp_path / ATTEMPTS).open("a") as file:
        file.write('{"configuration_id": "0-0')
    attempts = Attempts(tmp_path)
    assert (attempts.count(key), attempts.count(((0, 0, 2), 4))) == (2, 0)


@pytest.mark.parametrize("line", ['{"configuration_id": [], "budget": 1}', '{"budget": 1}', "{}"])
def test_damaged_attempts_are_refused(tmp_path, line):
    (tmp_path / ATTEMPTS).write_text(line + "\n")
    with refuses(DamagedFileError, tmp_path / ATTEMPTS):
        Attempts(tmp_path)
