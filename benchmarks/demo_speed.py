"""CPU seconds of the demo, `nb1shot1 search --scale quick`, and of its earlier settings; and how threads wait.

    python benchmarks/demo_speed.py settings [--rounds 2]
    python benchmarks/demo_speed.py waiting [--scale quick|full] [--rounds 2] [--steps 12]

settings: searches of one and of two epochs with one thread, present and earlier settings in turns. CPU seconds are user
and system time of the whole process. An epoch costs the difference; the demo is extrapolated to its number of epochs.

waiting: training steps with two threads, for several values of libgomp's environment variables in turns, and with one
thread, as the machine is and beside an endless loop on core 0. "default" is libgomp's own behaviour. Losses with equal
numbers of threads must be equal. --scale full is the paper's supernet and batch size, on the bundled images.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from nasbench1shot1.cli import SPIN_COUNT, SPIN_VARIABLES
from nasbench1shot1.scales import SCALES

RESULTS = Path(__file__).parent / "results"
EARLIER = ["--image-side", "32", "--batch-size", "32"]  # the quick scale before 2026-11-22
SEARCH = "from nasbench1shot1.cli import main; main()"
WAITING = {
    "passive": {"OMP_WAIT_POLICY": "PASSIVE"},
    **{f"spin_{count}": {SPIN_COUNT: str(count)} for count in (100, 1000, 10000, 100000)},
    "default": {},
    "one_thread": {"OMP_NUM_THREADS": "1"},
}
SUPERNETS = {"quick": {"scale": "quick"}, "full": {"images": "cifar10-sample"}}
STEPS = """
import itertools, json, sys, time, torch
from nasbench1shot1.one_shot_search import loop
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.beginning import begin
count, options = int(sys.argv[1]), json.loads(sys.argv[2])
options["threads"] = torch.get_num_threads()
steps = loop.training_steps(begin(search_options(options)), 1)
for _ in range(2):
    next(steps)
wall, cpu = time.perf_counter(), time.process_time()
losses = [float(step.loss) for step in itertools.islice(steps, count)]
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(json.dumps({"wall": wall / count, "cpu": cpu / count, "loss": losses[-1]}))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("settings", "waiting"))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--scale", choices=SUPERNETS, default="quick")
    options = parser.parse_args()
    result = {
        "command": " ".join(["python", "benchmarks/demo_speed.py", *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 1),
        **(settings(options.rounds) if options.what == "settings" else waiting(options)),
    }
    name = f"waiting_{options.scale}" if options.what == "waiting" else "demo_settings"
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


def settings(rounds):
    seconds = {}
    for number in range(rounds):
        for name, arguments in {"earlier": EARLIER, "present": []}.items():
            for epochs in (1, 2):
                spent = cpu_seconds(epochs, arguments)
                seconds.setdefault(name, {}).setdefault(epochs, []).append(spent)
                print(f"round {number}, {name}, {epochs} epochs: {spent:.1f} s", flush=True)
    demos = {name: demo(by_epochs) for name, by_epochs in seconds.items()}
    ratio = demos["earlier"]["demo"] / demos["present"]["demo"]
    return {"cpu_seconds": seconds, "estimates": demos, "ratio": round(ratio, 2)}


def demo(by_epochs):
    one, two = (statistics.median(by_epochs[epochs]) for epochs in (1, 2))
    total = one + (two - one) * (SCALES["quick"]["epochs"] - 1)
    return {"epoch": round(two - one, 1), "demo": round(total)}


def cpu_seconds(epochs, arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        given = ["--threads", "1", "--epochs", str(epochs), "--out", f"{folder}/run"]
        before = os.times()
        line = [sys.executable, "-c", SEARCH, "search", "--scale", "quick", *given, *arguments]
        subprocess.run(line, check=True, capture_output=True, env=environment)
        after = os.times()
    return round(after.children_user + after.children_system - before.children_user - before.children_system, 2)


def waiting(options):
    measured = {}
    for load in ("as_it_is", "busy_core"):
        with busy_core() if load == "busy_core" else nothing():
            for _ in range(options.rounds):
                for name, variables in WAITING.items():
                    one = step_seconds(options, variables)
                    print(load, name, one, flush=True)
                    measured.setdefault(load, {}).setdefault(name, []).append(one)
    losses = {
        (name == "one_thread", one["loss"]) for of in measured.values() for name, ones in of.items() for one in ones
    }
    assert len(losses) == 2, losses
    return {
        load: {
            name: {what: [round(1000 * one[what]) for one in ones] for what in ("wall", "cpu")}
            for name, ones in of_load.items()
        }
        for load, of_load in measured.items()
    }


def step_seconds(options, variables):
    unset = {name: value for name, value in os.environ.items() if name not in SPIN_VARIABLES} | {"OMP_NUM_THREADS": "2"}
    line = [sys.executable, "-c", STEPS, str(options.steps), json.dumps(SUPERNETS[options.scale])]
    return json.loads(subprocess.run(line, check=True, capture_output=True, env={**unset, **variables}).stdout)


@contextmanager
def nothing():
    yield


@contextmanager
def busy_core():
    process = subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
