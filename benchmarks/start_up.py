"""How long a user waits before anything happens: help, import, opening the table, enumerating a space.

    python benchmarks/start_up.py

Every figure is the median of fresh processes; seconds, so compare them with the limits in the issue, not with another
machine's. `python -c pass` is there as the floor. What is enumerated is enumerated once, in its own process: wall-clock
seconds, seconds of one processor (less where others are at work too), and the highest memory of that process.
"""

import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPEATS = 7
TABLE = (
    "import time, numpy, nasbench1shot1 as nb; t = time.perf_counter(); nb.load_table(); print(time.perf_counter() - t)"
)
SPACE = (
    "import time, nasbench1shot1 as nb; space = nb.search_space('s3'); t = time.perf_counter();"
    "n = sum(1 for _ in space.architectures('unique')); print(time.perf_counter() - t); assert n == 55854"
)
NB101 = {
    "every_numbering": "space.encodings('no_loose_ends')",
    "distinct_cells": "space.encodings('unique')",
    "distinct_cells_with_hashes": "space.distinct_cells",
}
ENUMERATION = (
    "import json, resource, time, nasbench1shot1 as nb; space = nb.search_space('nb101');"
    "wall, cpu = time.perf_counter(), time.process_time(); {what};"
    "wall, cpu = time.perf_counter() - wall, time.process_time() - cpu;"
    "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024;"
    "print(json.dumps({{'seconds': round(wall, 3), 'cpu_seconds': round(cpu, 3), 'peak_MiB': round(peak)}}))"
)
RESULT = Path(__file__).parent / "results" / "start_up.json"
HELP = "from nasbench1shot1.cli import main; main(['--help'])"


def whole_process(code, environment):
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment)
    return time.perf_counter() - started


def printed(code, environment):
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    return float(done.stdout)


def enumerated(what, environment):
    code = ENUMERATION.format(what=what)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout)


def median(measure, code, environment, repeats=REPEATS):
    return round(statistics.median(measure(code, environment) for _ in range(repeats)), 4)


def main():
    with tempfile.TemporaryDirectory() as data:
        environment = {**os.environ, "NB1SHOT1_DATA": data}
        figures = {
            "python_alone": median(whole_process, "pass", environment),
            "help": median(whole_process, HELP, environment),
            "import_nasbench1shot1": median(whole_process, "import nasbench1shot1", environment),
            "load_table_after_numpy": median(printed, TABLE, environment),
            "enumerate_s3_first_time": printed(SPACE, environment),
            "enumerate_s3_from_cache": median(printed, SPACE, environment),
        }
        nb101 = {what: enumerated(code, environment) for what, code in NB101.items()}
        nb101["the_same_from_cache"] = enumerated(NB101["distinct_cells_with_hashes"], environment)
    about = {
        "date": datetime.date.today().isoformat(),
        "command": "python benchmarks/start_up.py",
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        "load_average": os.getloadavg(),
    }
    text = json.dumps({**about, "seconds": figures, "nb101": nb101}, indent=2)
    RESULT.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
