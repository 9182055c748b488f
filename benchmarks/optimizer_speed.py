"""Seconds per epoch and peak memory of every one-shot optimizer, beside the published network of the same method.

    python benchmarks/optimizer_speed.py --peer PATH_OF_A_CHECKOUT_OF_automl/nasbench-1shot1

Three searches take turns in one process, on the same batches: ours, ours with the published feature maps (preset
original, which pads before pooling), and the published one. A round is one search step of each (Λ where there is a step
of Λ, then the weights), one weight step alone and one evaluation batch. Ratios are published / ours with the same
feature maps, of the medians. Peak memory is measured in a separate process for each. Without --peer, ours alone.
"""

import argparse
import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path

from revisions import revision

RESULT = Path(__file__).parent / "results" / "optimizer_speed.json"
OPTIMIZERS = ("darts", "darts-second-order", "gdas", "pc-darts", "snas", "random-ws", "enas")


@dataclass(frozen=True)
class Job:
    """What one process measures."""

    what: str  # speed, memory or weight-steps
    optimizer: str
    space: str
    side: str = ""  # for memory: ours, same-maps or published
    peer: str | None = None
    rounds: int = 5
    warm_up: int = 1
    batch_size: int | None = None
    steps_per_round: int = 1
    device: str = "cpu"
    threads: int = 2
    precision: str = "float32"
    compile: bool = False
    channels: int = 16
    cells: int = 9


def main():
    options = parsed()
    common = {
        name: getattr(options, name)
        for name in ("peer", "device", "threads", "precision", "compile", "rounds", "channels", "cells")
    }
    base = Job("speed", "darts", "s1", **common, steps_per_round=options.steps_per_round)
    if options.quick:
        base = replace(base, rounds=2, batch_size=16)
    document = {**about(options), "settings": settings(base), "optimizers": [], "weight_steps": []}
    for space in options.spaces:
        for optimizer in options.optimizers:
            job = replace(base, optimizer=optimizer, space=space)
            document["optimizers"].append(one_optimizer(job, options.quiet))
            save(document, options.out)
        document["weight_steps"].append(run_undisturbed(replace(base, what="weight-steps", space=space), options.quiet))
        save(document, options.out)
    print(table(document))


def one_optimizer(job, quiet):
    """Speed and memory of one optimizer on one space."""
    measured = run_undisturbed(job, quiet)
    peaks = {side: run(replace(job, what="memory", side=side)) for side in measured["sides"]}
    for side, peak in peaks.items():
        measured["sides"][side]["peak_memory_MiB"] = peak
    if "published" in peaks:
        measured["ratio"]["peak_memory"] = round(peaks["published"] / peaks["same-maps"], 2)
    print(json.dumps(measured), flush=True)
    return measured


def run_undisturbed(job, quiet):
    """What was measured while other processes took at most that share of the processors, and the share they took."""
    while True:
        while quiet < math.inf and others_share(lambda: time.sleep(5))[1] > quiet:
            time.sleep(15)
        measured, share = others_share(lambda: run(job))
        if share <= quiet:
            return {**measured, "others_share_of_cpu": round(share, 3)}
        print(f"{job.what} of {job.optimizer} on {job.space}: others took {share:.0%}, so once more", flush=True)


def others_share(action):
    """What an action returns, and the share of all processors' time that was not this process's children's (Linux)."""
    started, busy, own = time.perf_counter(), busy_seconds(), children_seconds()
    result = action()
    available = (time.perf_counter() - started) * os.cpu_count()
    return result, (busy_seconds() - busy - (children_seconds() - own)) / available


def busy_seconds():
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")  # without idle and waiting for a disk


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(job):
    """The same file in a process of its own, so that memory and patches of one measurement touch no other."""
    command = [sys.executable, str(Path(__file__).resolve()), "--job", json.dumps(asdict(job))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def about(options):
    spoken = " ".join(sys.argv[1:]).replace(options.peer or "PEER", "PEER").replace(f"--out {options.out}", "")
    return {
        "date": str(date.today()),
        "command": f"python benchmarks/optimizer_speed.py {spoken}".strip(),
        "peer": revision(options.peer) if options.peer else None,
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        "torch": version("torch"),
    }


def settings(job):
    of_a_row = ("what", "optimizer", "space", "side", "peer")
    return {name: value for name, value in asdict(job).items() if name not in of_a_row}


def save(document, out):
    out.write_text(json.dumps(document, indent=1) + "\n")


def table(document):
    """The rows of the README's table."""
    lines = ["| space | optimizer | batch | search step | weight step | s / epoch | published | MiB | published |"]
    lines += ["|" + "---|" * 9]
    for row in document["optimizers"]:
        ours, theirs = row["sides"]["ours"], row["sides"].get("published", {})
        ratio = row.get("ratio", {})
        cells = [row["space"], row["optimizer"], row["batch_size"], ratio.get("search_step"), ratio.get("weight_step")]
        cells += [side.get(name) for name in ("seconds_per_epoch", "peak_memory_MiB") for side in (ours, theirs)]
        lines.append("| " + " | ".join("–" if cell is None else str(cell) for cell in cells) + " |")
    return "\n".join([*lines, json.dumps(document["weight_steps"])])


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="checkout of the published code")
    parser.add_argument("--optimizers", nargs="+", choices=OPTIMIZERS, default=OPTIMIZERS)
    parser.add_argument("--spaces", nargs="+", default=["s1", "s3"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps-per-round", type=int, default=1, help="on a GPU 20, so that steps queue up")
    parser.add_argument("--quick", action="store_true", help="batch 16, 2 rounds: to see that it runs")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--cells", type=int, default=9)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--quiet", type=float, default=0.1, help="measure again where others take more of the CPUs")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        sys.path.insert(0, str(Path(__file__).parent))
        from search_rivals import measure

        print(json.dumps(measure(Job(**json.loads(options.job)))))
        sys.exit()
    return options


if __name__ == "__main__":
    main()
