"""Compare search steps with and without --compile: losses, compilation time and speed-up.

    python benchmarks/compile_speed.py

Two searches of the same seed take the same batches, one compiled with torch.compile's default backend, inductor (on a
CPU it needs gcc or clang, and Python's headers). Times are CPU seconds of this process, so that other work on the
machine counts little; compiling is the CPU time of the first step, the C++ compiler included. A search step is one step
of Λ and one of the weights. Passes with sampled operations are never compiled, as each sample would be compiled anew,
so that GDAS, Random WS and ENAS gain nothing.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import sys
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # else compilers outlive what they are measured in

import torch
from optimizer_speed import Job
from search_rivals import Ours, random_pair

from nasbench1shot1.one_shot_search.weight_step import weight_step


def main():
    options = parsed()
    torch.set_num_threads(options.threads)
    size = {name: getattr(options, name) for name in ("channels", "cells", "threads")}
    rows = []
    for space in options.spaces:
        for optimizer in options.optimizers:
            job = Job("speed", optimizer, space, batch_size=options.batch_size, rounds=options.rounds, **size)
            rows.append(compared(job))
            print(json.dumps(rows[-1]), flush=True)
            if options.out:
                options.out.write_text(json.dumps({**about(options), "rows": rows}, indent=1) + "\n")


def compared(job):
    """Losses and CPU seconds of steps of both searches, in turns."""
    searches = {
        name: Ours(replace(job, compile=name == "compiled"), job.optimizer, "corrected", job.batch_size)
        for name in ("eager", "compiled")
    }
    losses, seconds = {name: [] for name in searches}, {name: [] for name in searches}
    for number in range(1 + job.rounds):
        pair = random_pair(job, job.batch_size, "ours", torch.Generator().manual_seed(number))
        for name, search in searches.items():
            loss, taken = step(search, *pair)
            losses[name].append(loss)
            seconds[name].append(taken)
    ratios = [eager / compiled for eager, compiled in zip(seconds["eager"][1:], seconds["compiled"][1:], strict=True)]
    medians = {name: statistics.median(values[1:]) for name, values in seconds.items()}
    return {
        "space": job.space,
        "optimizer": job.optimizer,
        "ratio": round(medians["eager"] / medians["compiled"], 2),
        "ratio_of_each_round": [round(ratio, 2) for ratio in sorted(ratios)],
        "seconds": {name: round(median, 3) for name, median in medians.items()},
        "first_step_seconds": {name: round(values[0], 1) for name, values in seconds.items()},
        "largest_difference_of_losses": max(map(abs, map(float.__sub__, *losses.values()))),
    }


def step(search, weight_batch, architecture_batch):
    """The training loss of one search step and its CPU seconds."""
    started = cpu_seconds()
    search.method.architecture_step(search.state.step(weight_batch, architecture_batch))
    loss, _ = weight_step(search.state, weight_batch)
    return loss.item(), cpu_seconds() - started


def cpu_seconds():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def about(options):
    settings = {name: getattr(options, name) for name in ("channels", "cells", "batch_size", "threads", "rounds")}
    return {
        "date": str(date.today()),
        "command": " ".join(["python benchmarks/compile_speed.py", *sys.argv[1:]]),
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        "torch": torch.__version__,
        "settings": settings,
    }


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--optimizers", nargs="+", default=["darts", "gdas"])
    parser.add_argument("--spaces", nargs="+", default=["s1", "s3"])
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--cells", type=int, default=9)
    parser.add_argument("--batch-size", type=int, default=96)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
