"""Compare batch-norm statistics for scoring sampled sub-networks, to choose the default.

Trains supernets by random search with weight sharing, then scores the same architectures, whose validation accuracy in
NAS-Bench-101 is measured, under each of the three statistics:

- the mean one-shot error;
- agreement with itself: Spearman's correlation of errors on two disjoint sets of images;
- agreement with the truth: Spearman's correlation with the measured validation error (one repeat, 108 epochs);
- time, relative to "batch".

    python benchmarks/evaluation_batch_norm.py
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.one_shot_search.beginning import begin
from nasbench1shot1.one_shot_search.loop import train_epoch
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.runs.machine import cpu_threads
from nasbench1shot1.supernets.presets import BATCH_NORMS
from nasbench1shot1.tables.table import load_table

RESULTS = Path(__file__).parent / "results" / "evaluation_batch_norm.json"


class Silent:
    """A search's reporter that reports nothing."""

    def step(self, epoch, loss):
        """Nothing."""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spaces", nargs="+", default=["s1", "s3"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--epochs", type=int, nargs="+", default=[10], help="after which to score")
    parser.add_argument("--architectures", type=int, default=80)
    parser.add_argument("--images", type=int, default=256, help="in each of the two disjoint sets")
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--cells", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def main():
    options, table, lines = arguments(), load_table(), []
    with cpu_threads(options.threads):
        for space in options.spaces:
            architectures = measured_architectures(table, space, options.architectures)
            for seed in options.seeds:
                lines += of_search(options, table, space, seed, architectures)
    write(options, table, lines)


def measured_architectures(table, space, count):
    """Architectures of a space whose validation accuracy is measured."""
    from nasbench1shot1.registry import search_space

    every = list(search_space(space).architectures("unique"))
    measured = table.query(every).is_measured("validation_accuracy")
    numbers = np.random.default_rng(0).permutation(np.flatnonzero(measured))[:count]
    return [every[i] for i in numbers]


def of_search(options, table, space, seed, architectures):
    """Train one supernet; score after some of its epochs."""
    last = max(options.epochs)
    state = begin(
        search_options(
            {
                "optimizer": "random-ws", "space": space, "seed": seed, "scale": "quick", "epochs": last,
                "channels": options.channels, "cells": options.cells, "threads": options.threads,
                "image_side": 32, "batch_size": 32,
            }
        ).resolved()
    )  # fmt: skip
    truth = 1 - table.query(architectures).validation_accuracy
    lines = []
    for epoch in range(1, last + 1):
        train_epoch(state, epoch, Silent())
        if epoch in options.epochs:
            for kind in BATCH_NORMS:
                line = {"space": space, "seed": seed, "epoch": epoch, "statistics": kind}
                lines.append({**line, **scored(state, epoch, kind, architectures, truth, options.images)})
                print(lines[-1], flush=True)
    return lines


def scored(state, epoch, kind, architectures, truth, images):
    object.__setattr__(state.config, "evaluation_batch_norm", kind)
    shared = state.shared_weights(epoch)
    first, second = shared.rows(2 * images, epoch_generator(0, "scored", 0)).split(images)
    shared.errors(architectures[:2], first)  # warm up
    started = time.process_time()
    errors = [shared.errors(architectures, first), shared.errors(architectures, second)]
    seconds = time.process_time() - started
    return {
        "mean_error": float(np.mean(errors)),
        "with_itself": spearman(*errors),
        "with_truth": spearman(np.mean(errors, axis=0), truth),
        "cpu_seconds": round(seconds, 3),
    }


def spearman(a, b):
    import pandas

    return float(pandas.Series(a).rank().corr(pandas.Series(b).rank()))


def write(options, table, lines):
    import pandas

    frame = pandas.DataFrame(lines)
    base = frame[frame["statistics"] == "batch"].set_index(["space", "seed", "epoch"])["cpu_seconds"]
    keys = pandas.MultiIndex.from_frame(frame[["space", "seed", "epoch"]])
    frame["time"] = frame.pop("cpu_seconds").to_numpy() / base.loc[keys].to_numpy()
    means = frame.groupby(["space", "epoch", "statistics"])[["mean_error", "with_itself", "with_truth", "time"]].mean()
    print(means.round(3).to_string())
    RESULTS.write_text(
        json.dumps(
            {
                "command": "python benchmarks/evaluation_batch_norm.py",
                "date": time.strftime("%Y-%m-%d"),
                "options": vars(options),
                "table": table.id,
                "torch": torch.__version__,
                "means": means.round(4).reset_index().to_dict("records"),
                "lines": frame.round(4).to_dict("records"),
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
