"""How a worker checks its master, simulated step by step without connections."""

import socket
from dataclasses import asdict

import pytest

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.files import write_json
from nasbench1shot1.tuning.engine import worker as workers
from nasbench1shot1.tuning.engine.interfaces import Pace
from nasbench1shot1.tuning.engine.remote import NAME_SERVER, Address, UnansweredError
from nasbench1shot1.tuning.engine.worker import StudyWorker, run_worker

DISPATCHER = "hpbandster.run_{}.dispatcher"


class Names:
    def __init__(self):
        self.entries = {}

    def list(self, prefix):
        return {name: uri for name, uri in self.entries.items() if name.startswith(prefix)}

    def register(self, name, uri):
        self.entries[name] = uri


@pytest.fixture
def worker(monkeypatch):
    made = StudyWorker(Address("localhost", 1, "here", "ours"), lambda trial, stopped: None, "a", "localhost", Pace())
    made.names, made.called = Names(), []
    monkeypatch.setattr(workers, "call", lambda uri, seconds, method: made.called.append((uri, method)))
    return made


def test_a_worker_registers_and_notifies_the_dispatcher(worker):
    worker.names.entries[DISPATCHER.format("ours")] = "dispatcher"
    worker._look("uri")
    worker._look("uri")
    assert worker.names.entries[worker.worker_id] == "uri"
    assert worker.called == [("dispatcher", "trigger_discover_worker")]


def test_a_worker_does_not_join_another_session_on_the_same_port(worker):
    worker.names.entries[DISPATCHER.format("another")] = "dispatcher"
    with pytest.raises(UnansweredError) as before:  # its own dispatcher may register in a moment
        worker._look("uri")
    assert not before.value.is_gone
    assert worker.worker_id not in worker.names.entries

    worker.names.entries[DISPATCHER.format("ours")] = "dispatcher"
    worker._look("uri")
    del worker.names.entries[DISPATCHER.format("ours")]
    with pytest.raises(UnansweredError) as after:
        worker._look("uri")
    assert after.value.is_gone


def test_a_remote_worker_reports_at_once_that_the_study_is_only_reachable_locally(tmp_path):
    address = Address("localhost", 1, "another-machine", "ours")
    write_json(tmp_path / NAME_SERVER, asdict(address))
    with pytest.raises(UserError, match=r'runs on another-machine with host="localhost", which other machines cannot'):
        run_worker(tmp_path, lambda trial, stopped: None, patience=60)
    assert not Address("10.0.0.1", 1, "another-machine", "ours").is_out_of_reach
    assert not Address("127.0.0.1", 1, socket.gethostname(), "ours").is_out_of_reach
