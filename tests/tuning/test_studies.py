"""Studies whose worker is a thread of this process: results, replay, errors and time limits."""

import json
import socket
import threading
import time
from contextlib import contextmanager, nullcontext, suppress

import pytest
import toy_objective
from toy_study import BRACKETS, FAST, QUICK, ToyRecorder, make_study, observed, toy_space, wait_until

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, RunStoppedError, UserError
from nasbench1shot1.ground.files import write_json
from nasbench1shot1.proposers.bracket_proposer import BracketProposer
from nasbench1shot1.proposers.brackets import Brackets
from nasbench1shot1.tuning.engine.interfaces import Outcome, Timing, TrialInterruptedError
from nasbench1shot1.tuning.engine.local_workers import no_workers
from nasbench1shot1.tuning.engine.logs import SUBMISSIONS
from nasbench1shot1.tuning.engine.master import StudyMaster, make_proposer, run_study
from nasbench1shot1.tuning.engine.remote import NAME_SERVER, name_server
from nasbench1shot1.tuning.engine.worker import run_worker

ONE = Brackets(1, 1, 2, 1)


def plain_loss(trial, is_stopped):
    return Outcome(toy_objective.loss_of(trial.configuration, trial.epochs))


@contextmanager
def worker_thread(folder, evaluate, name="thread"):
    """A worker in this process that ends when the study has a summary."""

    def work():
        with suppress(UserError):
            run_worker(folder, evaluate, name=name, patience=5, pace=QUICK)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        write_json(folder / "summary.json", {})
        thread.join(20)
        assert not thread.is_alive()
        (folder / "summary.json").unlink()


def run_here(folder, evaluate=plain_loss, recorder=None, brackets=BRACKETS, **options):
    folder.mkdir(exist_ok=True)
    recorder = recorder or ToyRecorder(folder)
    with worker_thread(folder, evaluate) if evaluate else nullcontext():
        run_study(folder, toy_space(), brackets, recorder, no_workers, **{"seed": 0, "timing": FAST, **options})
    return recorder


def generator_of(folder, seed=0, brackets=BRACKETS):
    """The configuration generator of a resumed session."""
    proposer = make_proposer("bohb", toy_space(), brackets, seed)
    StudyMaster(folder, proposer, ToyRecorder(folder), brackets.planned, FAST)
    return proposer.config_generator


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    run_here(folder)
    return folder


def test_a_study_completes_its_plan_with_model_based_proposals(unbroken):
    lines = ToyRecorder(unbroken).lines
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
    lines = ToyRecorder(unbroken).lines
    first = {line["configuration_id"]: line["loss"] for line in lines[:4]}
    assert {line["configuration_id"] for line in lines[4:6]} == set(sorted(first, key=first.get)[:2])


def test_seeds_reproduce_a_study(unbroken, tmp_path):
    run_here(tmp_path / "same")
    assert observed(tmp_path / "same") == observed(unbroken)
    few = Brackets(1, 4, 2, 1)
    run_here(tmp_path / "other", brackets=few, seed=1)
    assert not observed(tmp_path / "other") & observed(unbroken) - {min(observed(tmp_path / "other"))}


def test_a_resumed_study_has_the_models_of_all_budgets(unbroken, tmp_path):
    class Stops(ToyRecorder):
        def progress(self, state):
            super().progress(state)
            if len(self.lines) in (5, 20, 33) and not self.stopped:
                self.stopped = True
                raise KeyboardInterrupt

    folder = tmp_path / "study"
    for _ in range(3):
        recorder = Stops(folder)
        recorder.stopped = False
        with pytest.raises(RunStoppedError, match=f"nb1shot1 tune --resume {folder}"):
            run_here(folder, recorder=recorder)
        recorder.path.write_text(recorder.path.read_text() + '{"number": 3')  # as if killed while writing a line
    run_here(folder)
    assert observed(folder) == observed(unbroken)
    resumed, whole = generator_of(folder).kde_models, generator_of(unbroken).kde_models
    assert set(resumed) == set(whole) == {1, 2, 4}
    for budget, models in whole.items():
        for name, model in models.items():
            assert (resumed[budget][name].data == model.data).all()
            assert (resumed[budget][name].bw == model.bw).all()
    assert not (folder / NAME_SERVER).exists()
    lines = ToyRecorder(folder).lines
    finished = [line["finished"] for line in lines]
    assert finished == sorted(finished)
    run_here(folder, None)  # a finished study ends at once


def test_a_finished_study_needs_no_worker(unbroken):
    run_here(unbroken, None, timing=Timing(wait_for_workers=0.0))


def test_an_undispatched_submission_is_dispatched_by_the_next_session(unbroken, tmp_path):
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / SUBMISSIONS).write_text((unbroken / SUBMISSIONS).read_text().partition("\n")[0] + "\n")
    run_here(folder)
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
        run_here(folder, None)


