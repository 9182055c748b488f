"""Record small runs of everything that the package computes, and compare two recordings field by field.

A change that only moves code must not change any result. Record the package before the first change and after the last
one, then compare the two recordings:

    PYTHONPATH=CHECKOUT-BEFORE python benchmarks/equal_runs.py record FOLDER/before
    PYTHONPATH=CHECKOUT-AFTER python benchmarks/equal_runs.py record FOLDER/after
    python benchmarks/equal_runs.py compare FOLDER/before FOLDER/after

`record` uses the package that Python imports. It only uses the command line and documented names, so one version of
this script records both sides. A recording takes 10 to 20 minutes on one core. Each item runs in a forked process with
one thread. The folder of an item contains the files that the item wrote, the exit codes of its commands
(`commands.jsonl`), its output (`output.txt`), and, once it has ended, `item.json`. If `record` is repeated, it skips
recorded items and runs failed items again. `--only 'search/*'` records (or compares) only the items that match a
pattern; `record` adds the items that these need. `--slow` also rebuilds the embedded table, which takes another 8
minutes.

`compare` prints the run, file, field and both values of every difference, and exits with 1 if there is one. Numbers,
tensors and arrays must be equal bit for bit, and pictures byte for byte. A field that exists on one side only is a
difference. These are not compared: `environment.json`, measured times and the checksums of records that contain them
(`MEASURED`), identifiers that are different in every run (`VARYING`), and the folders of the recordings in paths.
Another order of fields is only a warning. So is different output, unless the output is the result of a command, as for
`nb1shot1 query`.
"""

import argparse
import base64
import contextlib
import csv
import fnmatch
import hashlib
import io
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy and PyTorch are imported: forked processes must not inherit threads

import numpy as np  # noqa: E402
import torch  # noqa: E402

import nasbench1shot1 as nb  # noqa: E402
from nasbench1shot1.cli import main as run_command  # noqa: E402

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
LIMIT = 900  # seconds of an item
SLOW_LIMIT = 3600
RECORDING, ITEM, COMMANDS, OUTPUT = "recording.json", "item.json", "commands.jsonl", "output.txt"

OPTIMIZERS = ("darts", "darts-second-order", "gdas", "pc-darts", "snas", "random-ws", "enas", "setn")
BLACK_BOX = (
    *("random", "regularized-evolution", "non-regularized-evolution", "reinforce", "local-search"),
    *("tpe", "smac", "hyperband", "bohb"),
)
PRESETS = ("corrected", "original")
TABLES = ("embedded", "nb101-sample", "nb201")
METRICS = (
    *("validation_accuracy", "test_accuracy", "train_accuracy", "training_time"),
    *("validation_loss", "test_loss", "train_loss", "evaluation_time"),
)
CELL = "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"
WHOLE = "nb101:|0,1|1|1,3|3,4|0,1,2,4,5:maxpool3x3,conv1x1,conv1x1,conv1x1,maxpool3x3"
HASH = "00005c142e6f48ac74fdcf73e3439874"  # a cell of seven vertices
EDGES = "nb201:|nor_conv_3x3~0|+|none~0|nor_conv_1x1~1|+|skip_connect~0|nor_conv_3x3~1|avg_pool_3x3~2|"
ON_CPU = "--threads 1 --device cpu"
TINY = f"--scale quick --epochs 2 --images-per-half 64 --channels 4 --cells 3 --batch-size 16 {ON_CPU}"

MEASURED = re.compile(
    r"seconds|training_time|datetime|^(submitted|started|finished|worker)$|^(metrics|recorded)_sha256s?$"
)
"""Names of fields with measured times, with checksums of lines that contain them, or with the name of the machine."""
VARYING = re.compile(r"(^|\.)(worker_id|source\.key|meta_sha256)$")
"""Fields that depend on the process, or on the path and date of an imported file."""
NOT_COMPARED = ("environment.json", ITEM)
TIMES = re.compile(r"(less than a|about \d+|\d[\d,.]*) ?(s|ms|min|minutes?|h)\b")
PLACES = re.compile(r"\S+\.py:\d+|(?<=localhost:)\d+")  # lines of code in warnings, and ports
FRAMES = re.compile(r"[\s─━═┄┈┏┓┗┛┡┩┳┻╇┴┬┼]+")
MOST_DIFFERENCES = 20  # printed for one file


@dataclass(frozen=True)
class Item:
    """One recorded item.

    Attributes:
        run: writes files into the current folder.
        needs: names of the items whose files `run` reads.
        exact: whether all times are simulated or come from a table, so that they are compared, too.
        prints: whether the output is a result, so that a difference is not only a warning.
        timed: patterns of files that depend on measured times.
        slow: whether `record` needs `--slow` to run it.
    """

    run: Callable[[], None]
    needs: tuple[str, ...] = ()
    exact: bool = False
    prints: bool = False
    timed: tuple[str, ...] = ()
    slow: bool = False


# Tools of the items -------------------------------------------------------------------------------------------------


def command(line):
    """Run a command, words separated by spaces, and record its exit code."""
    print("$ nb1shot1", line, flush=True)
    code = 0
    try:
        run_command(line.split())
    except SystemExit as stop:
        code = stop.code
    with Path(COMMANDS).open("a") as file:
        file.write(json.dumps({"command": line, "exit": code}) + "\n")


def commands(*lines):
    for line in lines:
        command(line)


def write(name, value):
    Path(name).write_text(json.dumps(value, default=plain) + "\n")


