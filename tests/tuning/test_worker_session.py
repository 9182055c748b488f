"""A worker's look at its master, played step by step, without connections."""

import pytest

from nasbench1shot1.tuning import session
from nasbench1shot1.tuning.interfaces import Pace
from nasbench1shot1.tuning.name_server import Address
from nasbench1shot1.tuning.remote import UnansweredError
from nasbench1shot1.tuning.session import StudyWorker

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
    made = StudyWorker(Address("localhost", 1, "study", "ours"), lambda trial, stopped: None, "a", "localhost", Pace())
    made.names, made.called = Names(), []
    monkeypatch.setattr(session, "call", lambda uri, seconds, method: made.called.append((uri, method)))
    return made


def test_it_registers_and_tells_the_dispatcher(worker):
    worker.names.entries[DISPATCHER.format("ours")] = "dispatcher"
    worker._look("uri")
    worker._look("uri")
    assert worker.names.entries[worker.worker_id] == "uri"
    assert worker.called == [("dispatcher", "trigger_discover_worker")]


def test_it_does_not_join_another_session_on_the_same_port(worker):
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
