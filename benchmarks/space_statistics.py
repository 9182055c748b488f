"""How long each analysis of a table takes on all 423,624 cells, with three repeats at four budgets, and its memory.

    python benchmarks/space_statistics.py

The table lies in memory and its values are made up: it only has the size of the official table.
"""

import datetime
import json
import resource
import time
from pathlib import Path

import numpy as np

import nasbench1shot1 as nb
from nasbench1shot1.experiments.space_statistics.nasbench101 import ANALYSES
from nasbench1shot1.search_spaces.nasbench101 import SPACE

EPOCHS, REPEATS = [4, 12, 36, 108], 3


def whole_table():
    codes = np.asarray(SPACE.encodings("unique"))
    rng = np.random.default_rng(0)
    codes, n = codes[rng.permutation(len(codes))], len(codes)
    digests = np.zeros((n, 16), np.uint8)
    digests[:, 12:] = np.arange(n, dtype=">u4").view(np.uint8).reshape(-1, 4)
    columns = {"hash": digests, "cell": codes, "trainable_parameters": rng.integers(2e5, 5e7, n)}
    about = {"fidelity": "measured", "epochs": EPOCHS}
    quality = rng.normal(9100, 200, (n, 1, 1))
    for split in ("train", "validation", "test"):
        columns[f"{split}_accuracy"] = (quality + rng.normal(0, 20, (n, 4, REPEATS))).clip(0, 9984).astype(np.uint16)
    columns["training_time"] = rng.uniform(300, 5000, (n, 4, REPEATS)).astype(np.float32)
    described = {name: about | {"images": 9984} for name in columns if name.endswith("accuracy")}
    meta = {"name": "made-up", "version": "1", "keyed_by": "nasbench101", "datasets": ["cifar10"]}
    meta |= {"epochs": EPOCHS, "repeats": REPEATS, "spaces": []}
    return nb.Table.from_columns(columns, {**meta, "columns": described | {"training_time": about}})


def main():
    table, seconds = whole_table(), {}
    table.rows_of_encodings(np.asarray(table.column("cell")[:1]))  # the index of encodings is made once
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, analysis in ANALYSES.items():
        started = time.perf_counter()
        frame = analysis.run(table, analysis.split)
        asked = time.perf_counter()
        analysis.draw(frame).figure.canvas.draw()
        seconds[name] = [round(asked - started, 1), round(time.perf_counter() - asked, 1)]
    figures = {
        "date": datetime.date.today().isoformat(),
        "command": "python benchmarks/space_statistics.py",
        "cells": len(table),
        "seconds to ask and to draw": seconds,
        "peak memory with the table alone and after all (MB)": [
            before // 1024,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        ],
    }
    Path(__file__).with_name("results").joinpath("space_statistics.json").write_text(
        json.dumps(figures, indent=1) + "\n"
    )
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
