"""Studies whose trials run in this process: results, replay and errors."""

import json
from concurrent.futures import Future
from unittest.mock import Mock

import pytest
from refusals import refuses
from toy_study import BRACKETS, ToyEvaluation, make_study, observed, run_toy, toy_space

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.proposers.bracket_proposer import BracketProposer
from nasbench1shot1.proposers.brackets import Brackets
from nasbench1shot1.runs.folder import SUBMISSIONS
from nasbench1shot1.tuning.loop import StudyState, make_proposer, observe_all
from nasbench1shot1.tuning.trials import Outcome

SEVEN = Brackets(1, 4, 2, 1)


def generator_of(folder, seed=0, brackets=BRACKETS):
    """The configuration generator of a resumed session."""
    proposer = make_proposer("bohb", toy_space(), brackets, seed)
    StudyState(folder, proposer, ToyEvaluation(folder).observations())
    return proposer.config_generator


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = make_study(tmp_path_factory.mktemp("unbroken"))
    run_toy(folder)
    return folder


def test_a_study_completes_its_plan_with_model_based_proposals(unbroken):
    lines = ToyEvaluation(unbroken).lines
    assert len(lines) == BRACKETS.planned == 36
    assert lines[0]["configuration"] == dict(toy_space().get_default_configuration())
    for bracket in range(8):
        own = [line for line in lines if line["configuration_id"].startswith(f"{bracket}-")]
        counts = [(budget, sum(line["budget"] == budget for line in own)) for budget, _ in BRACKETS.plan(bracket)]
        assert tuple(counts) == BRACKETS.plan(bracket)
    assert any(line["model_based"] for line in lines)
    assert not any(line["model_based"] for line in lines[:10])
    promoted = [line for line in lines if line["continues"]]
    assert promoted
    for line in promoted:
        before = [other for other in lines if other["configuration_id"] == line["configuration_id"]]
        assert line["continues"] == max(other["budget"] for other in before if other["budget"] < line["budget"])
    times = [(line["submitted"], line["started"], line["finished"]) for line in lines]
    assert all(a <= b <= c for a, b, c in times)


def test_the_best_trials_of_each_stage_are_promoted(unbroken):
    lines = ToyEvaluation(unbroken).lines
    first = {line["configuration_id"]: line["loss"] for line in lines[:4]}
    assert {line["configuration_id"] for line in lines[4:6]} == set(sorted(first, key=first.get)[:2])


def test_seeds_reproduce_a_study(unbroken, tmp_path):
    run_toy(make_study(tmp_path / "same"))
    assert observed(tmp_path / "same") == observed(unbroken)
    run_toy(make_study(tmp_path / "other"), brackets=SEVEN, seed=1)
    assert not observed(tmp_path / "other") & observed(unbroken) - {min(observed(tmp_path / "other"))}


def test_several_workers_follow_the_same_plan(unbroken, tmp_path):
    folder = make_study(tmp_path / "study")
    lines = run_toy(folder, 3).lines
    budgets = sorted(line["budget"] for line in lines)
    assert budgets == sorted(line["budget"] for line in ToyEvaluation(unbroken).lines)
    assert len({(line["configuration_id"], line["budget"]) for line in lines}) == BRACKETS.planned
    assert len({line["worker"] for line in lines}) == 3


def test_a_resumed_study_has_the_models_of_all_budgets(unbroken, tmp_path):
    folder = make_study(tmp_path / "study")
    for expected in (5, 20, 33):
        evaluation = StopsAt(folder, expected)
        with pytest.raises(KeyboardInterrupt):
            run_toy(folder, evaluation=evaluation)
        assert len(evaluation.lines) == expected
        evaluation.path.write_text(evaluation.path.read_text() + '{"number": 3')  # as if killed while writing a line
    run_toy(folder)
    assert observed(folder) == observed(unbroken)
    resumed, whole = generator_of(folder).kde_models, generator_of(unbroken).kde_models
    assert set(resumed) == set(whole) == {1, 2, 4}
    for budget, models in whole.items():
        for name, model in models.items():
            assert (resumed[budget][name].data == model.data).all()
            assert (resumed[budget][name].bw == model.bw).all()
    finished = [line["finished"] for line in ToyEvaluation(folder).lines]
    assert finished == sorted(finished)


class StopsAt(ToyEvaluation):
    """Ends the session after a number of observations."""

    def __init__(self, folder, count):
        super().__init__(folder)
        self._count = count

    def progress(self, state):
        if state.observed == self._count:
            raise KeyboardInterrupt


def test_a_stopped_session_leaves_no_tokens_of_its_trials(tmp_path):
    folder, workers = make_study(tmp_path / "study"), Mock(count=1, submit=Mock(return_value=Future()))
    state = StudyState(folder, make_proposer("bohb", toy_space(), BRACKETS, 0))
    with pytest.raises(KeyboardInterrupt):
        observe_all(state, StopsAt(folder, 0), workers)
    assert len(state.open_trials) == workers.submit.call_count == 1
    assert not list(folder.rglob(".*.token"))


