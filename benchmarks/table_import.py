"""Importing a file of the size of nasbench_full.tfrecord: time, memory, and what it takes on disk.

    python benchmarks/table_import.py [--folder FOLDER] [--cells N]

The official file is not here, so one like it is made: 5,083,488 records over NAS-Bench-101's 423,624 cells with their
true hashes, four budgets, three repeats, accuracies k/9984 rounded to float32, seconds rounded to float32 (2.1 GB; made
in the folder, the system's temporary one if not given, and removed). The limits (issue 3): 30 s for every 1.27 million
records, 1 GB of memory, 180 MB on disk, opened in 20 ms. Import and opening are measured in processes of their own.
"""

import argparse
import base64
import datetime
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import nasbench1shot1 as nb
from nasbench1shot1.nasbench101.encoding import decode_graph
from nasbench1shot1.nasbench101.official_files import METRICS
from nasbench1shot1.tables.table import load_table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
from official_files import EPOCHS, IMAGES, frame, varint

REPEATS = 3
AT_ONCE = 10_000
EVALUATION = struct.Struct("<" + "Bd" * 5)
RESULTS = Path(__file__).parent / "results" / "table_import.json"

IMPORT = """
import json, resource, sys, time
from nasbench1shot1.tables.importing import import_table
steps, started = {}, time.perf_counter()
def step(doing, fraction):
    steps.setdefault(doing, time.perf_counter() - started)
meta = import_table(sys.argv[1], sys.argv[2], report=lambda line: None, progress=step)
whole = time.perf_counter() - started
try:  # getrusage would count what the process that started this one had taken, too
    with open("/proc/self/status") as status:
        peak = next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps({"records": meta["source"]["records"], "seconds": whole, "reading": steps["checking"],
                  "checking": steps["indexing and writing"] - steps["checking"],
                  "indexing and writing": whole - steps["indexing and writing"],
                  "processor": time.process_time(),
                  "peak": peak}))
"""
OPEN = (
    "import sys, time, numpy, nasbench1shot1 as nb; nb.Table; t = time.perf_counter(); nb.load_table(sys.argv[1]);"
    "print(time.perf_counter() - t)"
)


def named_cells():
    """Hash, adjacency and operations of all of NAS-Bench-101's cells, as the official files have them."""
    space = nb.search_space("nb101")
    hashes = space.distinct_cells.hashes
    for digest, code in zip(hashes, space.encodings("unique").tolist(), strict=True):
        matrix, ops = decode_graph(code)
        yield [digest.tobytes().hex(), "".join(str(edge) for row in matrix for edge in row), ",".join(ops)]


def float32(values):
    return np.asarray(values, np.float32).astype(np.float64)


def made_up(epochs, n, rng):
    """(n, 3, 5) evaluations: epoch, seconds, train, validation and test accuracy."""
    out = np.empty((n, 3, 5))
    seconds = rng.uniform(3, 40, n)
    for i, (share, low, high) in enumerate([(0.0, 0.09, 0.11), (0.5, 0.3, 0.8), (1.0, 0.7, 0.95)]):
        out[:, i, 0] = epochs * share
        out[:, i, 1] = float32(seconds * epochs * share)
        out[:, i, 2:] = float32(np.rint(rng.uniform(low, high, (n, 3)) * IMAGES) / IMAGES)
    return out


def payloads(cells, kept, rng):
    """Records by budget, then cell, then repeat; every thousandth is kept to be compared."""
    number = 0
    for epochs in EPOCHS:
        for start in range(0, len(cells), AT_ONCE):
            part = cells[start : start + AT_ONCE]
            parameters = rng.integers(227_274, 49_979_274, len(part)) if epochs == EPOCHS[0] else None
            values = made_up(epochs, len(part) * REPEATS, rng).tolist()
            for i, (cell, evaluations) in enumerate(zip(np.repeat(range(len(part)), REPEATS), values, strict=True)):
                if parameters is not None and i % REPEATS == 0:
                    part[cell].append(varint(int(parameters[cell])))
                if number % 1000 == 0:
                    kept.append((part[cell][0], epochs, i % REPEATS, evaluations[1:]))
                number += 1
                yield payload(part[cell], epochs, evaluations)


def payload(cell, epochs, evaluations):
    hash_, bits, ops, parameters = cell
    coded = [
        b"\x0a\x2d" + EVALUATION.pack(*(x for f, v in enumerate(e, 1) for x in (f << 3 | 1, v))) for e in evaluations
    ]
    message = b"".join(coded) + b"\x10" + parameters + b"\x19" + struct.pack("<d", 1.1 * evaluations[2][1])
    return json.dumps([hash_, epochs, bits, ops, base64.encodebytes(message).decode()]).encode()


def check(table, kept):
    """What was kept of the file is in the table, bit for bit."""
    for hash_, epochs, repeat, (halfway, final) in kept:
        for half, (_, seconds, train, validation, test) in ((True, halfway), (False, final)):
            metrics = table.query(hash_, epochs=epochs, run=repeat, halfway=half)
            assert [getattr(metrics, name) for name in METRICS] == [validation, test, train, seconds]


def in_a_process(code, *arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    line = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def measured(folder, n_cells):
    started = time.perf_counter()
    cells, kept = list(named_cells()), []
    assert len(cells) == 423_624
    np.random.default_rng(1).shuffle(cells)
    cells = cells[:n_cells]
    file, out = folder / "made_up.tfrecord", folder / "table"
    with file.open("wb") as writer:
        writer.writelines(map(frame, payloads(cells, kept, np.random.default_rng(0))))
    print(f"{file.stat().st_size:,} bytes made in {time.perf_counter() - started:.0f} s", flush=True)
    import_ = json.loads(in_a_process(IMPORT, file, out))
    opening = [float(in_a_process(OPEN, out)) for _ in range(7)]
    check(load_table(out), kept)
    sizes = {path.stem: path.stat().st_size for path in sorted(out.iterdir())}
    steps = {name: round(import_[name], 1) for name in ("reading", "checking", "indexing and writing")}
    return {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["python", "benchmarks/table_import.py", *sys.argv[1:]]),
        "cores": os.cpu_count(),
        "records": import_["records"],
        "file (MB)": round(file.stat().st_size / 1e6),
        "import (s)": round(import_["seconds"], 1),
        "of these (s)": steps,
        "processor time, if other programs took their share (s)": round(import_["processor"], 1),
        "import for every 1.27 million records (s)": round(import_["seconds"] * 1.27e6 / import_["records"], 1),
        "peak memory (MB)": round(import_["peak"] / 1e6),
        "on disk (MB)": round(sum(sizes.values()) / 1e6, 1),
        "columns (MB)": {name: round(size / 1e6, 2) for name, size in sizes.items()},
        "opening (ms)": round(1000 * statistics.median(opening), 1),
        "records compared": len(kept),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the file is made")
    parser.add_argument("--cells", type=int, default=423_624, help="how many of the cells; all if not given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        figures = measured(Path(folder), options.cells)
    print(json.dumps(figures, indent=2))
    if options.cells >= 423_624:
        RESULTS.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
