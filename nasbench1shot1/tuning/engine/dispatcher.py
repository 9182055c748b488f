"""The dispatcher: assigns trials to workers, and reports what happens to the master.

`StudyDispatcher` fixes these faults of hpbandster's `core/dispatcher.py`:

- The trial of a dead worker was recorded as failed (a "todo" in its source). Here it goes back to the head of the queue
  as another attempt.
- A job was registered after it was sent, so that a fast result met an unknown job (issue 100), and a worker that died
  in between ended the thread (issue 104). Here a job is registered first, and a failed call is a dead worker.
- Results were not checked. Here a result counts only if it names the attempt and the worker that the job has now; late
  and repeated ones are dropped.
- Calls to workers held the lock and had no time limit. Here no call holds the lock, and all have one.
- An exception ended a thread silently, and the study waited forever. Here it reaches the master.
- A notification that came while the thread worked was lost. Here it is an event, which stays set.
- Dead workers stayed in the name server. Here they are removed.

All threads only put events into a queue, which the master reads. An event's `at` is its time by `time.monotonic`.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import Any

from hpbandster.core.dispatcher import Dispatcher, Job, Worker

from nasbench1shot1.jobs.process import one_line_error
from nasbench1shot1.tuning.engine.interfaces import Timing, Trial
from nasbench1shot1.tuning.engine.remote import Address, NameServerClient, UnansweredError, answer, call, expose


@dataclass(frozen=True)
class TrialStarted:
    """A trial was given to a worker."""

    trial: Trial
    worker: str
    at: float = field(default_factory=time.monotonic, compare=False)


@dataclass(frozen=True)
class TrialFinished:
    """A worker reported the outcome of a trial: an outcome as JSON, or the error of an evaluation that failed."""

    trial: Trial
    worker: str
    outcome: dict[str, Any] | None
    error: str | None
    at: float = field(default_factory=time.monotonic, compare=False)


@dataclass(frozen=True)
class TrialRequeued:
    """A trial returned to the queue.

    Attributes:
        trial: the next attempt of the trial.
        worker: the worker that had the trial.
        died: whether the worker, or the process of its evaluation, died.
        why: the reason.
        steps: number of steps of the evaluation that were completed before; counted only if `died`.
    """

    trial: Trial
    worker: str
    died: bool
    why: str
    steps: int = 0


@dataclass(frozen=True)
class WorkersChanged:
    """A worker joined or was lost."""


@dataclass(frozen=True)
class ThreadFailed:
    """A thread of the dispatcher failed."""

    error: Exception


Event = TrialStarted | TrialFinished | TrialRequeued | WorkersChanged | ThreadFailed


class TrialJob(Job):  # type: ignore[misc]
    """hpbandster's job for one attempt of a trial."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial.configuration_id, trial=trial.as_json())
        self.trial, self.is_accepted = trial, False


