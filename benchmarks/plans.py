"""How well plans predict: FLOPs, seconds, memory and disk of real runs here, and published times.

    python benchmarks/plans.py here --out benchmarks/results/plans.json        # searches on this machine, 10 minutes
    python benchmarks/plans.py steps --out benchmarks/results/plans.json       # steps at the full scale, 8 minutes
    python benchmarks/plans.py published --out benchmarks/results/plans.json   # counts published searches, 5 minutes

`here` plans searches at the quick and the medium scale, runs each of them in a process of its own, and compares FLOPs
(with PyTorch's FlopCounterMode), seconds, peak memory and disk. `steps` times steps at the full scale, from which
docs/full_scale.md states hours on a CPU core. Seconds are CPU time of one thread, because other programs may run.

`published` counts the FLOPs of searches with published settings. It divides them by the published times and by the
published throughput of the GPU. It also fits the times of trainings in NAS-Bench-201's table, and compares the speed of
five GPUs in the latencies of the same table with their published figures.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

import nasbench1shot1 as nb
from nasbench1shot1.experiments.plans import make_plan
from nasbench1shot1.experiments.reproduction.forecast import START_UP
from nasbench1shot1.one_shot_search.estimate import seconds_per_epoch, seconds_to_score
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.work import work_of_search, work_to_score
from nasbench1shot1.proxy_training.loop import seconds_per_architecture
from nasbench1shot1.proxy_training.record import proxy_config
from nasbench1shot1.proxy_training.work import work_of_proxies
from nasbench1shot1.runs.devices import GPU, GPUS, REFERENCE

QUICK = {"scale": "quick", "device": "cpu", "threads": 1}
MEDIUM = {"scale": "medium", "device": "cpu", "threads": 1, "epochs": 1}
SEARCHES = {
    "darts, s1, quick scale": {"optimizer": "darts", "space": "s1", **QUICK},
    "gdas, s3, quick scale": {"optimizer": "gdas", "space": "s3", **QUICK},
    "darts, nb201, quick scale": {"optimizer": "darts", "space": "nb201", **QUICK, "epochs": 3},
    "darts, s1, medium scale": {"optimizer": "darts", "space": "s1", **MEDIUM},
    "darts, nb201, medium scale": {"optimizer": "darts", "space": "nb201", **MEDIUM},
    "random-ws, s1, quick scale": {"optimizer": "random-ws", "space": "s1", **QUICK, "epochs": 5},
}
"""Searches, each with what distinguishes it. Few epochs are enough where an epoch has more than a hundred steps."""
CPU_TIME = "import time; time.perf_counter = time.process_time"
"""Seconds of the CPU, not of the clock on the wall, which also runs while other programs compute."""
RUN = f"""
{CPU_TIME}
import json, resource, sys
import nasbench1shot1 as nb
from rich.console import Console
run = nb.search(out=sys.argv[1], console=Console(quiet=True), **json.loads(sys.argv[2]))
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([run.summary["search_seconds"], used.ru_utime + used.ru_stime, used.ru_maxrss * 1024]))
"""
COUNT = """
import json, sys
import nasbench1shot1 as nb
from rich.console import Console
from torch.utils.flop_counter import FlopCounterMode

class Everywhere:  # FlopCounterMode counts by module with hooks that do not allow autograd.grad
    parents = {"Global"}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

counter = FlopCounterMode(display=False)
counter.mod_tracker = Everywhere()
with counter:
    nb.search(out=sys.argv[1], console=Console(quiet=True), **json.loads(sys.argv[2]))
print(json.dumps(counter.get_total_flops()))
"""
STEPS = {
    "s1": ("darts", "darts-second-order", "gdas", "pc-darts", "random-ws"),
    "s3": ("darts", "gdas"),
    "nb201": ("darts", "gdas", "random-ws"),
    "nats-size": ("tas", "tunas"),
}
"""Methods whose steps at the full scale are timed, by space."""
RANKED = {"s1": "darts"}
"""Searches whose rankings are timed at the full scale."""
PROXIES = ((3, 16), (9, 36))
"""Cells and channels of networks that are trained alone."""
HOURS_1SHOT1 = {"darts": 3, "darts-second-order": 4, "gdas": 1.5, "pc-darts": 2, "enas": 4, "random-ws": 11}
"""Hours of 50 epochs on an RTX 2080 Ti (NAS-Bench-1Shot1, section 5); the paper does not state the space."""
SECONDS_201 = {
    "darts": 11625.77,
    "darts-second-order": 35781.80,
    "gdas": 31609.80,
    "setn": 34139.53,
    "enas": 14058.80,
    "random-ws": 8007.13,
}
"""Seconds on a GTX 1080 Ti (NAS-Bench-201, table 5, first block)."""
COMPUTES_OTHERWISE = ("enas", "random-ws")
"""Methods whose published code computes all operations and multiplies them by 0; ours computes one."""
LATENCIES = {
    "1080ti": GPUS["gtx-1080-ti"],
    "2080ti": REFERENCE,
    "titanx": GPU("titan-x", "TITAN X (Maxwell)", 6.7, 336, 12, "NVIDIA product page, 2015"),
    "titanxp": GPU("titan-xp", "TITAN Xp", 12.1, 548, 12, "NVIDIA product page, 2017"),
    "titan_rtx": GPU("titan-rtx", "TITAN RTX", 16.3, 672, 24, "NVIDIA product page, 2018"),
}
"""The GPUs of the table's latencies, for batches of 256 images."""


