"""Seconds per epoch and peak memory of every one-shot optimizer, beside the published network of the same method.

    python benchmarks/optimizer_speed.py --peer PATH_OF_A_CHECKOUT_OF_automl/nasbench-1shot1

Three searches take turns in one process, on the same batches: ours, ours with the published feature maps (preset
original, which pads before pooling), and the published one. A round is one search step of each (Λ where there is a
step of Λ, then the weights), one weight step alone and one evaluation batch. Ratios are published / ours with the same
feature maps, of the medians. Peak memory is that of a process of its own with one of them. Without --peer, ours alone.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path

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
            document["optimizers"].append(one_optimizer(replace(base, optimizer=optimizer, space=space)))
            save(document, options.out)
        document["weight_steps"].append(run(replace(base, what="weight-steps", space=space)))
        save(document, options.out)
    print(table(document))


def one_optimizer(job):
    """Speed and memory of one optimizer on one space."""
    measured = {"load_average": os.getloadavg(), **run(job)}
    peaks = {side: run(replace(job, what="memory", side=side)) for side in measured["sides"]}
    for side, peak in peaks.items():
        measured["sides"][side]["peak_memory_MiB"] = peak
    if "published" in peaks:
        measured["ratio"]["peak_memory"] = round(peaks["published"] / peaks["same-maps"], 2)
    print(json.dumps(measured), flush=True)
    return measured


def run(job):
    """The same file in a process of its own, so that memory and patches of one measurement touch no other."""
    command = [sys.executable, str(Path(__file__).resolve()), "--job", json.dumps(asdict(job))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def about(options):
    spoken = ["--peer PEER" if options.peer else "", "--quick" if options.quick else ""]
    spoken += [f"--{name} {getattr(options, name)}" for name in ("rounds", "threads", "device", "precision")]
    return {
        "date": str(date.today()),
        "command": " ".join(["python benchmarks/optimizer_speed.py", *filter(None, spoken)]),
        "peer": commit(options.peer) if options.peer else None,
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        "torch": version("torch"),
    }


def commit(peer):
    asked = ["git", "-C", peer, "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()


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