class RemoteWorker(Worker):  # type: ignore[misc]
    """A worker as the dispatcher sees it.

    Attributes:
        name, uri: its entry in the name server.
        runs_job: the job that it was given.
        changes: counts assignments and ends of jobs.
        missed: calls in a row that it did not answer.
        since: time of the last assignment or end, by `time.monotonic`.
    """

    def __init__(self, name: str, uri: str, seconds: float) -> None:
        self.name, self.uri, self._seconds = name, uri, seconds
        self.runs_job: TrialJob | None = None
        self.changes = self.missed = 0
        self.since = time.monotonic()

    @property
    def short_name(self) -> str:
        """The name without hpbandster's prefix."""
        return str(self.name.partition(".worker.")[2])

    @property
    def trial(self) -> Trial | None:
        """What the worker was given; None if it is idle."""
        return None if self.runs_job is None else self.runs_job.trial

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the worker; raises UnansweredError."""
        return call(self.uri, self._seconds, method, *arguments)

    def assign(self, job: TrialJob | None) -> None:
        """Note what the worker runs now."""
        self.runs_job, self.since = job, time.monotonic()
        self.changes += 1


CALLS_AT_ONCE = 32


class StudyDispatcher(Dispatcher):  # type: ignore[misc]
    """Gives trials to workers; `events` receives what happens.

    `unreachable` holds the names of workers that registered but do not answer calls from this machine.

    Args:
        address: the session's name server.
        timing: ping interval and time limits.
        steps_done: returns the number of completed steps of a trial's evaluation; any thread may call it.
    """

    def __init__(self, address: Address, timing: Timing, steps_done: Callable[[Trial], int]) -> None:
        super().__init__(lambda job: None, address.run_id, 1, address.host, address.port, address.host)
        self.timing, self.events = timing, SimpleQueue[Event]()
        self._count_steps = steps_done
        self.waiting_jobs: deque[TrialJob] = deque()
        self.running_jobs: dict[tuple[int, int, int], TrialJob] = {}
        self.worker_pool: dict[str, RemoteWorker] = {}
        self.idle_workers: set[str] = set()
        self.unreachable: set[str] = set()
        self.names = NameServerClient(address.host, address.port, timing.answers_within)
        self._look_now = threading.Event()
        self._threads: list[threading.Thread] = []
        self._calls = ThreadPoolExecutor(CALLS_AT_ONCE)

    def run(self) -> None:
        """Start to answer workers, to look for them and to give them jobs; unlike hpbandster's `run`, this returns."""
        import Pyro4

        self.pyro_daemon = Pyro4.Daemon(host=self.host)
        self.names.register(self.pyro_id, str(self.pyro_daemon.register(self, self.pyro_id)))
        for task in (partial(answer, self.pyro_daemon), self.discover_workers, self.job_runner):
            self._threads.append(threading.Thread(target=self._reporting, args=(task,), daemon=True))
            self._threads[-1].start()

    def _reporting(self, task: Callable[[], None]) -> None:
        try:
            task()
        except Exception as error:
            self.events.put(ThreadFailed(error))

    def shutdown(self, shutdown_workers: bool = True) -> None:
        """Tell the workers to stop, and end the threads."""
        with self.runner_cond:
            self.shutdown_all_threads = True
            self.runner_cond.notify_all()
            workers = list(self.worker_pool.values()) if shutdown_workers else []
        self._look_now.set()
        for worker in workers:
            self._tell(worker, "shutdown")
        if hasattr(self, "pyro_daemon"):
            self.pyro_daemon.shutdown()
        for thread in self._threads:
            thread.join(self.timing.answers_within)
        self._calls.shutdown(cancel_futures=True)

    @staticmethod
    def _tell(worker: RemoteWorker, method: str, *arguments: Any) -> None:
        """Call a method of a worker that may be gone."""
        with suppress(Exception):  # the next ping will show what is wrong with it
            worker.call(method, *arguments)

    def submit_job(self, id: Any, **kwargs: Any) -> None:
        """Queue the trial `kwargs["trial"]`; `id` is its configuration, as in hpbandster."""
        with self.runner_cond:
            self.waiting_jobs.append(TrialJob(kwargs["trial"]))
            self.runner_cond.notify()

    def state(self) -> tuple[list[tuple[str, Trial | None, float]], list[Trial]]:
        """Return name, trial and start of the present state (`time.monotonic`) of each worker, and queued trials."""
        with self.runner_cond:
            workers = [(w.short_name, w.trial, w.since) for w in self.worker_pool.values()]
            return workers, [job.trial for job in self.waiting_jobs]

    # Giving jobs to workers

    def job_runner(self) -> None:
        """Give queued jobs to idle workers until the shutdown."""
        while (pair := self._next_pair()) is not None:
            job, worker = pair
            try:
                is_accepted = worker.call("start_computation", self.pyro_id, list(job.id), job.kwargs["trial"])
            except Exception as error:
                self._lose(worker, one_line_error(error))
                continue
            self._handle_start(job, worker, is_accepted)

    def _next_pair(self) -> tuple[TrialJob, RemoteWorker] | None:
        """Wait for a job and a worker, and register the job as running; None at the shutdown."""
        with self.runner_cond:
            self.runner_cond.wait_for(lambda: self.shutdown_all_threads or (self.waiting_jobs and self.idle_workers))
            if self.shutdown_all_threads:
                return None
            job, worker = self.waiting_jobs.popleft(), self.worker_pool[self.idle_workers.pop()]
            job.time_it("started")
            job.worker_name = worker.name
            self.running_jobs[job.id] = job
            worker.assign(job)
            self.events.put(TrialStarted(job.trial, worker.short_name))
            return job, worker

    def _handle_start(self, job: TrialJob, worker: RemoteWorker, is_accepted: bool) -> None:
        """Handle a worker's answer: if it refused the job because it is busy, queue the job again."""
        with self.runner_cond:
            worker.changes += 1
            job.is_accepted = is_accepted
            if not job.is_accepted and worker.runs_job is job:
                self._requeue(worker, "it was busy", died=False)

    def _requeue(self, worker: RemoteWorker, why: str, died: bool = True) -> None:
        """Queue a worker's job again as another attempt; the lock is held."""
        job = worker.runs_job
        worker.assign(None)
        if job is None or self.running_jobs.get(job.id) is not job:
            return
        del self.running_jobs[job.id]
        again = TrialJob(job.trial.next_attempt())
        # Counted before another worker can continue the trial: its steps are not progress of the dead worker.
        steps = self._steps_done(job.trial) if died else 0
        self.waiting_jobs.appendleft(again)
        self.events.put(TrialRequeued(again.trial, worker.short_name, died, why, steps))
        self.runner_cond.notify()

    def _steps_done(self, trial: Trial) -> int:
        try:
            return self._count_steps(trial)
        except Exception as error:  # a damaged record ends the study, and not the worker that called
            self.events.put(ThreadFailed(error))
            return 0

    # Results

    @expose
    def register_result(self, id: Any = None, result: Any = None) -> bool:
        """Accept a worker's result; return False if the worker no longer has the job.

        Args:
            id: the configuration.
            result: {"worker": name, "epochs": …, "attempt": …} and one of "outcome", "exception", "interrupted".
        """
        with self.runner_cond:
            job = self.running_jobs.get(tuple(id))
            if job is None or not self._is_of(job, result):
                return False
            worker = self.worker_pool[job.worker_name]  # losing a worker takes its job from the running ones
            if result.get("interrupted") is not None:
                self._requeue(worker, result["interrupted"])
            else:
                self._finish_job(job, worker, result)
            self.idle_workers.add(worker.name)
            self.runner_cond.notify()
            return True

    @staticmethod
    def _is_of(job: TrialJob, result: dict[str, Any]) -> bool:
        now = (job.worker_name, job.trial.epochs, job.trial.attempt)
        return now == (result["worker"], result["epochs"], result["attempt"])

    def _finish_job(self, job: TrialJob, worker: RemoteWorker, result: dict[str, Any]) -> None:
        del self.running_jobs[job.id]
        job.time_it("finished")
        worker.assign(None)
        self.events.put(TrialFinished(job.trial, worker.short_name, result.get("outcome"), result.get("exception")))

    # Looking at workers

    @expose
    def trigger_discover_worker(self) -> None:
        """Check all workers now; called by a worker that has joined."""
        self._look_now.set()

    def discover_workers(self) -> None:
        """Check all workers every `ping_interval` seconds until the shutdown."""
        missed = 0
        while not self.shutdown_all_threads:
            self._look_now.clear()
            try:
                self._look()
                missed = 0
            except UnansweredError:  # by the name server, in this very process, which may have been suspended
                missed += 1
                if missed == self.timing.missed_pings and not self.shutdown_all_threads:
                    raise
            self._look_now.wait(self.timing.ping_interval)

    def _look(self) -> None:
        listed = self.names.list(f"hpbandster.run_{self.run_id}.worker.")
        with self.runner_cond:
            known = {name: worker.uri for name, worker in self.worker_pool.items()}
        new = [(name, uri) for name, uri in listed.items() if known.get(name) != uri]
        list(self._calls.map(lambda entry: self._join(*entry), new))  # an unreachable one takes `answers_within`
        self.unreachable &= {name.partition(".worker.")[2] for name in listed}
        with self.runner_cond:
            workers = list(self.worker_pool.values())
        list(self._calls.map(self._ping, workers))

    def _join(self, name: str, uri: str) -> None:
        """Add a worker that answers; one that has taken over another's name proves that the other is dead."""
        worker = RemoteWorker(name, uri, self.timing.answers_within)
        try:
            worker.call("current")
        except Exception as error:
            if getattr(error, "is_gone", False):
                self.names.remove(name, uri)
            else:
                self.unreachable.add(worker.short_name)
            return
        self.unreachable.discard(worker.short_name)
        if (replaced := self.worker_pool.get(name)) is not None:
            self._lose(replaced, "another process has taken its place")
        with self.runner_cond:
            self.worker_pool[name] = worker
        self.events.put(WorkersChanged())

    def _ping(self, worker: RemoteWorker) -> None:
        changes = worker.changes
        try:
            current = worker.call("current")
        except Exception as error:
            worker.missed += 1
            if getattr(error, "is_gone", False) or worker.missed >= self.timing.missed_pings:
                self._lose(worker, one_line_error(error))
            return
        worker.missed, outdated = 0, False
        with self.runner_cond:
            if worker.changes == changes and self.worker_pool.get(worker.name) is worker:
                outdated = self._reconcile(worker, current)
        if outdated:
            self._tell(worker, "cancel", *current)

    def _reconcile(self, worker: RemoteWorker, current: Any) -> bool:
        """Compare what a worker does with what it was given; return whether it works on something outdated.

        Args:
            worker: a worker that has not changed since it was asked; the lock is held.
            current: configuration, epochs and attempt that the worker evaluates; None if it is idle.
        """
        job = worker.runs_job
        if current is None:
            if job is not None and job.is_accepted:
                self._requeue(worker, "it lost the trial")
            if worker.runs_job is None:
                self.idle_workers.add(worker.name)
                self.runner_cond.notify()
            return False
        trial = None if job is None else job.trial.as_json()
        return trial is None or current != [trial["configuration_id"], trial["epochs"], trial["attempt"]]

    def _lose(self, worker: RemoteWorker, why: str) -> None:
        """Remove a dead worker and queue its job again."""
        with self.runner_cond:
            if self.worker_pool.get(worker.name) is not worker:
                return
            del self.worker_pool[worker.name]
            self.idle_workers.discard(worker.name)
            self._requeue(worker, why)
        self.events.put(WorkersChanged())
        with suppress(UnansweredError):  # at the shutdown
            self.names.remove(worker.name, worker.uri)
