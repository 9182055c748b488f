"""How long a user waits before anything happens: help, import, opening the table, enumerating a space.

    python benchmarks/start_up.py

Every figure is the median of fresh processes; seconds, so compare them with the limits in the issue, not with another
machine's. `python -c pass` is there as the floor.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

REPEATS = 7
TABLE = (
    "import time, numpy, nasbench1shot1 as nb; t = time.perf_counter(); nb.load_table(); print(time.perf_counter() - t)"
)
SPACE = (
    "import time, nasbench1shot1 as nb; space = nb.search_space('s3'); t = time.perf_counter();"
    "n = sum(1 for _ in space.architectures('unique')); print(time.perf_counter() - t); assert n == 55854"
)
HELP = "from nasbench1shot1.cli import main; main(['--help'])"


def whole_process(code, environment):
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment)
    return time.perf_counter() - started


def printed(code, environment):
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    return float(done.stdout)


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
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
