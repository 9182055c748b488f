"""How long a look-up takes, and what a table costs several processes together.

    python benchmarks/table_speed.py [--table FOLDER]      # without --table: into results/table_speed.json, too

The limits (issue 3): opening 20 ms without reading the columns (the embedded table is small, so every checksum is
verified, 50 ms), a query by hash or Architecture 20 µs, 10,000 architectures of a space 10 ms. How much faster than the
published API a fresh ModelSpec is found: `published_clients.py`. Medians; microseconds where not said otherwise.
"""

import argparse
import json
import multiprocessing
import os
import platform
import re
import statistics
import subprocess
import sys
import timeit
from datetime import date
from pathlib import Path

import numpy as np

import nasbench1shot1 as nb

RESULT = Path(__file__).parent / "results" / "table_speed.json"
N = 10_000
OPEN = (
    "import sys, time, numpy, nasbench1shot1 as nb; nb.Table; t = time.perf_counter(); nb.load_table(*sys.argv[1:]);"
    "print(time.perf_counter() - t)"
)


def microseconds(call, number):
    return round(statistics.median(timeit.repeat(call, number=number, repeat=7)) / number * 1e6, 2)


def opening_milliseconds(named):
    runs = [subprocess.run([sys.executable, "-c", OPEN, *named], check=True, capture_output=True) for _ in range(7)]
    return round(1000 * statistics.median(float(run.stdout) for run in runs), 1)


def with_a_value(metrics):
    return metrics.validation_accuracy, metrics.training_time


def queries(table):
    space = nb.search_space("s3")
    rng = np.random.default_rng(0)
    archs = [space.sample(rng) for _ in range(N)]
    hashes = table.hashes(rng.integers(len(table), size=N))
    matrix, ops = archs[0].cell.matrix.tolist(), list(archs[0].cell.ops)
    table.query(archs[0])
    every = iter(archs * 80)
    digits = iter(hashes * 80)
    return {
        "hash, another each time": microseconds(lambda: with_a_value(table.query(next(digits))), N),
        "architecture, another each time": microseconds(lambda: with_a_value(table.query(next(every))), N),
        "fresh Cell of nested lists": microseconds(lambda: with_a_value(table.query(nb.Cell(matrix, ops))), N),
        "10,000 architectures (ms)": round(microseconds(lambda: with_a_value(table.query(archs)), 5) / 1000, 2),
        "10,000 hashes (ms)": round(microseconds(lambda: with_a_value(table.query(hashes)), 5) / 1000, 2),
    }


def reader(named, pipe):
    table = nb.load_table(*named)
    total = sum(float(np.sum(table.column(name), dtype=np.float64)) for name in table.info()["columns"])
    pipe.send(total)
    pipe.recv()


def shared_megabytes(named, processes):
    """What the table's files take in several processes that have read all of it: each by itself, and all together."""
    context = multiprocessing.get_context("spawn")
    pipes, workers = [], []
    for _ in range(processes):
        ours, theirs = context.Pipe()
        workers.append(context.Process(target=reader, args=(named, theirs)))
        workers[-1].start()
        pipes.append(ours)
    for pipe in pipes:
        pipe.recv()
    mapped = [mapped_kilobytes(worker.pid) for worker in workers]
    for pipe, worker in zip(pipes, workers, strict=True):
        pipe.send(None)
        worker.join()
    return {
        "each, counted by itself": round(mapped[0][0] / 1024, 1),
        f"{processes} processes together": round(sum(share for _, share in mapped) / 1024, 1),
    }


def mapped_kilobytes(process):
    """Resident and proportional size of the mapped columns (Linux)."""
    resident = share = 0
    is_column = False
    for line in Path(f"/proc/{process}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            is_column = line.endswith(".npy")
        elif is_column and line.startswith("Rss:"):
            resident += int(line.split()[1])
        elif is_column and line.startswith("Pss:"):
            share += int(line.split()[1])
    return resident, share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", help="folder or name of the table; the embedded one if not given")
    parser.add_argument("--processes", type=int, default=4)
    options = parser.parse_args()
    named = [options.table] if options.table else []
    table = nb.load_table(*named)
    figures = {
        "table": repr(table),
        "opening (ms)": opening_milliseconds(named),
        "megabytes on disk": round(table.info()["bytes"] / 1e6, 1),
        **queries(table),
        "megabytes in memory": shared_megabytes(named, options.processes),
    }
    print(json.dumps(figures, indent=2))
    if not options.table:
        about = {"date": str(date.today()), "machine": f"{platform.machine()}, {os.cpu_count()} CPUs"}
        RESULT.write_text(json.dumps({**about, **figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