def plain(value):
    """Convert NumPy's values, tensors, mappings, paths and architectures for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    return str(value) if isinstance(value, Path | nb.Architecture) else repr(value)


def digest(values):
    """The SHA-256 of an array or a tensor, with its type and shape."""
    array = np.ascontiguousarray(values.detach().numpy() if isinstance(values, torch.Tensor) else values)
    content = array.tobytes() if array.dtype != object else repr(array.tolist()).encode()
    return f"{array.dtype} {array.shape} {hashlib.sha256(content).hexdigest()}"


def digest_of_text(text):
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_file(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def answer(function, *arguments, **named):
    """The result of a call, or the kind of its refusal."""
    try:
        return function(*arguments, **named)
    except (nb.UserError, KeyError) as refusal:
        return {"refused": type(refusal).__name__}


def attributes(thing, *names):
    """Attributes by name; an attribute that does not exist is a difference instead of a failure."""
    return {name: getattr(thing, name, "there is no such attribute") for name in names}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def neighbour(name):
    """The folder of another item, relative to the folder of this item."""
    return os.path.relpath(Path(os.environ["EQUAL_RUNS"]) / name)


# One-shot searches --------------------------------------------------------------------------------------------------


def search(options=""):
    command(f"search {TINY} --out run {options}")


def search_items():
    spaces = [(space, preset, OPTIMIZERS) for space in ("s1", "s3", "nb201") for preset in PRESETS]
    for space, preset, optimizers in (*spaces, ("s2", "corrected", ("darts", "gdas", "random-ws"))):
        for name in optimizers:
            options = f"--optimizer {name} --space {space} --preset {preset} --keep-weights-every 1"
            yield f"search/{space}-{preset}-{name}", Item(partial(search, options))


OPTIONS = {
    "gdas-partial-channels": "--optimizer gdas --partial-channels 4",
    "darts-partial-channels-original": "--partial-channels 2 --preset original --space s3",
    "nb201-partial-channels": "--space nb201 --partial-channels 2",
    "pc-darts-second-order": "--optimizer pc-darts --update second-order",
    "darts-single-path": "--relaxation single-path",
    "nb201-single-path": "--relaxation single-path --space nb201",
    "darts-as-gdas": "--relaxation gumbel-operations --temperature-max 10 --temperature-min 0.1",
    "snas-perturbed-warm": "--optimizer snas --perturbation random --warm-start-epochs 1",
    "pc-darts-perturbed": "--optimizer pc-darts --relaxation gumbel --temperature-max 5 --perturbation adversarial",
    "nb201-perturbed": "--space nb201 --perturbation adversarial",
    "gdas-draws": "--optimizer gdas --update second-order --draws 3",
    "random-ws-batch": "--optimizer random-ws --partial-channels 4 --evaluation-batch-norm batch --candidates 30",
    "enas-running": "--optimizer enas --evaluation-batch-norm running --candidates 30 --finalists 3",
    "setn-batch-nb201": "--optimizer setn --space nb201 --evaluation-batch-norm batch --candidates 30",
    "darts-hessian": "--hessian-eigenvalue --early-stopping --cutout-probability 0.5 --epochs 4",
    "nb201-hessian": "--space nb201 --hessian-eigenvalue --cutout-probability 0.5 --cutout-schedule constant",
    "bfloat16": "--precision bfloat16",
    "bfloat16-nb201": "--precision bfloat16 --space nb201 --optimizer gdas",
    "seed-and-weights": "--seed 3 --learning-rate 0.1 --momentum 0.8 --nesterov True --weight-decay 0.01 --grad-clip 1",
    "sample-table": "--table nb101-sample --reference present",
    "svg": "--format svg --space s3",
    "seeds": "--seeds 0-1 --space s3",
    "seeds-nb201": "--seeds 0-1 --space nb201 --optimizer gdas",
    "unknown-optimizer": "--optimizer dart",
    "no-relaxation": "--space nb101",
}


def option_items():
    for name, options in OPTIONS.items():
        yield f"options/{name}", Item(partial(search, options))
    for name in OPTIMIZERS:
        yield f"options/resumed-{name}", Item(partial(resumed_search, f"--optimizer {name}"))
    yield "options/resumed-nb201", Item(partial(resumed_search, "--space nb201 --optimizer pc-darts"))
    yield "options/overwritten", Item(overwritten_search)
    yield "options/own-images", Item(own_images)
    yield "options/callbacks", Item(callbacks)
    yield "options/own-loop", Item(own_loop)


def resumed_search(options):
    search(options)
    command("search --resume run --epochs 3")


def overwritten_search():
    search()
    search("--seed 1 --overwrite")
    search()  # refused, because the folder exists


def own_images():
    small_images("small.npz")
    command("data import small.npz --name small --overwrite")
    search("--images small --images-per-half 40")
    command("data info")


def small_images(path):
    """Noise in one colour for each of ten classes: 100 images to train, 20 to validate and 20 to test."""
    rng, labels = np.random.default_rng(0), np.tile(np.arange(10), 14)
    colours = np.array([[i % 3, i // 3 % 3, i // 9] for i in range(0, 20, 2)]) * 70
    images = (rng.integers(0, 100, (len(labels), 32, 32, 3)) + colours[labels][:, None, None]).astype(np.uint8)
    np.savez(path, images=images, labels=labels, train_index=np.arange(len(labels)))


def callbacks():
    """Record what a callback receives, and what the returned run and its last supernet contain."""
    seen = []

    def look(epoch):
        parameters = {key: digest(value) for key, value in epoch.architecture_parameters.items()}
        seen.append({"line": dict(epoch.line), "architecture": str(epoch.architecture), "parameters": parameters})

    options = {"scale": "quick", "epochs": 2, "images_per_half": 64, "channels": 4, "batch_size": 16, "threads": 1}
    run = nb.search("gdas", space="s1", out="run", callbacks=[look], keep_weights_every=1, device="cpu", **options)
    net, mixing = run.supernet(2)
    images = torch.randn(4, 3, 16, 16, generator=generator())
    write("seen.json", {"seen": seen, "summary": run.summary, "columns": list(run.metrics.columns)})
    torch.save(
        {"logits": net(images, mixing).detach(), **{key: torch.as_tensor(mixing[key]) for key in mixing}}, "net.pt"
    )


def own_loop():
    """First-order DARTS in a loop of our own, recorded by `nb.Recorder` (docs/own_loop.md)."""
    torch.manual_seed(0)
    space, images = nb.search_space("s1"), nb.load_images("cifar10-sample").downsample(16)
    halves = nb.split_images(images, "20k/20k", np.random.default_rng(0), images_per_half=64)
    augment, net = nb.Augmentation.of(images), nb.Supernet(space, channels=4, cells=3)
    parameters = {key: torch.zeros(shape, requires_grad=True) for key, shape in space.mixing_shapes().items()}
    sgd = torch.optim.SGD(net.parameters(), lr=0.025, momentum=0.9, weight_decay=3e-4)
    adam = torch.optim.Adam(parameters.values(), lr=3e-3, betas=(0.5, 0.999), weight_decay=1e-3)
    with nb.Recorder("run", space, optimizer="own-darts", notes={"learning_rate": 0.025}) as recorder:
        recorder.record(parameters)
        for epoch in (1, 2):
            drawn, rows = generator(epoch), (halves.weights, halves.architecture)
            pairs = [nb.image_batches(images, half, 16, drawn, augment) for half in rows]
            for weight_batch, architecture_batch in zip(*pairs, strict=True):
                for optimizer, (x, labels) in ((adam, architecture_batch), (sgd, weight_batch)):
                    mixing = {key: torch.softmax(value, dim=-1) for key, value in parameters.items()}
                    loss = torch.nn.functional.cross_entropy(net(x, mixing), labels)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
            recorder.record(parameters, train_loss=loss, largest=max(value.max() for value in parameters.values()))


# Rankings, black-box studies, tuning, trainings, figures ------------------------------------------------------------


def rank(run, options, architectures):
    folder = neighbour(f"{run}/run")
    size = f"--architectures {architectures} --images 64 --resamples 20"
    command(f"correlate {folder} {size} {ON_CPU} --out ranking {options}")


def rank_listed(run):
    """Rank architectures from a file that another table has, too."""
    rng, space, sample = np.random.default_rng(1), nb.search_space("s1"), nb.load_table("nb101-sample")
    drawn = [space.sample(rng, loose_ends=False) for _ in range(300)]
    Path("list.txt").write_text("".join(f"{arch}\n" for arch in drawn if arch in sample))
    rank(run, "--budgets 12,108 --table nb101-sample", "list.txt")


def ranking_items():
    s1, s3, nb201 = (f"search/{space}-corrected-darts" for space in ("s1", "s3", "nb201"))
    rankings = {
        "s1": (s1, "--resamples 100", 40),
        "s3": (s3, "--copies mean --epochs 2", 30),
        "nb201": (nb201, "", 30),
        "s1-one-copy": (s1, "--copies one --seed 2", 15),
        "s1-auto-images": ("search/s1-corrected-gdas", "--images auto:0.2 --epochs every:2", 15),
        "s1-auto-images-refused": (s1, "--images auto:0.2 --epochs 2", 15),
        "s1-bfloat16": (s1, "--precision bfloat16", 10),
        "s1-published-script": ("search/s1-original-darts", "--preset original", 15),
        "nb201-published-script": ("search/nb201-original-darts", "--preset original", 15),
        "enas-controller": ("search/s1-corrected-enas", "", "controller"),
        "random-ws": ("search/s3-corrected-random-ws", "", 15),
        "gdas-nb201": ("search/nb201-corrected-gdas", "", 15),
    }
    for space, run in (("s1", s1), ("s3", s3), ("nb201", nb201)):
        for mode in ("batch", "running", "recalibrated"):
            rankings[f"{space}-{mode}"] = (run, f"--batch-norm {mode} --epochs 2", 8)
    for name, (run, options, architectures) in rankings.items():
        yield f"ranking/{name}", Item(partial(rank, run, options, architectures), (run,))
    yield "ranking/s1-list", Item(partial(rank_listed, s1), (s1,))


STUDIES = {
    "s1-time-limit": "--space s1 --seconds 2e5 --repeats 4 --seed 5",
    "s3-parallel": "--space s3 --deduplicate --simulated-workers 4 --decision-seconds 9 --repeats 4 --evaluations 60",
    "s2-short": "--optimizer local-search --space s2 --epochs 12 --evaluations 60 --repeats 4",
    "nb201-cifar100": "--space nb201 --dataset cifar100 --repeats 4 --seconds 8000",
    "nb201-imagenet": "--space nb201 --dataset ImageNet16-120 --optimizer reinforce --repeats 4 --seconds 9000",
    "nb101-sample": "--space nb101 --table nb101-sample --reference present --repeats 3 --evaluations 20",
    "nb101-mini-refused": "--space nb101-mini --repeats 3 --evaluations 20",
    "evolution-options": "--space nb201 --population 20 --tournament 5 --repeats 4 --evaluations 80",
    "workers": "--space s1 --optimizer random --repeats 6 --evaluations 20 --workers 2",
}


def black_box(options):
    command(f"blackbox --out study {options}")


def black_box_items():
    sizes = dict.fromkeys(BLACK_BOX, "--repeats 10 --evaluations 150")
    sizes |= dict.fromkeys(("tpe", "smac"), "--repeats 3 --evaluations 35")
    sizes |= dict.fromkeys(("hyperband", "bohb"), "--repeats 3 --evaluations 80")
    studies = {
        f"{space}-{name}": f"--optimizer {name} --space {space} {sizes[name]}"
        for space in ("s1", "nb201")
        for name in BLACK_BOX
    }
    for name, options in (studies | STUDIES).items():
        yield f"blackbox/{name}", Item(partial(black_box, options), exact=True)
    yield "blackbox/resumed", Item(resumed_study, exact=True)


def resumed_study():
    black_box("--space s1 --repeats 3 --evaluations 40")
    command("blackbox --resume study --repeats 5")


def tune(options):
    size = "--scale quick --images-per-half 40 --channels 2 --cells 1 --batch-size 20"
    command(f"tune {size} --min-budget 1 --max-budget 2 --threads 1 --device cpu --workers 1 --out study {options}")


def tune_and_export(options):
    tune(options)
    command("export study --optuna optuna.jsonl")
    command("report study --out report")


def tuning_items():
    timed = ("study/trajectory.png", "report/trajectory.png")
    yield "tuning/bohb-s1", Item(partial(tune_and_export, "--iterations 2"), timed=timed)
    options = "--tuner random --iterations 1 --space nb201 --optimizer gdas --seed 1"
    yield "tuning/random-nb201", Item(partial(tune, options), timed=timed)
    yield "tuning/smac-s1", Item(partial(tune, "--tuner smac --config-space cs1 --iterations 1"), timed=timed)


def train(options):
    small_images("small.npz")
    command(f"train --scale quick --epochs 3 {ON_CPU} --images small.npz --out training {options}")


def training_items():
    cell, edges = "--stem-channels 4 --batch-size 20", "--channels 4 --batch-size 15"
    trainings = {
        "s1": f"{CELL} {cell}",
        "s1-published-numbering": f"{CELL} {cell} --numbering nasbench101 --seed 1",
        "s1-bfloat16": f"{CELL} {cell} --precision bfloat16",
        "nb101": f"{WHOLE} {cell} --cells-per-stack 2",
        "hash": f"{HASH} {cell} --table nb101-sample",
        "nb201": f"{EDGES} {edges}",
        "nb201-cifar10": f"{EDGES} {edges} --dataset cifar10 --seed 1 --cells-per-stage 2",
        "bundled-images": f"{CELL} {cell} --images cifar10-sample --batch-size 500 --epochs 1",
        "refused": f"{CELL} {edges}",
    }
    for name, options in trainings.items():
        yield f"training/{name}", Item(partial(train, options))


FIGURES = {
    "figure17": "--device cpu --epochs 1 --only cells-3/channels-2",
    "figure12": "--device cpu --epochs 1 --only darts/weight-decay-1e-4 --seeds 0",
    "figure3": "--device cpu --epochs 1 --only s1/darts --seeds 0",
    "nas101-figure7": "--space s1 --only random,hyperband --repeats 3 --seconds 3e5",
    "nas101-figure8": "--only s3/tournament-2,s3/tournament-5 --repeats 2",
    "nas201-figure6": "--only random,reinforce --repeats 4",
    "nats-figure6": "--only cifar100/random,ImageNet16-120/random --repeats 4 --seconds 20000",
}


def figure_items():
    for name, options in FIGURES.items():
        line = f"reproduce {name} --scale quick --workers 1 --out figure {options}"
        yield f"figure/{name}", Item(partial(command, line), exact=name.startswith("na"))
    yield "figure/list", Item(partial(command, "reproduce"), prints=True)


# Reports, comparisons, statistics, queries --------------------------------------------------------------------------


def report(folder, options=""):
    command(f"report {neighbour(folder)} --out report {options}")


def compare_runs(folders, options=""):
    command(f"compare {' '.join(map(neighbour, folders))} --out comparison {options}")


def report_items():
    s1, nb201 = "search/s1-corrected-darts", "search/nb201-corrected-darts"
    reports = {
        "s1": (s1, "run", ""),
        "s1-on-sample": (s1, "run", "--table nb101-sample --reference present --format svg"),
        "nb201": (nb201, "run", ""),
        "group": ("options/seeds", "run", ""),
        "own-loop": ("options/own-loop", "run", ""),
        "ranking": ("ranking/s1", "ranking", ""),
    }
    for name, (needed, folder, options) in reports.items():
        yield f"report/{name}", Item(partial(report, f"{needed}/{folder}", options), (needed,), prints=True)
    searches = tuple(f"search/s1-corrected-{name}" for name in OPTIMIZERS[:6])
    groups = (nb201, "options/seeds-nb201")
    studies = tuple(f"blackbox/s1-{name}" for name in ("random", "regularized-evolution", "hyperband"))
    comparisons = {
        "searches": (searches, "run", ""),
        "groups": (groups, "run", "--labels one,two"),
        "studies": (studies, "study", ""),
        "studies-on-table": (studies, "study", "--table embedded --format svg"),
    }
    for name, (needed, folder, options) in comparisons.items():
        run = partial(compare_runs, [f"{each}/{folder}" for each in needed], options)
        yield f"compare/{name}", Item(run, needed, exact=folder == "study", prints=True)


STATISTICS = {
    "nb101-sample": "--table nb101-sample",
    "nb201": "--table nb201",
    "nb201-unique": "--table nb201 --kind unique",
    "embedded": "--table embedded --predicted --seed 1",
    "embedded-s1": "autocorrelation --table embedded --predicted --space s1",
}
QUERIES = {
    "s1": (f"query {CELL} --draw cell.png", f"query {CELL} --epochs 12"),
    "s3": ("query s3:0|1|0|2,3|3,4|1,5:maxpool3x3,conv3x3,maxpool3x3,conv3x3,conv1x1 --draw cell.svg",),
    "nb101": (
        f"query {HASH} --table nb101-sample --draw cell.pdf",
        f"query {WHOLE} --table nb101-sample --draw whole.svg",
        f"query {WHOLE}",
    ),
    "nb201": (f"query {EDGES} --draw cell.png", "query 6111 --table nb201 --epochs 12 --dataset cifar100"),
    "spaces": ("space",),
    "tables": tuple(f"table verify --table {name} {hashes}" for name in TABLES for hashes in ("", "--hashes")),
    "errors": (
        *("query s1:0|0,1:conv3x3", "query s9:0", f"query {CELL} --epochs 5", "report nowhere", "correlate nowhere"),
        *("search --epoch 3", "statistics costs", "space s4", "serch"),
    ),
    "help": (
        *("--help", "table --help", "search --help", "tune --help", "tune --optimizer gdas --help", "correlate --help"),
        *("train --help", f"train {EDGES} --help", "blackbox --help", "report --help", "compare --help"),
        *("reproduce --help", "statistics --help", "query --help"),
        *(f"search --optimizer {name} --help" for name in OPTIMIZERS),
        *(f"blackbox --optimizer {name} --help" for name in BLACK_BOX),
    ),
}


def query_items():
    for name, lines in QUERIES.items():
        yield f"query/{name}", Item(partial(commands, *lines), exact=True, prints=True)
    described = [f"table info --table {name} {form}" for name in TABLES for form in ("", "--json")]
    yield "query/table-info", Item(partial(commands, *described, "table list"), exact=True)
    for name, options in STATISTICS.items():
        line = f"statistics {options} --out statistics"
        yield f"statistics/{name}", Item(partial(command, line), exact=True, prints=True)


# Tables -------------------------------------------------------------------------------------------------------------


def table_items():
    for name in TABLES:
        yield f"table/{name}", Item(partial(describe_table, name), exact=True)
    yield "table/imported-nb101", Item(import_records, exact=True, prints=True)
    yield "table/imported-nb201", Item(import_edges, exact=True, prints=True)
    if (SHARED / "nats_fake").is_dir():
        for name in ("NATS-tss-v1_0-3ffb9-simple", "NATS-sss-v1_0-50262-simple"):
            yield f"table/{name}", Item(partial(import_archive, SHARED / "nats_fake" / name), exact=True)
    yield "table/rebuilt", Item(rebuild, exact=True, slow=True)
    yield "table/drop-in-nb101", Item(drop_in_nb101, ("table/imported-nb101",), exact=True)
    yield "table/drop-in-nb201", Item(drop_in_nb201, exact=True)


def rebuild():
    command("table build --out table")
    describe_table(Path("table"))


def describe_table(which, spaces=("s1", "s2", "s3", "nb201")):
    """Write the id, the checksums of all files and values, the optima, and 200 random architectures of each space."""
    table = nb.load_table(which)
    info = {key: value for key, value in table.info().items() if key not in ("folder", "date")}
    files = sorted(table.folder.iterdir()) if table.folder else ()
    names = ("id", "name", "version", "benchmark", "datasets", "epochs", "full_budget", "repeats", "seeds", "spaces")
    rows = np.arange(len(table))
    found = {
        **attributes(table, *names),
        "objectives": [repr(objective) for objective in table.objectives],
        "info": info,
        "files": {path.name: digest_of_file(path) for path in files if path.suffix == ".npy"},
        "columns": {name: digest(np.asarray(table.column(name))) for name in info["columns"]},
        "hashes": digest_of_text("\n".join(table.hashes(rows))),
        "networks": [repr(table.network(int(row))) for row in rows[:: max(1, len(table) // 50)]],
        "notes": table.notes(),
    }
    write("table.json", found)
    trainings = [(dataset, epochs) for dataset in table.datasets for epochs in table.epochs]
    values = {}
    for dataset, epochs in trainings:
        for metric in METRICS:
            both = [digest(of(metric, epochs, dataset)) for of in (table.values, table.measured)]
            values[f"{metric}, {dataset}, {epochs}"] = [*both, table.is_measured(metric, dataset)]
    write("values.json", values)
    known = {name: nb.search_space(name) for name in spaces}
    references = dict.fromkeys([*table.spaces, "nb101", "nb101-mini", "nb201"])
    write("members.json", {name: digest_or_refusal(table.members, name) for name in references})
    write("optima.json", {name: optima(table, name, trainings) for name in references})
    for name, space in known.items():
        rng = np.random.default_rng(0)
        write(f"{name}.json", architectures_in(table, [space.sample(rng) for _ in range(200)], trainings))


def digest_or_refusal(function, *arguments):
    found = answer(function, *arguments)
    return found if isinstance(found, dict) else digest(found)


def optima(table, reference, trainings):
    found = {}
    for dataset, epochs in trainings:
        for split in ("test", "validation"):
            best = answer(table.best, reference, split, epochs, dataset)
            mean = answer(table.mean_regret, reference, split, epochs, dataset)
            shown = best if isinstance(best, dict) else [repr(best[0]), metrics_of(best[1])]
            found[f"{dataset}, {epochs}, {split}"] = {"best": shown, "mean_regret": mean}
    return found


def metrics_of(metrics):
    others = ("trainable_parameters", "flops", "measured_validation_accuracy", "hash", "fidelity", "epochs", "dataset")
    found = {name: getattr(metrics, name) for name in (*METRICS, *others)}
    return {**found, "measured": {name: metrics.is_measured(name) for name in METRICS}}


def architectures_in(table, drawn, trainings):
    """Metrics and regrets of architectures; a table that lacks some of them is asked about the others."""
    there = [arch for arch in drawn if answer(table.__contains__, arch) is True]
    found = {"drawn": list(map(str, drawn)), "there": len(there), "rows": digest_or_refusal(table.rows, there)}
    if not there:
        return found
    for dataset, epochs in trainings:
        key, rng = f"{dataset}, {epochs}", np.random.default_rng(0)
        found[key] = metrics_of(table.query(there, epochs, dataset=dataset))
        for run in ("all", "random", 0):
            some = answer(table.query, there[:20], epochs, run=run, rng=rng, dataset=dataset)
            found[f"{key}, run {run}"] = some if isinstance(some, dict) else metrics_of(some)
        for split in ("test", "validation"):
            for reference in (None, "nb101", "nb101-mini"):
                regrets = answer(table.regret, there, reference, split, epochs, dataset)
                found[f"{key}, {split} regret, {reference}"] = regrets
    halfway = answer(table.query, there[:20], halfway=True, dataset=table.datasets[0])
    found["halfway"] = halfway if isinstance(halfway, dict) else metrics_of(halfway)
    datasets = [objective.dataset for objective in table.objectives]
    found["scores"] = [[repr(answer(nb.score, arch, table, dataset)) for dataset in datasets] for arch in there[:50]]
    found["metrics"] = [repr(table.query(arch, dataset=table.datasets[0])) for arch in there[:5]]
    return found


def import_and_describe(file, *spaces):
    command(f"table import {file} --out table")
    command("table verify --table table")
    if Path("table/meta.json").exists():
        describe_table(Path("table"), spaces)


def import_archive(folder):
    """Import a copy, because the path of the archive is part of the recorded command."""
    shutil.copytree(folder, folder.name)
    import_and_describe(folder.name, "nb201")
    shutil.rmtree(folder.name)


def import_records():
    """Import a small file in NAS-Bench-101's format, with made-up trainings of 60 cells."""
    rng, cells = np.random.default_rng(0), {}
    for name in ("s1", "s3", "nb101"):
        for _ in range(20):
            cell = nb.search_space(name).sample(rng).cell
            cells[cell.hash] = cell
    with Path("small.tfrecord").open("wb") as file:
        for number, cell in enumerate(cells.values()):
            for epochs in (4, 12, 36, 108):
                for _ in range(3):
                    file.write(frame(record(cell, number, epochs, rng)))
    import_and_describe("small.tfrecord", "s1", "s3")
    command("table verify --table table --hashes")
    command("statistics noise-distribution cost --table table --out statistics")
    command(f"query {next(iter(cells))} --table table")


