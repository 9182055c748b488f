"""Race conditions of the dispatcher, simulated step by step without threads and connections."""

import threading

import pytest

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.tuning.engine.dispatcher import (
    RemoteWorker,
    StudyDispatcher,
    ThreadFailed,
    TrialFinished,
    TrialRequeued,
    TrialStarted,
    WorkersChanged,
)
from nasbench1shot1.tuning.engine.interfaces import Timing, Trial
from nasbench1shot1.tuning.engine.remote import Address, UnansweredError

PREFIX = "hpbandster.run_token.worker."
TRIAL = Trial((0, 0, 3), {"rate": 0.1}, 25)
IDENTITY = (0, 0, 3)


class Scripted(RemoteWorker):
    """A worker with scripted answers: `answers` maps methods to values, exceptions or functions."""

    def __init__(self, name, uri="uri"):
        super().__init__(PREFIX + name, uri, 1)
        self.answers, self.calls = {"start_computation": True, "current": None}, []

    def call(self, method, *arguments):
        self.calls.append((method, *arguments))
        answer = self.answers.get(method)
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer


class Names:
    def __init__(self):
        self.entries = {}

    def list(self, prefix):
        return {name: uri for name, uri in self.entries.items() if name.startswith(prefix)}

    def remove(self, name, uri):
        if self.entries.get(name) == uri:
            del self.entries[name]


@pytest.fixture
def dispatcher():
    made = StudyDispatcher(Address("localhost", 1, "here", "token"), Timing(missed_pings=3), lambda trial: 0)
    made.names = Names()
    return made


def joined(dispatcher, name="a", uri="uri"):
    worker = Scripted(name, uri)
    dispatcher.worker_pool[worker.name] = worker
    dispatcher.names.entries[worker.name] = uri
    dispatcher.idle_workers.add(worker.name)
    return worker


def submit(dispatcher, trial=TRIAL):
    dispatcher.submit_job(trial.configuration_id, trial=trial)


def give(dispatcher):
    """One iteration of the thread that assigns jobs to workers."""
    turns = iter([dispatcher._next_pair()])
    dispatcher._next_pair = lambda: next(turns, None)
    dispatcher.job_runner()
    del dispatcher._next_pair


def events(dispatcher):
    found = []
    while not dispatcher.events.empty():
        found.append(dispatcher.events.get())
    return found


def result(worker="a", attempt=1, epochs=25, **content):
    content = content or {"outcome": {"loss": 0.5}}
    return {"worker": PREFIX + worker, "epochs": epochs, "attempt": attempt, **content}


def gone():
    return UnansweredError("refused", is_gone=True)


def test_a_result_that_arrives_before_its_start_is_acknowledged_is_registered(dispatcher):
    worker = joined(dispatcher)
    worker.answers["start_computation"] = lambda: dispatcher.register_result(list(IDENTITY), result())
    submit(dispatcher)
    give(dispatcher)
    assert events(dispatcher) == [TrialStarted(TRIAL, "a"), TrialFinished(TRIAL, "a", {"loss": 0.5}, None)]
    assert not dispatcher.running_jobs
    assert not dispatcher.waiting_jobs
    assert dispatcher.idle_workers == {worker.name}


def test_steps_are_counted_before_another_worker_can_continue_the_trial(dispatcher):
    def count(trial):
        assert trial == TRIAL and not dispatcher.waiting_jobs
        return 7

    dispatcher._count_steps = count
    joined(dispatcher).answers["start_computation"] = gone()
    submit(dispatcher)
    give(dispatcher)
    assert events(dispatcher)[1] == TrialRequeued(TRIAL.next_attempt(), "a", True, "UnansweredError: refused", 7)


def test_a_record_that_cannot_be_read_reaches_the_master_and_the_worker_stays(dispatcher):
    damage = DamagedFileError("'metrics.jsonl' is damaged")

    def count(trial):
        raise damage

    dispatcher._count_steps = count
    worker = joined(dispatcher)
    submit(dispatcher)
    give(dispatcher)
    assert dispatcher.register_result(list(IDENTITY), result(interrupted="its process died")) is True
    assert ThreadFailed(damage) in events(dispatcher)
    assert dispatcher.worker_pool == {worker.name: worker}


