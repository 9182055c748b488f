"""How CSV files are read so that floats come back exactly as they were written, with every version of pandas."""

from typing import Any


def exact_floats(version: str) -> dict[str, Any]:
    """Return the argument of `pandas.read_csv` that reads the nearest floats; since version 3.1 it always does."""
    major, minor = map(int, version.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}