def record(cell, number, epochs, rng):
    """A row of NAS-Bench-101: JSON with a protobuf message of three evaluations in base64."""
    seconds, message = rng.uniform(10, 20), b""
    for share, low in ((0.0, 0.09), (0.5, 0.4), (1.0, 0.7)):
        accuracies = (np.rint(rng.uniform(low, low + 0.2, 3) * 9984) / 9984).astype(np.float32).tolist()
        duration = float(np.float32(seconds * epochs * share))
        message += field(1, b"".join(map(number_field, range(1, 6), (epochs * share, duration, *accuracies))))
    message += varint(2 << 3) + varint(1_000_000 + number) + number_field(3, 1.5 * seconds * epochs)
    bits = "".join(map(str, np.asarray(cell.matrix).ravel().tolist()))
    return json.dumps([cell.hash, epochs, bits, ",".join(cell.ops), base64.encodebytes(message).decode()]).encode()


def number_field(key, value):
    return varint(key << 3 | 1) + struct.pack("<d", value)


def field(key, content):
    return varint(key << 3 | 2) + varint(len(content)) + content


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def frame(content):
    """A record of a TFRecord file: its length and its content, both followed by a masked CRC-32C."""
    import google_crc32c

    def masked(data):
        checksum = google_crc32c.value(data)
        return struct.pack("<I", ((checksum >> 15 | checksum << 17 & 0xFFFFFFFF) + 0xA282EAD8) % 2**32)

    length = struct.pack("<Q", len(content))
    return length + masked(length) + content + masked(content)