def test_only_the_loss_reaches_the_tuner(unbroken, tmp_path, monkeypatch):
    seen = []
    observe = BracketProposer.observe

    def spy(self, *arguments):
        seen.append(arguments)
        observe(self, *arguments)

    def with_test_values(trial, is_stopped):
        loss = toy_objective.loss_of(trial.configuration, trial.epochs)
        return Outcome(loss, None, {"table_test_error": 1 - loss, "test_regret": 0.123})

    monkeypatch.setattr(BracketProposer, "observe", spy)
    recorder = run_here(tmp_path / "study", with_test_values)
    assert recorder.lines[0]["test_regret"] == 0.123
    assert [arguments[2] for arguments in seen] == [line["loss"] for line in recorder.lines]
    assert {tuple(map(type, arguments)) for arguments in seen} == {(tuple, int, float)}
    assert observed(tmp_path / "study") == observed(unbroken)


def test_random_search_evaluates_every_configuration_at_the_largest_budget(tmp_path):
    brackets = Brackets(1, 4, 2, 2, only_maximum=True)
    lines = run_here(tmp_path / "study", brackets=brackets, tuner="random").lines
    assert [line["budget"] for line in lines] == [4] * 6
    assert len({line["configuration_id"] for line in lines}) == 6
    assert lines[0]["configuration"] == dict(toy_space().get_default_configuration())
    run_here(tmp_path / "same", brackets=brackets, tuner="random")
    assert observed(tmp_path / "same") == observed(tmp_path / "study")


def test_diverged_trials_are_recorded_and_replaced(tmp_path):
    def sometimes(trial, is_stopped):
        if trial.configuration_id[2] in (0, 1, 2) and trial.epochs == 1:
            return Outcome(None, "the loss diverged")
        return plain_loss(trial, is_stopped)

    recorder = run_here(tmp_path / "study", sometimes, brackets=Brackets(1, 4, 2, 1))
    assert [line["loss"] is None for line in recorder.lines] == [True, True, True, False, False, False, False]
    assert recorder.lines[0]["failure"] == "the loss diverged"
    assert [line["configuration_id"] for line in recorder.lines[4:6]] == ["0-0-3", "0-1-1"]


def test_a_live_view_receives_all_events(unbroken, tmp_path):
    recorder = run_here(tmp_path / "study", brackets=Brackets(1, 4, 2, 1))
    last = recorder.states[-1]
    assert (last.observed, last.planned) == (7, 7)
    assert last.brackets[0].stages == ((1, 4, 4), (2, 2, 2), (4, 1, 1))
    names = {worker.name for state in recorder.states for worker in state.workers}
    assert names == {f"{socket.gethostname()}.thread"}
    trials = [worker.trial for state in recorder.states for worker in state.workers if worker.trial]
    assert {trial.epochs for trial in trials} <= {1, 2, 4}
    assert [state.seconds for state in recorder.states] == sorted(state.seconds for state in recorder.states)


# Errors


def error_of(folder, evaluate=plain_loss, kind=UserError, **options):
    threads = set(threading.enumerate())
    with pytest.raises(kind) as caught:
        run_here(folder, evaluate, **options)
    assert not (folder / NAME_SERVER).exists()
    wait_until(lambda: {t for t in threading.enumerate() if not t.name.startswith("Pyro-Worker")} <= threads, 20)
    return str(caught.value)


def test_a_taken_port_is_an_error(tmp_path):
    with socket.create_server(("localhost", 0)) as taken:
        port = taken.getsockname()[1]
        found = error_of(tmp_path / "study", kind=InvalidInputError, port=port)
    assert found == (
        f"port {port} of 'localhost' is in use: choose another port=, or 0 for any free one; then continue with "
        f"nb1shot1 tune --resume {tmp_path / 'study'}"
    )


@pytest.mark.parametrize(
    ("options", "named"), [({"port": 99999}, "port must"), ({"host": "no.such.host.invalid"}, "host=")]
)
def test_an_impossible_address_is_an_error(tmp_path, options, named):
    assert named in error_of(tmp_path / "study", kind=InvalidInputError, **options)
    assert "host must be" in error_of(tmp_path / "study", kind=InvalidInputError, host="0.0.0.0")


def test_a_study_without_workers_times_out(tmp_path):
    found = error_of(tmp_path / "study", None, timing=Timing(wait_for_workers=0.5))
    assert found.startswith("no worker has connected for 0.5 s: start workers with nb1shot1 tune-worker")


