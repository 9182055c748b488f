"""Calls between master, name server and workers; the name server, and the file that tells workers where it is.

hpbandster keeps connections open and waits without limit, so a machine that vanished blocks its callers. Here a call is
one short connection with a time limit. hpbandster writes the address as a pickle and runs the server in a thread that
keeps the process alive. Here the file is JSON and written atomically, the thread ends with the process, and a port in
use causes a clear error.
"""

import errno
import json
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from hpbandster.core.nameserver import NameServer

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import reason, write_json
from nasbench1shot1.runs.next_command import resume_command
from nasbench1shot1.runs.options import flag
from nasbench1shot1.tuning.engine.interfaces import LOOPBACK

F = TypeVar("F", bound=Callable[..., Any])


class UnansweredError(Exception):
    """A call was not answered.

    Attributes:
        is_gone: whether the other side has certainly ended; otherwise, it may only be slow.
    """

    def __init__(self, message: str, is_gone: bool) -> None:
        super().__init__(message)
        self.is_gone = is_gone


def expose(method: F) -> F:
    """Let other processes call a method; unlike Pyro4.expose, it keeps the method's type."""
    import Pyro4

    Pyro4.expose(method)
    return method


def call(uri: str, seconds: float, method: str, *arguments: Any) -> Any:
    """Call a method of a remote object.

    Args:
        uri: the object's Pyro URI.
        seconds: time limit of connection and answer.
        method: name of the method.
        arguments: JSON values.

    Raises:
        UnansweredError: no answer, or the object does not exist.
        Exception: what the method raised.
    """
    import Pyro4

    proxy = Pyro4.Proxy(uri)
    proxy._pyroTimeout = seconds
    try:
        return proxy._pyroInvoke(method, arguments, {})
    except (Pyro4.errors.CommunicationError, Pyro4.errors.DaemonError, OSError) as error:
        cause = error.__cause__ or error
        is_gone = isinstance(cause, (ConnectionRefusedError, Pyro4.errors.DaemonError))
        raise UnansweredError(f"{uri} does not answer ({cause})", is_gone) from error
    finally:
        proxy._pyroRelease()


def answer(daemon: Any) -> None:
    """Answer calls until the daemon is shut down, like Pyro's `requestLoop`, whose `isSet` is deprecated."""
    daemon.transportServer.loop(lambda: not daemon._shutting_down)


class NameServerClient:
    """The name server of a session, as master and workers call it; methods raise UnansweredError.

    Args:
        host, port: its address.
        seconds: time limit of a call.
    """

    def __init__(self, host: str, port: int, seconds: float) -> None:
        from Pyro4.constants import NAMESERVER_NAME

        self._uri, self._seconds = f"PYRO:{NAMESERVER_NAME}@{host}:{port}", seconds

    def list(self, prefix: str) -> dict[str, str]:
        """Return the URIs of all names with a prefix."""
        found: dict[str, str] = call(self._uri, self._seconds, "list", prefix)
        return found

    def register(self, name: str, uri: str) -> None:
        """Enter a name, or replace its URI."""
        call(self._uri, self._seconds, "register", name, uri)

    def remove(self, name: str, uri: str) -> None:
        """Remove a name, unless another URI has taken it."""
        if self.list(name).get(name) == uri:
            call(self._uri, self._seconds, "remove", name)


NAME_SERVER = "name_server.json"


@dataclass(frozen=True)
class Address:
    """Where a session's name server is.

    Attributes:
        host, port: its address.
        machine: name of the machine that runs it.
        run_id: hpbandster's name of the session. It is random, so that sessions ignore calls meant for earlier ones.
    """

    host: str
    port: int
    machine: str
    run_id: str

    @property
    def is_out_of_reach(self) -> bool:
        """Whether only the master's own machine can reach the address, and this machine is a different one."""
        return self.host.startswith(LOOPBACK) and self.machine != socket.gethostname()


def read_address(folder: Path) -> Address | None:
    """Return the address that a study's last master wrote; None if there is none, or it cannot be read."""
    try:
        return Address(**json.loads((folder / NAME_SERVER).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


class StudyNameServer(NameServer):  # type: ignore[misc]
    """hpbandster's name server; see the module for the differences."""

    host: str
    port: int

    def start(self) -> tuple[str, int]:
        """Start to answer, in a thread that ends with the process, and return host and port.

        Raises:
            InvalidInputError: the host is not this machine, or the port is taken.
        """
        self.pyro_ns = _bind(self.host, self.port)
        self.port = int(self.pyro_ns.locationStr.rpartition(":")[2])
        threading.Thread(target=answer, args=(self.pyro_ns,), name="name server", daemon=True).start()
        return self.host, self.port


@contextmanager
def name_server(folder: Path, host: str, port: int) -> Iterator[Address]:
    """Run a name server and write name_server.json, which is removed at the end.

    Args:
        folder: the study's folder.
        host: name or address of this machine under which workers reach it.
        port: port, 0 for any free one.

    Raises:
        InvalidInputError: the host is not this machine, or the port is taken.
        UserError: the file cannot be written.
    """
    run_id = secrets.token_hex(8)
    server = StudyNameServer(run_id, host=host, port=port)
    try:
        _start(server, folder)
        address = Address(host, server.port, socket.gethostname(), run_id)
        write_json(folder / NAME_SERVER, asdict(address))
        yield address
    finally:
        with suppress(OSError):
            (folder / NAME_SERVER).unlink(missing_ok=True)
        server.shutdown()


def _start(server: StudyNameServer, folder: Path) -> None:
    """Start a name server; an error tells how to continue the study, because its folder already exists."""
    try:
        server.start()
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{error.for_command_line}; then continue with {resume_command('tune', folder)}"
        ) from error


def _bind(host: str, port: int) -> Any:
    from Pyro4.naming import startNS

    if host in ("", "0.0.0.0", "::"):
        raise InvalidInputError(
            f"{flag('host')} must be an address under which workers reach this machine, not '{host}'"
        )
    try:
        with socket.socket() as probe:  # Pyro leaves a socket open that cannot be bound
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
        return startNS(host=host, port=port, enableBroadcast=False)[1]
    except OverflowError as error:
        raise InvalidInputError(f"{flag('port')} must be between 0 and 65535, not {port}") from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InvalidInputError(
                f"port {port} of '{host}' is in use: choose another {flag('port')}, or 0 for any free one"
            ) from error
        raise InvalidInputError(
            f"no name server can be started at '{host}', port {port} ({reason(error)}): check {flag('host')} and "
            f"{flag('port')}"
        ) from error