IMAGES_OF = {
    "cifar10-valid": (10, {"train": 25_000, "x-valid": 25_000, "ori-test": 10_000}),
    "cifar10": (10, {"train": 50_000, "ori-test": 10_000}),
    "cifar100": (100, {"train": 50_000, "x-valid": 5_000, "x-test": 5_000, "ori-test": 10_000}),
    "ImageNet16-120": (120, {"train": 151_700, "x-valid": 3_000, "x-test": 3_000, "ori-test": 6_000}),
}
"""Classes and numbers of images of NAS-Bench-201's trainings, by the official names of the splits."""


def import_edges():
    """Import a small .pth file in NAS-Bench-201's format, with made-up trainings of three architectures."""
    rng, space = np.random.default_rng(0), nb.search_space("nb201")
    names = [str(arch).partition(":")[2] for arch in space.architectures("all")]
    infos = {}
    for index in (284, 0, 11):
        by_epochs = {}
        for budget, epochs, seeds in (("less", 12, (777,)), ("full", 200, (777, 888, 999))):
            pairs = [(dataset, seed) for dataset in IMAGES_OF for seed in seeds]
            trainings = {pair: training_results(*pair, epochs, names[index], rng) for pair in pairs}
            by_epochs[budget] = {
                "arch_index": index,
                "arch_str": names[index],
                "all_results": trainings,
                "dataset_seed": {dataset: list(seeds) for dataset in IMAGES_OF},
                "clear_net_done": True,
            }
        infos[index] = by_epochs
    content = {"meta_archs": names, "arch2infos": infos, "evaluated_indexes": set(infos)}
    torch.save(content, "NAS-Bench-201-small.pth", _use_new_zipfile_serialization=False)
    import_and_describe("NAS-Bench-201-small.pth", "nb201")
    Path("NAS-Bench-201-small.pth").unlink()
    table = nb.load_table(Path("table"))
    asked = [space[index] for index in infos]
    by_seed = [metrics_of(table.query(asked, run=seed, dataset="cifar100")) for seed in (777, 888)]
    write(
        "asked.json", {"by_seed": by_seed, **architectures_in(table, asked, [("cifar10-valid", 200), ("cifar10", 12)])}
    )


