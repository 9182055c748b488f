"""What one call of a search space costs a black-box optimizer, and one look-up of a row in the bundled tables.

    python benchmarks/space_moves.py                                  # writes results/space_moves.json
    PYTHONPATH=OTHER_CHECKOUT python benchmarks/space_moves.py --out other.json

Seconds of the process, the lowest of five series of 5,000 calls each, in microseconds per call. Methods that another
checkout lacks are left out.
"""

import argparse
import datetime
import json
import os
import platform
import time
from pathlib import Path

import numpy as np

import nasbench1shot1 as nb

SPACES = ("s1", "s2", "s3", "nb101", "nb101-mini", "nb201")
SERIES, CALLS = 5, 5000
RESULT = Path(__file__).parent / "results" / "space_moves.json"


def calls_of(space):
    rng = np.random.default_rng(0)
    arch = space.sample(rng)
    table = nb.load_table("nb201" if space.name == "nb201" else None)
    calls = {
        "sample": lambda: space.sample(rng),
        "index": lambda: space.index(arch),
        "mutate": lambda: space.mutate(arch, rng),
    }
    if hasattr(space, "values_of"):
        values = space.values_of(arch)
        calls["published_mutate"] = lambda: space.published_mutate(arch, rng)
        calls["values_of"] = lambda: space.values_of(arch)
        calls["from_values"] = lambda: space.from_values(values)
    known = next((a for a in (space.sample(rng) for _ in range(1000)) if is_known(table, a)), None)
    return calls | ({"row_of": lambda: table.row_of(known)} if known else {})


def is_known(table, arch):
    try:
        return table.row_of(arch) >= 0
    except nb.OutOfDomainError:
        return False


def microseconds(call):
    return round(min(series(call) for _ in range(SERIES)) / CALLS * 1e6, 2)


def series(call):
    started = time.process_time()
    for _ in range(CALLS):
        call()
    return time.process_time() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULT)
    out = parser.parse_args().out
    figures = {}
    for name in SPACES:
        try:
            space = nb.search_space(name)
        except nb.InvalidInputError:
            continue
        figures[name] = {what: microseconds(call) for what, call in calls_of(space).items()}
    about = {
        "date": datetime.date.today().isoformat(),
        "command": "python benchmarks/space_moves.py",
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        "load_average": os.getloadavg(),
    }
    text = json.dumps({**about, "microseconds": figures}, indent=2)
    out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