def test_the_trial_of_a_worker_that_dies_before_starting_is_requeued(dispatcher):
    joined(dispatcher).answers["start_computation"] = gone()
    submit(dispatcher)
    give(dispatcher)
    again = TRIAL.next_attempt()
    started, returned, changed = events(dispatcher)
    assert (started, changed) == (TrialStarted(TRIAL, "a"), WorkersChanged())
    assert (returned.trial, returned.died) == (again, True)
    assert [job.trial for job in dispatcher.waiting_jobs] == [again]
    assert not dispatcher.worker_pool
    assert not dispatcher.names.entries
    assert dispatcher.register_result(list(IDENTITY), result()) is False  # it had started after all
    assert events(dispatcher) == []


def test_late_and_duplicate_results_are_ignored(dispatcher):
    first = joined(dispatcher)
    submit(dispatcher)
    give(dispatcher)
    first.answers["current"] = gone()
    dispatcher._look()
    joined(dispatcher, "b")
    give(dispatcher)
    events(dispatcher)
    assert dispatcher.register_result(list(IDENTITY), result("a", 1)) is False
    assert dispatcher.register_result(list(IDENTITY), result("a", 2)) is False
    assert dispatcher.register_result(list(IDENTITY), result("b", 2, 50)) is False
    assert dispatcher.register_result([0, 0, 4], result("b", 2)) is False
    assert events(dispatcher) == []
    assert dispatcher.register_result(list(IDENTITY), result("b", 2)) is True
    assert dispatcher.register_result(list(IDENTITY), result("b", 2)) is False
    assert events(dispatcher) == [TrialFinished(TRIAL.next_attempt(), "b", {"loss": 0.5}, None)]


def test_returned_trials_come_before_waiting_ones(dispatcher):
    worker = joined(dispatcher)
    other = Trial((0, 0, 4), {}, 25)
    submit(dispatcher)
    submit(dispatcher, other)
    give(dispatcher)
    worker.answers["current"] = gone()
    dispatcher._look()
    assert [job.trial for job in dispatcher.waiting_jobs] == [TRIAL.next_attempt(), other]


def test_a_worker_that_refuses_a_trial_counts_as_busy_until_it_reports_idle(dispatcher):
    worker = joined(dispatcher)
    worker.answers.update(start_computation=False, current=["9-9-9", 1, 1])
    submit(dispatcher)
    give(dispatcher)
    assert [event.died for event in events(dispatcher) if isinstance(event, TrialRequeued)] == [False]
    dispatcher._look()
    assert ("cancel", "9-9-9", 1, 1) in worker.calls
    assert not dispatcher.idle_workers
    worker.answers["current"] = None
    dispatcher._look()
    assert dispatcher.idle_workers == {worker.name}


def test_a_worker_that_takes_the_slot_of_another_proves_its_death(dispatcher, monkeypatch):
    monkeypatch.setattr("nasbench1shot1.tuning.engine.dispatcher.RemoteWorker", lambda name, uri, _: Scripted("a", uri))
    joined(dispatcher)
    submit(dispatcher)
    give(dispatcher)
    dispatcher.names.entries[PREFIX + "a"] = "another uri"
    dispatcher._look()
    assert [worker.uri for worker in dispatcher.worker_pool.values()] == ["another uri"]
    assert dispatcher.names.entries == {PREFIX + "a": "another uri"}
    assert [job.trial.attempt for job in dispatcher.waiting_jobs] == [2]
    assert dispatcher.idle_workers == {PREFIX + "a"}