def here(rows, save):
    """Predicted and measured values of searches."""
    with TemporaryDirectory() as folder:
        for number, (name, options) in enumerate(SEARCHES.items()):
            if name in [row["run"] for row in rows]:
                continue
            options = {**options, **({"images": random_images(folder)} if options["scale"] == "medium" else {})}
            rows.append(compared(name, options, f"{folder}/{number}"))
            print(rows[-1], flush=True)
            save({"columns": "[predicted, measured]; memory and disk in MB", "rows": rows})


def compared(name, options, folder):
    """Predicted and measured values of a search."""
    (row,) = make_plan("search", **options).rows
    searched, used, peak = in_a_process(RUN, f"{folder}-timed", options)
    disk = sum(path.stat().st_size for path in Path(f"{folder}-timed").rglob("*") if path.is_file())
    short = {**options, "epochs": 1}
    planned = work_of_search(search_options(short)).flops.total
    return {
        "run": name,
        "epochs": nb.load_run(f"{folder}-timed").config["epochs"],
        "steps": row.work.steps,
        "gigaflops": [round(planned / 1e9, 2), round(in_a_process(COUNT, f"{folder}-counted", short) / 1e9, 2)],
        "search_seconds": [round(row.seconds - START_UP, 1), round(searched, 1)],
        "seconds": [round(row.seconds, 1), round(used, 1)],
        "memory": [round(row.work.memory / 1e6), round(peak / 1e6)],
        "disk": [round(row.work.disk / 1e6, 2), round(disk / 1e6, 2)],
    }