def training_results(dataset, seed, epochs, architecture, rng):
    classes, images = IMAGES_OF[dataset]
    splits = [name for name in images if name != "train"]
    last = [f"{name}@{epochs - 1}" for name in splits]
    train_accuracies = (100 * rng.integers(images["train"], size=epochs) / images["train"]).astype(np.float32).tolist()
    accuracies = [float(np.float32(100 * rng.integers(images[name]) / images[name])) for name in splits]
    return {
        "name": dataset,
        "net_state_dict": None,
        "train_acc1es": dict(enumerate(train_accuracies)),
        "train_acc5es": None,
        "train_losses": dict(enumerate(rng.random(epochs).tolist())),
        "train_times": dict.fromkeys(range(epochs), 7.5),
        "arch_config": {"channel": 16, "num_cells": 5, "arch_str": architecture, "class_num": classes},
        "params": np.float64(0.129306),
        "flop": 15.64737,
        "seed": f"{seed:04d}",
        "epochs": epochs,
        "latency": [np.float64(0.014)],
        "eval_names": splits,
        "eval_acc1es": dict(zip(last, accuracies, strict=True)),
        "eval_losses": {key: float(rng.random()) for key in last},
        "eval_times": {f"{name}@{epoch}": 2.5 for name in splits for epoch in range(epochs)},
    }


def drop_in_nb101():
    """Answers of the drop-in for `nasbench.api`."""
    from nasbench1shot1 import api

    found = {}
    for name, source in (("embedded", "embedded"), ("imported", Path(neighbour("table/imported-nb101")) / "table")):
        bench, rng, answers = api.NASBench(str(source), seed=0), np.random.default_rng(0), []
        for _ in range(20):
            cell = nb.search_space("s1").sample(rng).cell
            spec = api.ModelSpec(matrix=cell.matrix, ops=list(cell.ops))
            key = spec.hash_spec(["conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3"])
            both = [answer(bench.query, spec), answer(bench.get_metrics_from_spec, spec)]
            answers.append([key, bench.is_valid(spec), *both, bench.get_budget_counters()])
        hashes = list(bench.hash_iterator())
        found[name] = {"answers": answers, "hashes": [len(hashes), *hashes[:50]], "config": bench.config}
    write("answers.json", found)


def drop_in_nb201():
    """Answers of the drop-ins for `nats_bench` and `nas_201_api`."""
    from nasbench1shot1.api import nats_bench
    from nasbench1shot1.api.nas_201_api import NASBench201API

    found = []
    for bench in (nats_bench.create(None, "tss", fast_mode=True, verbose=False), NASBench201API(verbose=False)):
        for index in range(0, 15_625, 1000):
            for dataset in ("cifar10-valid", "cifar10", "cifar100", "ImageNet16-120"):
                for budget in ("12", "200"):
                    info = answer(bench.get_more_info, index, dataset, hp=budget, is_random=False)
                    cost = answer(bench.get_cost_info, index, dataset, hp=budget)
                    trained = answer(bench.simulate_train_eval, index, dataset, hp=budget)
                    found.append([index, bench.arch(index), *(plain_items(each) for each in (info, cost, trained))])
        found.append([answer(bench.find_best, "cifar10", "ori-test", hp="200"), bench.query_index_by_arch(bench[77])])
        found.append([bench.query_info_str_by_arch(11, "12"), str(bench)])
    write("answers.json", found)


