"""Read floats from CSV files exactly as they were written, with any version of pandas."""

from typing import Any


def exact_floats(version: str) -> dict[str, Any]:
    """Return the keyword arguments with which `pandas.read_csv` reads the nearest float.

    From pandas 3.1, none are needed.
    """
    major, minor = map(int, version.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}
