"""How long a user waits before anything happens: help, import, opening the table, enumerating a space.

    python benchmarks/start_up.py [--help-of CHECKOUT]

Every figure is the median of fresh processes; seconds, so compare them with the limits in the issue, not with another
machine's. `python -c pass` is there as the floor. What is enumerated is enumerated once, in its own process: wall-clock
seconds, seconds of one processor (less where others are at work too), and the highest memory of that process. The help
of every command is measured in seconds of one processor. --help-of measures only that, in another checkout.
"""

import argparse
import datetime
import json
import os
import platform
import resource
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


def processor_seconds(code, environment):
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    whole_process(code, environment)
    return used() - before


def help_seconds(environment):
    """The median processor seconds of every command's help; SystemExit is how some versions end it."""
    listed = "from nasbench1shot1.cli import COMMANDS; print(*COMMANDS, sep=chr(10))"
    done = subprocess.run([sys.executable, "-c", listed], check=True, capture_output=True, text=True, env=environment)
    return {
        name: median(processor_seconds, HELP.replace("'--help'", repr([*name.split(), "--help"])[1:-1]), environment)
        for name in done.stdout.splitlines()
    }


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--help-of", metavar="CHECKOUT", help="measure only the help, in another checkout")
    checkout = parser.parse_args().help_of
    if checkout:
        print(json.dumps(help_seconds({**os.environ, "PYTHONPATH": checkout}), indent=2))
        return
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
        helps = help_seconds(environment)
        nb101 = {what: enumerated(code, environment) for what, code in NB101.items()}
        nb101["the_same_from_cache"] = enumerated(NB101["distinct_cells_with_hashes"], environment)
    about = {
        "date": datetime.date.today().isoformat(),
        "command": "python benchmarks/start_up.py",
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        "load_average": os.getloadavg(),
    }
    text = json.dumps({**about, "seconds": figures, "help_processor_seconds": helps, "nb101": nb101}, indent=2)
    RESULT.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
