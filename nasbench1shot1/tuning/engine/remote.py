"""Calls between master, name server and workers: one short connection each, with a time limit.

hpbandster keeps connections open and waits without limit, so a machine that vanished blocks its callers.
"""

from collections.abc import Callable
from typing import Any, TypeVar

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