def in_a_process(code, folder, options):
    """Run a search in a new process; return what it prints as JSON."""
    done = subprocess.run([sys.executable, "-c", code, folder, json.dumps(options)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def random_images(folder):
    """An image set of the size that the medium scale needs."""
    path = Path(folder) / "random.npz"
    if not path.exists():
        rng = np.random.default_rng(0)
        images = np.resize(rng.integers(0, 256, (100, 32, 32, 3), np.uint8), (22_000, 32, 32, 3))
        np.savez(path, images=images, labels=np.arange(22_000) % 10)
    return str(path)


def steps(rows, save):
    """FLOPs per second of steps at the full scale on this machine."""

    def add(kind, name, measured):
        if (kind, name) in [(row["kind"], row["run"]) for row in rows]:
            return
        seconds, flops = measured()
        rows.append({"kind": kind, "run": name, "seconds": round(seconds, 1), "gigaflops": round(flops / 1e9)})
        rows[-1]["gigaflops_per_second"] = round(flops / seconds / 1e9, 1)
        print(rows[-1], flush=True)
        save({"rows": rows})

    def full(name, space):
        return search_options({"optimizer": name, "space": space, "device": "cpu", "threads": 1})

    def searched(options):
        return seconds_per_epoch(options), work_of_search(options).flops.total / options.common.epochs

    def ranked(options):
        return seconds_to_score(options, 1000, 1000), work_to_score(options, 1000, 1000).flops.total

    def trained(cells, channels):
        config = proxy_config({"scale": "full", "cells": cells, "channels": channels, "device": "cpu", "threads": 1})
        return seconds_per_architecture(config), work_of_proxies(config).flops.total / config.architectures

    for cells, channels in PROXIES:
        add("training", f"{cells} cells, {channels} channels", partial(trained, cells, channels))
    for space, name in RANKED.items():
        add("ranking", f"{name}, {space}", partial(ranked, full(name, space)))
    for space, names in STEPS.items():
        for name in names:
            add("search", f"{name}, {space}", partial(searched, full(name, space)))
    found = {"rows": rows}
    for name, kinds in {"searching": ("search", "ranking"), "training": ("training",)}.items():
        speeds = np.array([row["gigaflops_per_second"] for row in rows if row["kind"] in kinds])
        median = float(np.median(speeds))
        factors = np.maximum(speeds / median, median / speeds)
        found[name] = {
            "gigaflops_per_second": round(median, 1),
            "largest_factor": round(float(factors.max()), 2),
            "median_factor": round(float(np.median(factors)), 2),
        }
    save(found)


def published(rows, save):
    """FLOPs per second of published searches and trainings, as shares of the published throughput."""
    searches = []
    for space in ("s1", "s3"):
        searches += [
            efficiency(name, space, 3600 * hours, REFERENCE, {"epochs": 50}) for name, hours in HOURS_1SHOT1.items()
        ]
    searches += [efficiency(name, "nb201", seconds, GPUS["gtx-1080-ti"], {}) for name, seconds in SECONDS_201.items()]
    fitted = [row["efficiency"] for row in searches if row["optimizer"] not in COMPUTES_OTHERWISE]
    median = float(np.median(fitted))
    errors = [max(value / median, median / value) for value in fitted]
    save(
        {
            "searches": searches,
            "efficiency": round(median, 4),
            "largest_factor": round(max(errors), 2),
            "median_factor": round(float(np.median(errors)), 2),
            "trainings": trainings(),
            "gpus": speeds(),
        }
    )


def efficiency(name, space, seconds, gpu, options):
    work = work_of_search(
        search_options({"optimizer": name, "space": space, "preset": "original", "device": "cpu", **options})
    )
    share = work.flops.total / seconds / gpu.throughput
    row = {
        "optimizer": name,
        "space": space,
        "gpu": gpu.title,
        "petaflops": round(work.flops.total / 1e15, 2),
        "hours": round(seconds / 3600, 2),
        "efficiency": round(share, 4),
    }
    print(row, flush=True)
    return row


def trainings():
    """A line fitted to the training times of NAS-Bench-201's table: seconds per image by FLOPs."""
    table = nb.load_table("nb201")
    flops = 6 * np.asarray(table.column("cifar10-valid.flops"), float).ravel()  # forward and backward, 2 each
    epochs = table.epochs[-1]
    times = np.asarray(table.column("cifar10-valid.training_time"), float).reshape(len(flops), len(table.epochs), -1)
    seconds = np.nanmean(times[:, -1], axis=-1) / (25_000 * epochs)
    known = np.isfinite(seconds)
    slope, intercept = np.polyfit(flops[known], seconds[known], 1)
    ratio = (intercept + slope * flops[known]) / seconds[known]
    factors = np.maximum(ratio, 1 / ratio)
    of = GPUS["gtx-1080-ti"]
    return {
        "networks": int(known.sum()),
        "share": round(float(1 / slope / of.throughput), 3),
        "microseconds_per_image": round(1e6 * float(intercept) * of.speed, 1),
        "gpu": of.title,
        "median_factor": round(float(np.median(factors)), 3),
        "factor_of_95_percent": round(float(np.quantile(factors, 0.95)), 3),
    }


def speeds():
    """The speed of GPUs relative to the reference: published, and measured by median latencies of NAS-Bench-201."""
    table = nb.load_table("nb201")

    def latency(name):
        return np.asarray(table.column(f"latency_{name}_256"), float).ravel()

    reference, rows = latency("2080ti"), []
    for name, gpu in LATENCIES.items():
        measured = float(np.median(reference / latency(name)))
        rows.append({"gpu": gpu.title, "speed": round(gpu.speed, 2), "measured": round(measured, 2)})
        rows[-1]["factor"] = round(math.exp(abs(math.log(gpu.speed / measured))), 2)
    return rows


def processor():
    """The name of the processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


PARTS = {"here": here, "steps": steps, "published": published}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=tuple(PARTS))
    parser.add_argument("--out", type=Path, help="JSON file with the results; rows in it are not measured again")
    options = parser.parse_args()
    torch.set_num_threads(1)
    time.perf_counter = time.process_time  # as in CPU_TIME
    found = json.loads(options.out.read_text()) if options.out and options.out.is_file() else {}
    for part in options.parts:
        about = {
            "date": str(date.today()),
            "machine": f"{processor()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
            "torch": torch.__version__,
            "load": round(os.getloadavg()[0], 1),
        }

        def save(results, part=part, about=about):
            found[part] = {**about, **results}
            if options.out:
                options.out.write_text(json.dumps(found, indent=1) + "\n")

        PARTS[part](found.get(part, {}).get("rows", []), save)


if __name__ == "__main__":
    main()