def test_an_unfinished_submission_is_evaluated_by_the_next_session(unbroken, tmp_path):
    folder = make_study(tmp_path / "study")
    (folder / SUBMISSIONS).write_text((unbroken / SUBMISSIONS).read_text().partition("\n")[0] + "\n")
    run_toy(folder)
    assert observed(folder) == observed(unbroken)
    assert len((folder / SUBMISSIONS).read_text().splitlines()) == 36


@pytest.mark.parametrize("change", [{"budget": 2}, {"configuration": {"rate": 0.5}}, {"configuration_id": "0-0-1"}])
def test_submissions_that_contradict_the_study_are_refused(unbroken, tmp_path, change):
    folder = make_study(tmp_path / "study")
    lines = [json.loads(line) for line in (unbroken / SUBMISSIONS).read_text().splitlines()[:6]]
    changed = 0 if "budget" in change else 5  # the sixth is a promoted configuration
    lines[changed] = {**lines[changed], **change}
    (folder / SUBMISSIONS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    first = (unbroken / "metrics.jsonl").read_text().splitlines(keepends=True)[:5]
    (folder / "metrics.jsonl").write_text("".join(first))
    with pytest.raises(DamagedFileError):
        run_toy(folder)


def test_only_the_loss_reaches_the_tuner(unbroken, tmp_path, monkeypatch):
    seen = []
    observe = BracketProposer.observe

    def spy(self, *arguments):
        seen.append(arguments)
        observe(self, *arguments)

    class WithTestValues(ToyEvaluation):
        def outcome(self, job, end):
            return Outcome(super().outcome(job, end).loss, None, {"test_regret": 0.123})

    monkeypatch.setattr(BracketProposer, "observe", spy)
    folder = make_study(tmp_path / "study")
    lines = run_toy(folder, evaluation=WithTestValues(folder)).lines
    assert lines[0]["test_regret"] == 0.123
    assert [arguments[2] for arguments in seen] == [line["loss"] for line in lines]
    assert {tuple(map(type, arguments)) for arguments in seen} == {(tuple, int, float)}
    assert observed(folder) == observed(unbroken)


def test_random_search_evaluates_every_configuration_at_the_largest_budget(tmp_path):
    brackets = Brackets(1, 4, 2, 2, only_maximum=True)
    lines = run_toy(make_study(tmp_path / "study"), brackets=brackets, tuner="random").lines
    assert [line["budget"] for line in lines] == [4] * 6
    assert len({line["configuration_id"] for line in lines}) == 6
    assert lines[0]["configuration"] == dict(toy_space().get_default_configuration())
    run_toy(make_study(tmp_path / "same"), brackets=brackets, tuner="random")
    assert observed(tmp_path / "same") == observed(tmp_path / "study")


def test_diverged_trials_are_recorded_and_replaced(tmp_path):
    folder = make_study(tmp_path / "study", **{f"0-0-{number} at 1 epoch": "diverge" for number in range(3)})
    lines = run_toy(folder, brackets=SEVEN).lines
    assert [line["loss"] is None for line in lines] == [True, True, True, False, False, False, False]
    assert lines[0]["failure"] == "the loss diverged"
    assert [line["configuration_id"] for line in lines[4:6]] == ["0-0-3", "0-1-1"]


def test_a_live_view_receives_all_events(tmp_path):
    states = run_toy(make_study(tmp_path / "study"), 2, brackets=SEVEN).states
    last = states[-1]
    assert (last.observed, last.planned, last.workers) == (7, 7, 2)
    assert last.brackets[0].stages == ((1, 4, 4), (2, 2, 2), (4, 1, 1))
    assert max(len(state.running) for state in states) == 2
    assert {trial.epochs for state in states for trial, _ in state.running} == {1, 2, 4}
    assert all(seconds >= 0 for state in states for _, seconds in state.running)


@pytest.mark.parametrize(
    ("how", "values"),
    [
        ("raise", "0-0-2 RuntimeError"),
        ("refuse", "0-0-2 CIFAR-10"),
        ("exit", "0-0-2 SystemExit: 3"),
        ("lose the summary", "summary.json"),
    ],
)
def test_a_trial_that_fails_ends_the_study_which_can_be_resumed(unbroken, tmp_path, how, values):
    folder = make_study(tmp_path / "study", **{"0-0-2 at 1 epoch": how})
    with refuses(UserError, *values.split()):
        run_toy(folder, 1)
    assert len(ToyEvaluation(folder).lines) == 2
    make_study(folder)  # the cause is fixed
    (folder / "runs" / "0-0-2-1" / "summary.json").unlink(missing_ok=True)
    run_toy(folder)
    assert observed(folder) == observed(unbroken)


@pytest.mark.parametrize("arguments", [(float("nan"),), (float("inf"),), (None,), (0.5, "diverged")])
def test_an_outcome_has_a_finite_loss_or_a_failure(arguments):
    with pytest.raises(InvalidInputError):
        Outcome(*arguments)


def test_a_study_whose_trials_all_diverge_ends(tmp_path):
    with refuses(UserError, 10):
        run_toy(make_study(tmp_path / "study", all="diverge"))