def test_a_silent_worker_is_lost_after_three_pings_in_a_row(dispatcher):
    worker = joined(dispatcher)
    submit(dispatcher)
    give(dispatcher)
    silence, work = UnansweredError("timed out", is_gone=False), ["0-0-3", 25, 1]
    for answer in (silence, silence, work, silence, silence):
        worker.answers["current"] = answer
        dispatcher._look()
    assert dispatcher.number_of_workers() == 1
    worker.answers["current"] = silence
    dispatcher._look()
    assert dispatcher.number_of_workers() == 0
    assert [job.trial.attempt for job in dispatcher.waiting_jobs] == [2]


def test_a_trial_unknown_to_its_worker_is_assigned_again(dispatcher):
    worker = joined(dispatcher)
    submit(dispatcher)
    give(dispatcher)
    worker.answers["current"] = None
    dispatcher._look()
    assert [job.trial.attempt for job in dispatcher.waiting_jobs] == [2]
    assert dispatcher.idle_workers == {worker.name}


def test_a_stale_answer_after_an_assignment_is_ignored(dispatcher):
    worker = joined(dispatcher)

    def idle_until_now():
        submit(dispatcher)
        give(dispatcher)

    worker.answers["current"] = idle_until_now
    dispatcher._look()
    assert list(dispatcher.running_jobs) == [IDENTITY]
    assert not dispatcher.waiting_jobs
    assert not dispatcher.idle_workers


def test_an_unaccepted_start_is_not_mistaken_for_a_lost_trial(dispatcher):
    worker = joined(dispatcher)

    def poll_before_the_answer():
        dispatcher._look()
        return True

    worker.answers["start_computation"] = poll_before_the_answer
    submit(dispatcher)
    give(dispatcher)
    assert list(dispatcher.running_jobs) == [IDENTITY]
    assert not dispatcher.idle_workers


def test_a_worker_that_does_not_answer_does_not_delay_the_others(dispatcher):
    is_other_asked = threading.Event()

    def answer_after_other_worker():
        if not is_other_asked.wait(10):
            raise UnansweredError("no answer", is_gone=False)

    joined(dispatcher, "a").answers["current"] = answer_after_other_worker
    joined(dispatcher, "b").answers["current"] = is_other_asked.set
    dispatcher._look()
    assert {worker.missed for worker in dispatcher.worker_pool.values()} == {0}


def test_an_unreachable_registered_worker_is_named(dispatcher, monkeypatch):
    found = Scripted("far")
    found.answers["current"] = UnansweredError("timed out", is_gone=False)
    monkeypatch.setattr("nasbench1shot1.tuning.engine.dispatcher.RemoteWorker", lambda name, uri, _: found)
    dispatcher.names.entries[found.name] = "uri"
    dispatcher._look()
    assert dispatcher.unreachable == {"far"}
    assert not dispatcher.worker_pool
    found.answers["current"] = None
    dispatcher._look()
    assert not dispatcher.unreachable
    assert list(dispatcher.worker_pool) == [found.name]


def test_an_interrupted_trial_counts_as_a_failed_attempt_and_its_worker_remains(dispatcher):
    worker = joined(dispatcher)
    submit(dispatcher)
    for attempt in (1, 2):
        give(dispatcher)
        assert dispatcher.register_result(list(IDENTITY), result(attempt=attempt, interrupted="killed")) is True
        assert [event.died for event in events(dispatcher) if isinstance(event, TrialRequeued)] == [True]
        assert dispatcher.idle_workers == {worker.name}


def test_an_exception_in_a_thread_reaches_the_master(dispatcher):
    def broken():
        raise RuntimeError("a bug")

    dispatcher._reporting(broken)
    assert [type(event) for event in events(dispatcher)] == [ThreadFailed]


def test_a_briefly_unresponsive_name_server_does_not_end_the_study(dispatcher):
    answers = iter([UnansweredError("suspended", is_gone=False), None, *[UnansweredError("dead", is_gone=True)] * 3])

    def look():
        if (answer := next(answers)) is not None:
            raise answer

    dispatcher._look = look
    dispatcher.timing = Timing(ping_interval=0.0)
    with pytest.raises(UnansweredError, match="dead"):
        dispatcher.discover_workers()
    assert next(answers, None) is None