def plain_items(value):
    return {key: value[key] for key in value} if hasattr(value, "keys") else value


# Spaces, supernets, networks, images --------------------------------------------------------------------------------


def golden_items():
    for name in ("s1", "s2", "s3", "nb201", "nb101", "nb101-mini"):
        yield f"golden/space-{name}", Item(partial(describe_space, name), exact=True)
    for name in ("s1", "s2", "s3", "nb201"):
        for preset in PRESETS:
            yield f"golden/supernet-{name}-{preset}", Item(partial(describe_supernets, name, preset), exact=True)
    yield "golden/networks", Item(describe_networks, exact=True)
    yield "golden/images", Item(describe_images, exact=True)


def describe_space(name):
    space, rules = nb.search_space(name), (None, "encodings", "read-blocks", "paper", "all", "pruned", "raw")
    found = {"repr": repr(space), **attributes(space, "id", "kinds", "table")}
    found |= {"length": len(space), "variables": space.variables(), "configurations": str(space.configuration_space())}
    found["counts"] = {f"{kind}, {rule}": answer(space.count, kind, rule) for kind in space.kinds for rule in rules}
    found["numbers"] = {
        kind: digest(np.asarray(space.numbers(kind))) for kind in space.kinds if space.count(kind) < 10**8
    }
    rng = np.random.default_rng(0)
    drawn = [space.sample(rng) for _ in range(50)]
    drawn += [space.sample(rng, loose_ends=False) for _ in range(20)]
    drawn += [space.sample_distinct(rng) for _ in range(20)]
    found["samples"] = [describe_architecture(space, arch, rng) for arch in drawn]
    found["numbered"] = [str(space[number]) for number in range(0, len(space), len(space) // 40)]
    if isinstance(space, nb.OneShotSpace):
        found |= {"mixing_shapes": space.mixing_shapes(), "choices": [repr(choice) for choice in space.choices()]}
        found |= attributes(space, "split", "operation_key", "search_defaults", "scale_defaults")
        preferred = []
        for _ in range(50):
            mixing = {key: rng.normal(size=shape) for key, shape in space.mixing_shapes().items()}
            preferred.append(str(space.discretise(mixing)))
        found["preferred"] = preferred
    write("space.json", found)


def describe_architecture(space, arch, rng):
    neighbours = [str(other) for other in space.neighbours(arch)]
    found = {
        "text": str(arch),
        "index": space.index(arch),
        "hash": arch.network_id,
        "parsed": nb.Architecture.parse(str(arch)) == arch,
        "neighbours": [len(neighbours), digest_of_text("\n".join(neighbours))],
        "children": [str(space.mutate(arch, rng)), str(space.published_mutate(arch, rng))],
        "changed": str(space.mutate_each(arch, 0.3, rng)),
        "without_loose_ends": str(space.without_loose_ends(arch)),
        "values": space.values_of(arch),
        "configuration": dict(space.to_configuration(arch)),
    }
    if hasattr(arch, "cell"):
        found["cell"] = {"matrix": arch.cell.matrix, "ops": arch.cell.ops, "hash": arch.cell.hash}
    if isinstance(space, nb.OneShotSpace):
        found["one_hot"] = {key: digest(value) for key, value in space.one_hot(arch).items()}
    return found


def describe_supernets(name, preset):
    """Save the weights of small supernets, and logits and gradients of every way to compute them."""
    space, images = nb.search_space(name), torch.randn(4, 3, 16, 16, generator=generator(1))
    for partial_channels in (1, 2):
        net = nb.Supernet(space, 4, 3, preset, generator=generator(), partial_channels=partial_channels)
        found, rng = {"initial": copied(net.state_dict())}, np.random.default_rng(0)
        drawn = [space.sample(rng, loose_ends=False) for _ in range(4)]
        one, other = (
            np.asarray(space.one_hot(arch)[space.operation_key]).argmax(axis=-1).tolist() for arch in drawn[:2]
        )
        mixed = [random_mixing(space, seed, *(4,) * (seed == 1)) for seed in range(8)]
        ways = {
            "mixing": (mixed[0],),
            "mixing of each image": (mixed[1],),
            "mixing of each cell": (mixed[2:4],),
            "operations": (mixed[4], one),
            "operations of each cell": (mixed[5:7], [one, other]),
            "path with mixing": (mixed[7], None, drawn[0]),
            "architecture": (drawn[1],),
            "discrete": (net.discrete_mixing(drawn),),
        }
        for way, arguments in ways.items():
            net.train().zero_grad(set_to_none=True)
            logits = net(images, *arguments)
            torch.nn.functional.cross_entropy(logits, torch.arange(4)).backward()
            gradients = {key: value.grad for key, value in net.named_parameters()}
            evaluated = net.eval()(images, *arguments).detach()
            found[way] = {"logits": logits.detach(), "gradients": gradients, "evaluated": evaluated}
        found["mixing gradients"] = [{key: value.grad for key, value in mixing.items()} for mixing in mixed]
        found["final"] = copied(net.state_dict())
        torch.save(found, f"supernet-{partial_channels}.pt")
    torch.manual_seed(0)
    write(
        "supernet.json", {key: digest(value) for key, value in nb.Supernet(space, preset=preset).state_dict().items()}
    )


def random_mixing(space, seed, *leading):
    drawn, shapes = generator(100 + seed), space.mixing_shapes()
    raw = {key: torch.randn(*leading, *shape, generator=drawn) for key, shape in shapes.items()}
    return {key: torch.softmax(value, -1).requires_grad_() for key, value in raw.items()}


def copied(state):
    return {key: value.clone() for key, value in state.items()}


def describe_networks():
    """Save the weights of stand-alone networks, their logits and their gradients."""
    images, found, sizes = torch.randn(4, 3, 32, 32, generator=generator(1)), {}, {}
    cell_options, edge_options = {"stem_channels": 4, "cells_per_stack": 1}, {"channels": 4, "cells_per_stage": 1}
    asked = {text: (nb.Architecture.parse(text), cell_options) for text in (CELL, WHOLE)}
    asked |= {EDGES: (nb.Architecture.parse(EDGES), edge_options)}
    asked["published numbering"] = (nb.Architecture.parse(CELL), {**cell_options, "numbering": "nasbench101"})
    asked["cell"] = (nb.Architecture.parse(CELL).cell, {**cell_options, "classes": 7, "batch_norm_momentum": 0.2})
    rng = np.random.default_rng(0)
    for name in ("s1", "s2", "s3", "nb101", "nb201"):
        for _ in range(3):
            arch = nb.search_space(name).sample(rng)
            asked[str(arch)] = (arch, edge_options if name == "nb201" else cell_options)
            sizes[str(arch)] = sum(value.numel() for value in nb.build_network(arch).parameters())
    for name, (network, options) in asked.items():
        net = nb.build_network(network, generator=generator(), **options)
        initial, logits = copied(net.state_dict()), net.train()(images)
        torch.nn.functional.cross_entropy(logits, torch.arange(4)).backward()
        found[name] = {
            "initial": initial,
            "logits": logits.detach(),
            "gradients": {key: value.grad for key, value in net.named_parameters()},
            "final": copied(net.state_dict()),
            "evaluated": net.eval()(images).detach(),
        }
    torch.save(found, "networks.pt")
    write("parameters.json", sizes)


def describe_images():
    whole = nb.load_images("cifar10-sample")
    small = whole.downsample(16)
    found = {"repr": repr(whole), "sha256": whole.sha256, "dataset": whole.dataset, "labels": digest(whole.labels)}
    found |= {"images": digest(whole.images), "small": digest(small.images)}
    for scheme in ("20k/20k", "25k/25k", "nasbench201"):
        for number in (None, 64):
            halves = nb.split_images(whole, scheme, np.random.default_rng(0), images_per_half=number)
            both = [digest(np.asarray(half)) for half in (halves.weights, halves.architecture)]
            found[f"{scheme}, {number}"] = [*both, repr(halves.unknown_images)]
    halves = nb.split_images(small, "20k/20k", np.random.default_rng(0), images_per_half=64)
    for probability in (0.0, 0.5):
        augment = nb.Augmentation.of(small, cutout_length=8, cutout_probability=probability)
        batches = nb.image_batches(small, halves.weights, 16, generator(), augment)
        found[f"batches, {probability}"] = [[digest(images), digest(labels)] for images, labels in batches]
    write("images.json", found)


def all_items():
    groups = (
        *(golden_items, table_items, query_items, search_items, option_items, ranking_items, black_box_items),
        *(training_items, report_items, figure_items, tuning_items),
    )
    return {name: item for group in groups for name, item in group()}


# Recording ----------------------------------------------------------------------------------------------------------


def record_all(folder, patterns, slow):
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    now = prepare(folder)
    items = all_items()
    names = selected(items, patterns, slow)
    missing = [name for name in names if state_of(folder / name) != "recorded"]
    print(f"{len(names) - len(missing)} of {len(names)} items are recorded; package {now['package']}", flush=True)
    began, failed = time.monotonic(), []
    for number, name in enumerate(missing, 1):
        seconds, state = record_item(folder / name, items[name], now["revision"])
        print(f"[{number}/{len(missing)}] {name}: {state}, {seconds:.1f} s{exit_codes(folder / name)}", flush=True)
        failed += [name] * (state != "recorded")
    print(f"{len(names) - len(failed)} of {len(names)} items recorded in {time.monotonic() - began:.0f} s")
    for name in failed:
        print(f"failed: {name}, see {folder / name / OUTPUT}")
    return 1 if failed else 0


def selected(items, patterns, slow):
    """The names of the chosen items and of all items that these need, in the order of recording."""
    wanted = [name for name, item in items.items() if slow or not item.slow]
    chosen = {name for name in wanted if matches(name, patterns)}
    todo = list(chosen)
    while todo:
        needed = set(items[todo.pop()].needs) - chosen
        chosen |= needed
        todo += needed
    return [name for name in items if name in chosen]


def matches(name, patterns):
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def prepare(folder):
    """Fix what a run may depend on, import what the items need, and return the `source`."""
    path = folder / RECORDING
    now = source()
    if path.exists() and (before := json.loads(path.read_text()))["package"] != now["package"]:
        sys.exit(f"{folder} was recorded with {before['package']}, not with {now['package']}: choose another folder")
    path.write_text(json.dumps(now, indent=1) + "\n")
    os.environ.pop("NB1SHOT1_TABLE", None)
    os.environ.update(NB1SHOT1_DATA=str(folder / "data"), EQUAL_RUNS=str(folder), COLUMNS="120", NO_COLOR="1")
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    if "PYTHONPATH" in os.environ:  # items run in other folders
        paths = os.environ["PYTHONPATH"].split(os.pathsep)
        os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(each).absolute()) for each in paths if each)
    sys.dont_write_bytecode = True
    for name in ("matplotlib.backends.backend_agg", "pandas", "scipy.stats", "rich.progress"):
        import_module(name)
    for name in nb.__all__:
        getattr(nb, name)
    torch.set_num_threads(1)
    return now