def test_an_objective_that_raises_ends_the_study(tmp_path):
    def fails(trial, is_stopped):
        raise OSError("No space left\non the device")

    found = error_of(tmp_path / "study", fails)
    assert "0-0-0 at 1 epoch failed on" in found
    assert "(OSError: No space left): fix the cause" in found

    def refuses(trial, is_stopped):
        raise UserError("the images are missing: download them")

    assert "(the images are missing: download them)" in error_of(tmp_path / "study", refuses)
    run_here(tmp_path / "study", brackets=BRACKETS)  # the cause is fixed
    assert len(ToyRecorder(tmp_path / "study").lines) == 36


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_an_objective_that_is_not_finite_ends_the_study(tmp_path, loss):
    found = error_of(tmp_path / "study", lambda trial, is_stopped: Outcome(loss))
    assert f"the objective returned the loss {loss}: return a finite number" in found


def test_an_objective_that_exits_ends_the_study(tmp_path):
    def exits(trial, is_stopped):
        raise SystemExit(3)

    assert "SystemExit: 3" in error_of(tmp_path / "study", exits)


def test_a_study_whose_trials_all_diverge_ends(tmp_path):
    found = error_of(tmp_path / "study", lambda trial, is_stopped: Outcome(None, "NaN in epoch 1"))
    assert found.startswith("all 10 trials diverged (the last: NaN in epoch 1)")


def test_three_interruptions_of_a_trial_end_the_study(tmp_path):
    def interrupted(trial, is_stopped):
        raise TrialInterruptedError("out of memory")

    found = error_of(tmp_path / "study", interrupted, timing=Timing(ping_interval=0.1))
    assert "the worker of 0-0-0 at 1 epoch died 3 times without progress" in found
    assert "out of memory" in found


class BusyRecorder(ToyRecorder):
    """Delays the master, so that a trial continues on a worker before the master handles its interruption."""

    def progress(self, state):
        time.sleep(0.05)
        super().progress(state)


@pytest.mark.parametrize("kind", [ToyRecorder, BusyRecorder])
def test_interruptions_of_a_trial_that_makes_progress_are_unlimited(tmp_path, kind):
    (tmp_path / "study").mkdir()

    def interrupted(trial, is_stopped):
        if trial.attempt < 9:
            with (tmp_path / "study" / "steps").open("a") as steps:
                steps.write(f"{trial.name} step {trial.attempt // 2}\n" * (trial.attempt % 2))
            raise TrialInterruptedError("its time limit was reached")
        return plain_loss(trial, is_stopped)

    recorder = kind(tmp_path / "study")
    run_here(recorder.path.parent, interrupted, recorder, ONE, timing=Timing(ping_interval=0.1))
    assert [line["attempts"] for line in recorder.lines] == [9] * ONE.planned


def test_an_interrupted_trial_is_retried(tmp_path):
    def interrupted(trial, is_stopped):
        if trial.attempt == 1:
            raise TrialInterruptedError("out of memory")
        return plain_loss(trial, is_stopped)

    lines = run_here(tmp_path / "study", interrupted, brackets=Brackets(1, 2, 2, 1)).lines
    assert [line["attempts"] for line in lines] == [2, 2, 2]


def test_a_worker_waits_for_a_master_and_then_gives_up(tmp_path):
    with pytest.raises(InvalidInputError, match="is not a study"):
        run_worker(tmp_path / "nothing", plain_loss)
    with pytest.raises(UserError, match="nb1shot1 tune has not answered"):
        run_worker(tmp_path, plain_loss, patience=0.2, pace=QUICK)
    with name_server(tmp_path, "localhost", 0):
        stale = (tmp_path / NAME_SERVER).read_text()
    (tmp_path / NAME_SERVER).write_text(stale)  # from a killed master
    with pytest.raises(UserError, match="nb1shot1 tune has not answered"):
        run_worker(tmp_path, plain_loss, patience=0.2, pace=QUICK)


def test_a_worker_whose_master_died_stops_its_evaluation_and_joins_the_next_master(tmp_path):
    """Two sessions of a study share one worker, which is within a trial when the first session ends."""
    folder, begun, stopped = make_study(tmp_path / "study"), threading.Event(), []

    def evaluate(trial, is_stopped):
        if trial.attempt == 1 and trial.key == ((0, 0, 2), 1):
            begun.set()
            wait_until(is_stopped, 20)
            stopped.append(trial.name)
            raise RuntimeError("nobody hears this")
        return plain_loss(trial, is_stopped)

    class Stops(ToyRecorder):
        def progress(self, state):
            if begun.is_set():
                raise KeyboardInterrupt

    brackets = Brackets(1, 4, 2, 1)
    with worker_thread(folder, evaluate):
        with pytest.raises(RunStoppedError):
            run_here(folder, None, Stops(folder), brackets=brackets)
        recorder = run_here(folder, None, brackets=brackets)
    assert stopped == ["0-0-2 at 1 epoch"]
    assert [line["attempts"] for line in recorder.lines] == [1, 1, 2, 1, 1, 1, 1]
