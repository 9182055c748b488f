"""The spinning of OpenMP's waiting threads."""

from collections.abc import MutableMapping

SPIN_COUNT = "GOMP_SPINCOUNT"
SPINS = 100  # microseconds; libgomp itself uses 100 if it has more threads than cores
CHOICES = (SPIN_COUNT, "OMP_WAIT_POLICY")
"""Environment variables that set how long a waiting thread spins before it sleeps."""


def limit_spinning(environment: MutableMapping[str, str]) -> None:
    """Make waiting threads sleep after a short spin, unless the environment has one of `CHOICES`.

    By default, GNU's OpenMP library, which PyTorch's CPU wheels for Linux contain, spins for milliseconds. If other
    programs use the cores, a spinning thread keeps the thread that it waits for from running: a search took several
    times longer (benchmarks/README.md). Results do not change. The library reads the variables when it is loaded, so
    this only has an effect before torch is imported, and on processes that are started later.
    """
    if not any(name in environment for name in CHOICES):
        environment[SPIN_COUNT] = str(SPINS)