def source():
    """The package in use, its revision, and the versions that results may depend on."""
    root = Path(nb.__file__).resolve().parent.parent
    git = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40"]
    revision = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip() or None
    versions = {"python": sys.version.split()[0], "torch": torch.__version__, "numpy": np.__version__}
    return {"package": nb.__file__, "root": str(root), "revision": revision, **versions, "host": socket.gethostname()}


def state_of(place, field="state"):
    path = place / ITEM
    return json.loads(path.read_text()).get(field) if path.exists() else None


def exit_codes(place):
    path = place / COMMANDS
    codes = [json.loads(line)["exit"] for line in path.read_text().splitlines()] if path.exists() else []
    return f", exit codes {codes}" if any(codes) else ""


def record_item(place, item, revision):
    """Run an item in a forked process; returns its seconds and its state."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    began, limit = time.monotonic(), SLOW_LIMIT if item.slow else LIMIT
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        run_here(place, item)
    status = None
    try:
        while status is None and time.monotonic() - began < limit:
            time.sleep(0.02)
            done, ended = os.waitpid(child, os.WNOHANG)
            status = ended if done else None
    finally:  # also ends workers that are still running
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    state, seconds = "failed" if status != 0 else "recorded", time.monotonic() - began
    (place / ITEM).write_text(json.dumps({"state": state, "seconds": seconds, "revision": revision}) + "\n")
    return seconds, state


def run_here(place, item):
    """Run an item in this forked process and end the process."""
    code = 1
    try:
        os.setsid()
        os.chdir(place)
        output = os.open(OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8", write_through=True)
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), encoding="utf-8", write_through=True)
        sys.argv = ["nb1shot1"]
        item.run()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


# Comparing ----------------------------------------------------------------------------------------------------------


class Comparison:
    """The comparison of one item: counted values, differences and warnings."""

    def __init__(self, name, item, folders, roots):
        self.name, self.item, self.folders, self.roots = name, item, folders, roots
        self.values, self.ignored, self.differences, self.warnings = 0, 0, [], []

    def run(self):
        """Compare all files."""
        states = [state_of(folder / self.name) for folder in self.folders]
        if states[0] != states[1] or "failed" in states:
            self.differences.append(f"state: {states[0]} != {states[1]}")
        found = [self.files(folder / self.name) for folder in self.folders]
        for path in sorted({*found[0], *found[1]}):
            if any(path not in files for files in found):
                side = "before" if path in found[0] else "after"
                self.differences.append(f"{path}: only {side}")
            elif Path(path).name not in NOT_COMPARED:
                self.file(path)
        return self

    @staticmethod
    def files(place):
        """The relative paths of all files, without placeholders of locks."""
        return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file() and path.name != ".lock"}

    def file(self, path):
        """Compare a file by its type."""
        ours, theirs = (folder / self.name / path for folder in self.folders)
        is_timed = matches(path, self.item.timed)
        readers = {".json": read_json, ".jsonl": read_json, ".csv": read_csv, ".pt": read_pt, ".npz": read_npz}
        readers |= {".npy": read_npy}
        suffix = Path(path).suffix
        found = []
        if suffix in readers:
            try:
                pair = [readers[suffix](each) for each in (ours, theirs)]
            except Exception as error:  # a damaged file can fail in any way
                found.append(f"{path}: cannot be read: {error!r}")
            else:
                self.values_of(path, *pair, "", found)
        elif suffix in (".txt", ".log"):
            self.text(path, ours, theirs, found)
        elif ours.read_bytes() != theirs.read_bytes() and not is_timed:
            found.append(f"{path}: {digest_of_file(ours)[:12]} != {digest_of_file(theirs)[:12]}")
        elif is_timed:
            self.ignored += 1
        else:
            self.values += 1
        is_result = suffix not in (".txt", ".log") or (self.item.prints and path == OUTPUT)
        if len(found) > MOST_DIFFERENCES:
            found[MOST_DIFFERENCES:] = [f"{path}: {len(found) - MOST_DIFFERENCES} more differences"]
        (self.differences if is_result else self.warnings).extend(found)

    def values_of(self, path, one, other, where, found):
        """Compare two values recursively."""
        if isinstance(one, dict) and isinstance(other, dict):
            if set(one) != set(other):
                found.append(f"{path}: {where or 'fields'}: {_only(one, other)}")
            elif list(one) != list(other):
                self.warnings.append(f"{path}: {where or 'fields'}: another order")
            for key in [key for key in one if key in other]:
                inside = f"{where}.{key}".lstrip(".")
                if VARYING.search(inside) or (MEASURED.search(str(key)) and not self.item.exact):
                    self.ignored += 1
                else:
                    self.values_of(path, one[key], other[key], inside, found)
        elif isinstance(one, list | tuple) and type(one) is type(other):
            if len(one) != len(other):
                found.append(f"{path}: {where}: {len(one)} entries != {len(other)}")
            for place, (a, b) in enumerate(zip(one, other, strict=False)):
                self.values_of(path, a, b, f"{where}[{place}]", found)
        else:
            self.values += 1
            if not self.are_equal(one, other):
                found.append(f"{path}: {where}: {_difference(one, other)}")

    def are_equal(self, one, other):
        """Whether two values of equal type are equal bit for bit; the folders of the recordings do not count."""
        if type(one) is not type(other):
            return False
        if isinstance(one, torch.Tensor | np.ndarray):
            return _same_bits(one, other)
        if isinstance(one, str):
            return self.without_folder(one, 0) == self.without_folder(other, 1)
        return repr(one) == repr(other)  # NaN is equal to NaN, but 0.0 is not equal to -0.0

    def without_folder(self, text, side):
        """Replace the paths that differ between recordings."""
        return text.replace(str(self.folders[side]), "FOLDER").replace(self.roots[side], "PACKAGE")

    def stable(self, line):
        """A line of output without measured times, the width of columns, and what else varies."""
        return FRAMES.sub(" ", PLACES.sub("PLACE", line if self.item.exact else TIMES.sub("TIME", line)))

    def text(self, path, ours, theirs, found):
        """Compare output line by line."""
        pair = [self.without_folder(each.read_text(errors="replace"), side) for side, each in enumerate((ours, theirs))]
        lines = [[self.stable(line) for line in text.splitlines()] for text in pair]
        self.values += len(lines[0])
        if len(lines[0]) != len(lines[1]):
            found.append(f"{path}: {len(lines[0])} lines != {len(lines[1])}")
        for number, (a, b) in enumerate(zip(*lines, strict=False), 1):
            if a != b:
                found.append(f"{path}: line {number}: {a.strip()[:200]} != {b.strip()[:200]}")


def read_json(path):
    text = path.read_text()
    try:
        return json.loads(text)
    except json.JSONDecodeError:  # one value a line
        return [json.loads(line) for line in text.splitlines()]


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def read_pt(path):
    return torch.load(path, map_location="cpu", weights_only=True)


def read_npz(path):
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def read_npy(path):
    return np.load(path, allow_pickle=False)


def _same_bits(one, other):
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if isinstance(one, torch.Tensor):
        one, other = (each.detach().contiguous().reshape(-1).view(torch.uint8).numpy() for each in (one, other))
    return one.tobytes() == other.tobytes()


def _only(one, other):
    lost, new = ([str(key) for key in a if key not in b] for a, b in ((one, other), (other, one)))
    return "; ".join(f"only {side}: {', '.join(keys)}" for side, keys in (("before", lost), ("after", new)) if keys)


def _difference(one, other):
    if not all(isinstance(each, torch.Tensor | np.ndarray) for each in (one, other)):
        return f"{repr(one)[:200]} != {repr(other)[:200]}"
    shown = [f"{each.dtype} {tuple(each.shape)}" for each in (one, other)]
    if shown[0] != shown[1]:
        return f"{shown[0]} != {shown[1]}"
    entries = (one != other).reshape(-1).nonzero()
    places = (entries[:, 0] if isinstance(one, torch.Tensor) else entries[0]).tolist()
    a, b = (each.reshape(-1)[places[0]].item() for each in (one, other)) if places else (0.0, -0.0)
    return f"{shown[0]}: {len(places)} entries differ, the first is {a!r} != {b!r}"


def compare_all(before, after, patterns):
    folders = [before.resolve(), after.resolve()]
    sources = [json.loads((folder / RECORDING).read_text()) for folder in folders]
    for name in ("python", "torch", "numpy", "host"):
        if sources[0][name] != sources[1][name]:
            print(f"warning: {name} {sources[0][name]} != {sources[1][name]}")
    items = all_items()
    recorded = [{str(path.parent.relative_to(folder)) for path in folder.glob(f"*/*/{ITEM}")} for folder in folders]
    for side, folder, names, known in zip(("before", "after"), folders, recorded, sources, strict=True):
        revisions = {str(state_of(folder / name, "revision")) for name in names}
        print(f"{side}: {known['package']}, revision {' and '.join(sorted(revisions))}")
    counts = dict.fromkeys(("equal", "different", "warnings", "values", "ignored"), 0)
    for name in sorted(name for name in {*recorded[0], *recorded[1]} if matches(name, patterns)):
        item = items.get(name) or Item(lambda: None)
        if any(name not in names for names in recorded) and item.slow:
            print(f"warning: {name} is not in both recordings (--slow)")
            continue
        if any(name not in names for names in recorded):
            counts["different"] += 1
            print(f"different  {name}: only {'before' if name in recorded[0] else 'after'}")
            continue
        found = Comparison(name, item, folders, [known["root"] for known in sources]).run()
        counts["different" if found.differences else "equal"] += 1
        counts["warnings"] += len(found.warnings)
        counts["values"] += found.values
        counts["ignored"] += found.ignored
        state = "different" if found.differences else "equal    "
        print(f"{state}  {name}: {found.values:,} values, {found.ignored:,} not compared")
        for difference in found.differences:
            print(f"    {difference}")
        for warning in found.warnings:
            print(f"    warning: {warning}")
    print(
        f"{counts['equal']} runs are equal, {counts['different']} different; {counts['values']:,} values compared, "
        f"{counts['ignored']:,} not compared, {counts['warnings']} warnings"
    )
    return 1 if counts["different"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    recording = actions.add_parser("record", help="record all items with the package that Python imports")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--slow", action="store_true", help="also rebuild the embedded table (8 minutes)")
    comparing = actions.add_parser("compare", help="compare two recordings; exit with 1 if they differ")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    for action in (recording, comparing):
        action.add_argument("--only", nargs="+", metavar="PATTERN", default=["*"], help="items, such as 'search/*'")
    given = parser.parse_args()
    if given.action == "record":
        sys.exit(record_all(given.folder, given.only, given.slow))
    sys.exit(compare_all(given.before, given.after, given.only))


if __name__ == "__main__":
    main()
