"""The sentences of the most important errors of each room (messages.txt).

All other tests check errors by their type and by the option, the value or the name that the message contains.
"""

import io
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from refused_inputs import (
    CHAIN,
    CONV,
    EDGES,
    PIXELS,
    S1,
    KeepsNumPy,
    ReturnsWeights,
    ask,
    best,
    changed,
    command,
    damaged_images,
    edited,
    file,
    labelled,
    lock_twice,
    mixing,
    notes,
    npz,
    own_run,
    pth,
    record,
    search,
    supernet,
    table,
    truncated,
    tune,
    written_study,
)

import nasbench1shot1 as nb
from nasbench1shot1 import api
from nasbench1shot1.api.nas_201_api import NASBench201API
from nasbench1shot1.experiments.reproduction.reproducing import reproduce
from nasbench1shot1.experiments.space_statistics.values import check_enough
from nasbench1shot1.ground.downloads import fetch
from nasbench1shot1.ground.files import as_path, check_picture, check_replaceable, read_json, write_json
from nasbench1shot1.ground.plain_pickle import load_plain_pickle
from nasbench1shot1.images.augment import Augmentation
from nasbench1shot1.images.data_sets import data_set
from nasbench1shot1.images.image_set import load_images
from nasbench1shot1.images.official_files import read_python_batch
from nasbench1shot1.images.sources import import_images
from nasbench1shot1.nasbench101.cell import Cell
from nasbench1shot1.nasbench201.numbering import index_of
from nasbench1shot1.proxy_training.running import train_proxies
from nasbench1shot1.tables.importing import import_table
from nasbench1shot1.tuning.export import export_optuna
from nasbench1shot1.tuning.record import Study

OP = "choice_block_1_op"
KINDS: dict[str, dict[str, Callable[[Path], object]]] = {
    "ground": {
        "no path": lambda tmp: as_path("", "folder"),
        "no name of a picture": lambda tmp: check_picture(tmp / "regret.gif"),
        "no JSON": lambda tmp: read_json(file(tmp, b"{", "a.json")),
        "a file in a file": lambda tmp: write_json(file(tmp, b"") / "a.json", {}),
        "a mount point": lambda tmp: check_replaceable(Path("/")),
        "a pickle of an object": lambda tmp: load_plain_pickle(io.BytesIO(b"cos\nsystem\n."), "mine.pickle"),
        "a failed download": lambda tmp: fetch(
            "http://127.0.0.1:9/a", "a", "0" * 64, False, "the file", "download it by hand"
        ),
        "a module that does not exist": lambda tmp: nb.search_space("no_such_module:SPACE"),
        "a path in the place of a module": lambda tmp: nb.search_space("../here/my_space:SPACE"),
        "no generator": lambda tmp: nb.search_space("s1").sample(0),
        "arguments by position": lambda tmp: nb.search("darts", "s1"),
    },
    "tables": {
        "a look-up": lambda tmp: table().query("abc"),
        "an unknown cell": lambda tmp: table().query("0" * 32),
        "an unknown budget": lambda tmp: table().query(best(), epochs=107),
        "a budget of another type": lambda tmp: table().query(best(), epochs=True),
        "a missing repeat": lambda tmp: table().query(best(), run=1),
        "a repeat of another type": lambda tmp: table().query(best(), run=False),
        "a random repeat without a generator": lambda tmp: table().query(best(), run="random"),
        "half-way values": lambda tmp: table().query(best(), halfway=True),
        "an unknown reference": lambda tmp: table().best("s11"),
        "an unknown split": lambda tmp: table().best("s1", split="tset"),
        "an unknown column": lambda tmp: table().column("test_acuracy"),
        "a bound that is no bound": lambda tmp: nb.Bounds.parse("flops"),
        "two bounds": lambda tmp: nb.Bounds.parse("flops=1,flops=2"),
        "a bound that no network meets": lambda tmp: table().members("s1", nb.Bounds.of(trainable_parameters=5)),
        "a bound on a missing column": lambda tmp: table().allowed(nb.Bounds.of(flops=5)),
        "a bound on an accuracy": lambda tmp: table().allowed(nb.Bounds.of(test_accuracy=0.5)),
        "a bound on several data sets": lambda tmp: nb.load_table("nb201").allowed(nb.Bounds.of(flops=5)),
        "several data sets": lambda tmp: nb.load_table("nb201").best("nb201"),
        "several trainings": lambda tmp: nb.load_table("nb201").query(0),
        "a data set without the metric": lambda tmp: nb.load_table("nb201").best(
            "nb201", "validation", dataset="cifar10"
        ),
        "an unknown data set": lambda tmp: nb.load_table("nb201").best("nb201", dataset="cifar-10"),
        "a row of another benchmark": lambda tmp: nb.load_table("nb201").query(S1),
        "no table": lambda tmp: nb.load_table(tmp),
        "an absent official file": lambda tmp: nb.load_table("nasbench_full.tfrecord"),
        "an unknown name": lambda tmp: nb.load_table("another"),
        "a misspelled name": lambda tmp: nb.load_table("nb20"),
        "a changed description": lambda tmp: nb.load_table(edited(tmp)),
        "a damaged column": lambda tmp: nb.load_table(truncated(tmp)),
        "a target with other files": lambda tmp: table().save(notes(tmp)),
    },
    "images": {
        "an unknown data set": lambda tmp: data_set("imagenet16-120"),
        "an unknown image set": lambda tmp: load_images("cifar10-smple"),
        "images that are not in an .npz file": lambda tmp: load_images(notes(tmp) / "notes.txt"),
        "CIFAR-10 is absent": lambda tmp: load_images("cifar10"),
        "ImageNet16-120 is absent": lambda tmp: load_images("ImageNet16-120"),
        "a missing file": lambda tmp: load_images("no/such/file.npz"),
        "a missing archive": lambda tmp: import_images("no/such/file.npz"),
        "a special file": lambda tmp: import_images("/dev/full"),
        "not an archive": lambda tmp: import_images(notes(tmp) / "notes.txt"),
        "no arrays": lambda tmp: load_images(npz(tmp, labels=np.arange(4))),
        "another shape": lambda tmp: load_images(npz(tmp, images=PIXELS.transpose(0, 3, 1, 2), labels=np.arange(4))),
        "no training images": lambda tmp: load_images(labelled(tmp, is_test=np.ones(4, bool))),
        "a reserved name": lambda tmp: import_images(labelled(tmp), "cifar10"),
        "the name of the sample": lambda tmp: import_images(labelled(tmp), "cifar10-sample"),
        "damaged columns": damaged_images,
        "a flip of no probability": lambda tmp: Augmentation(flip=1.1),
        "a pickle": lambda tmp: read_python_batch(b"(" * 9, "data_batch_1"),
    },
    "runs": {
        "an absent folder": lambda tmp: nb.open_run(tmp / "none"),
        "no run folder": lambda tmp: nb.open_run(tmp),
        "another kind of run": lambda tmp: nb.load_run(written_study(tmp)),
        "an unfinished run": lambda tmp: nb.open_run(written_study(tmp)).summary,
        "a damaged description": lambda tmp: nb.open_run(changed(own_run(tmp), "config.json", "{", "[")),
        "a damaged line": lambda tmp: nb.open_run(changed(own_run(tmp), "metrics.jsonl", "{", "[")).lines,
        "a missing option": lambda tmp: nb.tune(resume=changed(written_study(tmp), "config.json", "eta", "era")),
        "another option": lambda tmp: nb.tune(resume=written_study(tmp), eta=5),
        "fewer iterations": lambda tmp: nb.tune(resume=written_study(tmp), iterations=1),
        "other data": lambda tmp: nb.tune(resume=written_study(tmp)),
        "a folder and a stopped run": lambda tmp: nb.search(out=tmp, resume=tmp),
        "the loop of a user": lambda tmp: nb.search(resume=own_run(tmp)),
        "an unknown device": lambda tmp: search(tmp, "darts", device="gpu"),
        "an option of another type": lambda tmp: search(tmp, "darts", epochs="many"),
        "a number that is NaN": lambda tmp: search(tmp, "darts", momentum=math.nan),
        "a locked folder": lambda tmp: lock_twice(own_run(tmp)),
    },
    "registry": {
        "a class of a space": lambda tmp: nb.search("darts", space=nb.SearchSpace),
        "an object that is no space": lambda tmp: nb.search_space("math:pi"),
        "a class that is no optimizer": lambda tmp: nb.search("pathlib:Path", space="s1"),
        "a module that the user does not trust": lambda tmp: nb.tune(
            resume=changed(written_study(tmp), "config.json", '"darts"', '"antigravity:Optimizer"')
        ),
    },
    "jobs": {
        "workers of a cluster": lambda tmp: nb.search_seeds([0, 1], scale="quick", workers=2, scheduler="tcp://x:1"),
        "certificates without a scheduler": lambda tmp: nb.search_seeds([0, 1], scale="quick", tls_cert="a.pem"),
        "no certificate": lambda tmp: nb.search_seeds(
            [0, 1], scale="quick", out=tmp / "g", scheduler="tls://127.0.0.1:9", tls_cert="a.pem"
        ),
    },
    "display": {
        "something else than a cell": lambda tmp: nb.draw_cell(7),
        "parameters of a cell": lambda tmp: nb.draw_cell(best(), parameters={}),
        "other axes": lambda tmp: nb.draw_regret(own_run(tmp), ax=3),
        "an unknown colour": lambda tmp: nb.draw_regret(own_run(tmp), colors="blu"),
        "too many colours": lambda tmp: nb.draw_regret(own_run(tmp), colors=["red"] * 9),
        "too many labels": lambda tmp: nb.draw_regret(own_run(tmp), labels=["one"] * 9),
    },
    "trial_files": {
        "another file": lambda tmp: import_table(pth(tmp, {}), tmp / "mine"),
        "another format": lambda tmp: import_table(
            pth(tmp, {"meta_archs": 3, "arch2infos": 3, "total_archs": 3, "evaluated_indexes": 3}), tmp / "mine"
        ),
        "an object": lambda tmp: import_table(pth(tmp, {"a": Path()}), tmp / "mine"),
        "budgets": lambda tmp: import_table(pth(tmp, {}), tmp / "mine", epochs=(12,)),
    },
    "nasbench101": {
        "no path": lambda tmp: Cell(np.zeros((3, 3), int), ["input", CONV, "output"]).hash,
        "other entries": lambda tmp: Cell([[0, 2], [0, 0]], ["input", "output"]),
        "another shape": lambda tmp: Cell([[0, 1]], ["input", "output"]),
        "not triangular": lambda tmp: Cell([[0, 1], [1, 0]], ["input", "output"]),
        "an unknown operation": lambda tmp: Cell(CHAIN, ["input", "conv", "output"]),
        "no list of labels": lambda tmp: Cell([[0, 1], [0, 0]], "io"),
        "a number as a cell": lambda tmp: nb.build_network(7),
        "a text as a cell": lambda tmp: nb.build_network(S1),
        "channels": lambda tmp: nb.build_network(best(), stem_channels=0),
        "an unknown numbering": lambda tmp: nb.build_network(best(), numbering="nasbench11"),
        "an absent file": lambda tmp: import_table("no.tfrecord", tmp / "mine"),
        "an empty file": lambda tmp: import_table(file(tmp, b""), tmp / "mine"),
        "another kind of file": lambda tmp: import_table(file(tmp, bytes(99)), tmp / "mine"),
        "a packed file": lambda tmp: import_table(file(tmp, b"\x1f\x8b" + bytes(99)), tmp / "mine"),
    },
    "nasbench201": {
        "no text of an architecture": lambda tmp: nb.Architecture.parse("nb201:|nor_conv_1x1|"),
        "an unknown operation": lambda tmp: nb.Architecture.parse(
            "nb201:|conv~0|+|none~0|none~1|+|none~0|none~1|none~2|"
        ),
        "an unknown name of a space": lambda tmp: nb.Architecture.parse(
            ":|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"
        ),
        "too many operations": lambda tmp: index_of((0,) * 7),
        "an absent operation": lambda tmp: index_of((0, 0, 0, 0, 0, 5)),
        "another architecture": lambda tmp: nb.search_space("nb201").index(nb.Architecture.parse(S1)),
        "a truncated archive": lambda tmp: import_table(
            file(tmp, bytes(99), "NATS-tss-v1_0-3ffb9-simple.tar"), tmp / "mine"
        ),
    },
    "nats_size": {
        "a width that does not exist": lambda tmp: nb.Architecture.parse("64:48:33:16:8"),
        "an incomplete text": lambda tmp: nb.Architecture.parse("nats-size:64:48"),
        "too few widths": lambda tmp: nb.WidthArchitecture("nats-size", (8, 8)),
        "no integers": lambda tmp: nb.WidthArchitecture("nats-size", "8:8"),  # type: ignore[arg-type]
        "an index out of range": lambda tmp: nb.load_table("nats-size").query(32_768, dataset="cifar10"),
        "an architecture of another space": lambda tmp: nb.search_space("nats-size").index(
            nb.Architecture.parse(EDGES)
        ),
        "a budget without values": lambda tmp: nb.load_table("nats-size").regret(0, epochs=12, dataset="cifar10"),
        "no validation accuracy": lambda tmp: nb.black_box("random", space="nats-size", out=tmp / "run"),
        "no training times": lambda tmp: nb.black_box(
            "random", space="nats-size", objective="test_accuracy", seconds=1e4, out=tmp / "run"
        ),
    },
    "api": {
        "no path": lambda tmp: ask(np.zeros((2, 2), int), ["input", "output"]),
        "too many edges": lambda tmp: api.NASBench(table()).query(
            api.ModelSpec(np.triu(np.ones((6, 6), int), 1), ["input", *[CONV] * 4, "output"])
        ),
        "an unknown operation": lambda tmp: api.NASBench(table()).query(
            api.ModelSpec(CHAIN, ["input", "conv", "output"])
        ),
        "an unknown budget": lambda tmp: api.NASBench(table()).query(
            api.ModelSpec([[0, 1], [0, 0]], ["input", "output"]), epochs=0
        ),
        "no spec": lambda tmp: api.NASBench(table()).query("28cfc7874f6d200472e1a9dcd8650aa0"),
        "a seed": lambda tmp: api.NASBench(table(), seed=[]),
        "single trainings": lambda tmp: NASBench201API("nb201", verbose=False).get_more_info(
            0, "cifar10", is_random=777
        ),
    },
    "search_spaces": {
        "an unknown space": lambda tmp: nb.search_space("s4"),
        "an architecture of another space": lambda tmp: nb.search_space("s1").index(
            nb.Architecture.parse("s2:0|0,1|0,1|0,1|0,1:conv3x3,conv3x3,conv3x3,conv3x3")
        ),
        "a text as an architecture": lambda tmp: nb.search_space("s1").index(S1),
        "an unknown kind": lambda tmp: nb.search_space("s1").count("loose"),
        "an unknown rule": lambda tmp: nb.search_space("s1").count("loose_ends", rule="papr"),
        "a space without a relaxation": lambda tmp: nb.Supernet(nb.search_space("nb101")),
        "integers": lambda tmp: nb.search_space("s1").from_values(()),
    },
    "supernets": {
        "an unknown preset": lambda tmp: supernet(preset="orginal"),
        "no channels": lambda tmp: supernet(channels=0),
        "channels that cannot be divided": lambda tmp: supernet(channels=6, partial_channels=4),
        "other mixing weights": lambda tmp: supernet()(torch.zeros(1, 3, 8, 8), {}),
        "operations": lambda tmp: supernet()(torch.zeros(1, 3, 8, 8), mixing(), operations=(0, 0, 3, 0)),
    },
    "cell_training": {
        "an unknown option": lambda tmp: nb.train_cell(S1, epoch=4),
        "too few epochs": lambda tmp: nb.train_cell(S1, epochs=0),
        "an unknown scale": lambda tmp: nb.train_cell(S1, scale="ful"),
        "an unknown precision": lambda tmp: nb.train_cell(S1, scale="quick", precision="bfloat"),
        "a large batch": lambda tmp: nb.train_cell(S1, scale="quick", batch_size=10**6, out=tmp / "run"),
        "an option of the other benchmark": lambda tmp: nb.train_cell(S1, scale="quick", channels=4),
        "no architecture": lambda tmp: nb.train_cell(),
        "no run folder": lambda tmp: nb.train_cell(resume=tmp),
    },
    "optimizers": {
        "an unknown optimizer": lambda tmp: nb.search("dart", space="s1"),
        "an unknown relaxation": lambda tmp: search(tmp, "darts", relaxation="gumble"),
        "draws": lambda tmp: search(tmp, "darts", draws=0),
        "finalists": lambda tmp: search(tmp, "random-ws", finalists=101, candidates=100),
        "an option of another optimizer": lambda tmp: search(tmp, "random-ws", relaxation="softmax"),
        "a space without widths": lambda tmp: search(tmp, "tas"),
        "another size of the supernet": lambda tmp: nb.search(
            "tas", space="nats-size", scale="quick", channels=32, out=tmp / "r"
        ),
        "a term of another relaxation": lambda tmp: search(tmp, "darts", term="zero-one"),
        "a rule that does not clip": lambda tmp: search(tmp, "gaea", architecture_grad_clip=5.0),
        "one cell to compare": lambda tmp: search(tmp, "lambda-darts", cells=1),
        "layers without a common Λ": lambda tmp: nb.search("lambda-darts", space="nats-size", scale="quick"),
        "one cell to align": lambda tmp: search(tmp, "darts", cells=1, cell_alignment=True),
        "layers without a common Λ to align": lambda tmp: nb.search(
            "darts", space="nats-size", scale="quick", cell_alignment=True
        ),
        "cells of single paths to align": lambda tmp: search(tmp, "random-ws", cells=2, cell_alignment=True),
        "no epochs before the selection": lambda tmp: search(tmp, "darts-pt", epochs=5, selection_epochs=5),
        "candidates that are not mixed": lambda tmp: search(tmp, "darts-pt", relaxation="single-path"),
        "a warm-up of the weights alone": lambda tmp: search(tmp, "spos", warm_start_epochs=1),
        "too small a population": lambda tmp: search(tmp, "spos", population=10),
        "a size without a perturbation": lambda tmp: search(tmp, "darts", perturbation_size=0.1),
        "a perturbation of sampled weights": lambda tmp: search(
            tmp, "gdas", perturbation="random", perturbation_variant="published"
        ),
        "an option of another gradient": lambda tmp: search(tmp, "darts", neumann_terms=3),
        "clipped gradients without their sum": lambda tmp: search(tmp, "oles", clipped_gradients=True),
        "a bound that is missing": lambda tmp: nb.search("tunas", space="nats-size", scale="quick", rejection=True),
        "an alignment that never begins": lambda tmp: search(tmp, "lambda-darts", epochs=1),
        "a term that never begins": lambda tmp: search(tmp, "beta-darts", epochs=1),
        "no window of a cosine": lambda tmp: search(tmp, "oles", window=1000, epochs=2),
        "another gradient of iDARTS": lambda tmp: search(tmp, "idarts", update="first-order"),
        "no images for Λ": lambda tmp: search(tmp, "gaea", training_images="all"),
        "the best epoch without held-out images": lambda tmp: search(
            tmp, "gaea", levels="single-level", training_images="all", returned_epoch="best"
        ),
        "two rules for the returned epoch": lambda tmp: search(
            tmp, "gaea", returned_epoch="best", early_stopping=True, hessian_eigenvalue=True
        ),
        "batches of Λ in a single level": lambda tmp: search(
            tmp, "fair-darts", levels="single-level", draw_with_replacement=True
        ),
        "batches of Λ that does not move": lambda tmp: search(tmp, "spos", augment_architecture_images=True),
        "too few images of fitness": lambda tmp: search(tmp, "spos", fitness_images=8000),
        "too few images of recalibration": lambda tmp: search(
            tmp, "spos", recalibration_batches=200, images_per_half=100
        ),
        "recalibration without its statistics": lambda tmp: search(
            tmp, "spos", recalibration_batches=200, evaluation_batch_norm="running"
        ),
        "a controller of other decisions": lambda tmp: search(tmp, "enas", controller="nasbench201"),
        "a threshold without none": lambda tmp: search(tmp, "fair-darts", operation_threshold=0.85),
        "no epochs before an exclusion": lambda tmp: search(tmp, "is-darts", epochs=4),
        "no epochs for two stages": lambda tmp: search(tmp, "drnas-progressive", epochs=4),
        "fewer channels in a later stage": lambda tmp: search(tmp, "drnas-progressive", partial_channels=1),
        "no epoch after the first decision": lambda tmp: search(tmp, "sgas", epochs=3, decision_start=3),
        "a step of Λ that never comes": lambda tmp: search(tmp, "idarts", weight_steps=100, weights_first=True),
        "mixing weights in place of a Mixing": lambda tmp: search(tmp, ReturnsWeights, channels=2, cells=1, epochs=1),
        "a NumPy number in a state": lambda tmp: search(tmp, KeepsNumPy, channels=2, cells=1, epochs=1),
        "early stopping before all choices": lambda tmp: search(
            tmp, "sgas", early_stopping=True, hessian_eigenvalue=True
        ),
    },
    "one_shot_search": {
        "a folder with other files": lambda tmp: nb.search(scale="quick", out=notes(tmp)),
        "few images": lambda tmp: search(tmp, "darts", images_per_half=10_000),
        "no epochs": lambda tmp: search(tmp, "darts", epochs=0),
        "images of another data set": lambda tmp: nb.plan(
            "search", space="nb201", scale="quick", images=str(labelled(tmp, dataset="other"))
        ),
        "rates": lambda tmp: search(tmp, "darts", learning_rate=0.001, learning_rate_min=1),
        "no seeds": lambda tmp: nb.search_seeds([], scale="quick"),
        "a seed and seeds": lambda tmp: nb.search_seeds([0, 1], seed=5, scale="quick"),
        "callbacks of other processes": lambda tmp: nb.search_seeds(
            [0, 1], scale="quick", out=tmp / "runs", workers=2, callbacks=[print]
        ),
    },
    "black_box_search": {
        "a one-shot optimizer": lambda tmp: nb.black_box("darts"),
        "an option of another optimizer": lambda tmp: nb.black_box("random", population=5),
        "no evaluations": lambda tmp: nb.black_box("random", evaluations=0),
        "two clocks": lambda tmp: nb.black_box("random", seconds=1e4, evaluations=10),
        "a table of another benchmark": lambda tmp: nb.black_box("random", space="nb201", table="embedded"),
        "a limit before the first training": lambda tmp: nb.black_box("random", seconds=5, out=tmp / "run"),
    },
    "proposers": {
        "budgets that decrease": lambda tmp: tune(tmp, min_budget=9, max_budget=3),
        "no factor between budgets": lambda tmp: tune(tmp, eta=1),
    },
    "tuning": {
        "an unknown configuration space": lambda tmp: tune(tmp, config_space="cs4"),
        "another file": lambda tmp: tune(tmp, config_space=str(file(tmp, b"{}", "a.json"))),
        "epochs": lambda tmp: tune(tmp, epochs=3),
        "a hyperparameter": lambda tmp: tune(tmp, weight_decay=1e-3),
        "an unknown option": lambda tmp: tune(tmp, iteration=3),
        "an option that a resumed study does not have": lambda tmp: nb.tune(resume=written_study(tmp), copies="one"),
        "an existing file": lambda tmp: export_optuna(Study.open(written_study(tmp)), file(tmp, b"", "study.journal")),
    },
    "proxy_training": {
        "no folder": lambda tmp: train_proxies(),
        "too many architectures": lambda tmp: train_proxies(
            out=tmp / "run", scale="quick", space="s1", architectures=10**5
        ),
        "a large batch": lambda tmp: train_proxies(out=tmp / "run", scale="quick", batch_size=10**6),
    },
    "recording": {
        "a text as an architecture": lambda tmp: record(tmp),
        "no epochs": lambda tmp: nb.Recorder(tmp / "own", "s1").finish(),
        "a field of records": lambda tmp: nb.Recorder(tmp / "own", "s1").record(
            nb.Architecture.parse(S1), test_regret=0.1
        ),
        "no finite number": lambda tmp: record(tmp, loss=math.nan),
    },
    "objectives": {
        "a choice that does not exist": lambda tmp: outside()(
            {**outside().configuration(outside().space[0]), OP: "conv"}
        ),
        "indices of other choices": lambda tmp: outside()([0, 0]),
        "no proposal": lambda tmp: outside()(None),
        "a budget that is no number": lambda tmp: outside()(outside().space[0], "many"),
        "the time limit": lambda tmp: outside(seconds=5)(outside().space[0]),
        "a search that is over": lambda tmp: outside(evaluations=1).evaluate([outside().space[0]] * 2),
        "the name of our optimizer": lambda tmp: outside(name="random"),
        "several simulated workers": lambda tmp: outside(simulated_workers=8),
        "a further objective on test images": lambda tmp: outside(objective=["validation_accuracy", "test_accuracy"]),
        "a study without a folder": lambda tmp: outside().finish(),
        "a library without an adapter": lambda tmp: nb.target_function(outside(), "smca"),
        "pruning of several objectives": lambda tmp: nb.optuna_objective(
            outside(objective=["validation_accuracy", "trainable_parameters"]), epochs=[4, 108]
        ),
    },
    "trajectories": {
        "no column": lambda tmp: trajectory(seconds=None),
        "a value that is missing": lambda tmp: trajectory(architecture=["5", None]),
        "an unknown architecture": lambda tmp: trajectory(architecture=[5, 14580]),
        "an unknown hash": lambda tmp: trajectory(architecture=[5, "f" * 32]),
        "a clock that cannot be drawn": lambda tmp: trajectory(seconds=[1, 1e300]),
        "a clock that decreases": lambda tmp: trajectory(seconds=[2, 1]),
        "one training twice": lambda tmp: trajectory(evaluation=[1, 1]),
        "another validation error": lambda tmp: trajectory(validation_error=[0.5, 0.5]),
        "a proposal outside the bounds": lambda tmp: trajectory(validation_error=[1.0, 0.5]),
        "an epoch that is no number": lambda tmp: trajectory(epochs=[4, "many"]),
        "a file of another program": lambda tmp: nb.study_from(file(tmp, b"{}", "runhistory.json"), "s1"),
    },
    "experiments": {
        "another object": lambda tmp: nb.compare([3]),
        "no runs": lambda tmp: nb.compare([]),
        "no run of a ranking": lambda tmp: nb.correlate(),
        "a figure that is not drawn": lambda tmp: reproduce("figure6"),
        "equal seeds": lambda tmp: reproduce("figure9", scale="quick", out=tmp, seeds=[0, 0]),
        "a file as a folder": lambda tmp: reproduce("figure9", scale="quick", out=file(tmp, b"mine")),
        "a part that does not exist": lambda tmp: reproduce("figure9", scale="quick", out=tmp / "f", only=["s9"]),
        "too little data": lambda tmp: check_enough(1, 2, "budgets with test accuracy", table()),
        "a run twice": lambda tmp: nb.compare([own_run(tmp), tmp / "own"]),
    },
    "commands": {
        "an unknown command": command("serch"),
        "an incomplete command": command("table"),
        "an unknown option": command("search --epoch 3"),
        "an unknown space of a search": command("search --space nb1"),
        "an option of another optimizer": command("search --optimizer darts --candidates 3"),
        "an optimizer of another command": command("search --optimizer regularized-evolution"),
        "no value": command("search --epochs"),
        "another type": command("search --epochs many"),
        "an unknown choice": command("search --preset orginal"),
        "an argument too many": command("search darts"),
        "a table without its option": command("table info nb201"),
        "an architecture without quotes": command("query s1:0"),
        "no seeds": command("search --seeds 3-1"),
        "a seed twice": command("search --seeds 0-2,1"),
        "workers of one search": command("search --workers 2"),
        "a format without a drawing": command("query nb201:3 --format pdf"),
        "hashes of another benchmark": command("table verify --table nb201 --hashes"),
        "the command of another kind": lambda tmp: command(f"search --resume {written_study(tmp)}")(tmp),
        "a folder of another kind": lambda tmp: command(f"correlate {written_study(tmp)}")(tmp),
        "a number beyond 64 bits": command(f"search --epochs {'9' * 20}"),
        "an unknown data set to download": command("data download foo"),
        "runs as labels": command("compare --labels A B"),
    },
}


def trajectory(**columns: Any) -> nb.BlackBoxStudy:
    """A run of two trainings on s1, with other columns; None removes a column."""
    found = {"run": 0, "seconds": [1.0, 2.0], "architecture": [5, 700], **columns}
    return nb.study_from_frame(pd.DataFrame({name: of for name, of in found.items() if of is not None}), "s1")


def outside(**options: Any) -> nb.Objective:
    """An objective on s1."""
    return nb.objective("s1", **options)


def read_table() -> dict[tuple[str, str], tuple[str, str]]:
    """The type and the sentence of each package's kinds."""
    sentences, package = {}, ""
    for line in (Path(__file__).parent / "messages.txt").read_text().splitlines():
        if line.startswith("["):
            package = line.strip("[]")
        elif line and not line.startswith("#"):
            kind, name, sentence = line.split(": ", 2)
            assert (package, kind) not in sentences, f"{kind} twice"
            sentences[package, kind] = name, sentence
    return sentences


SENTENCES = read_table()


def test_every_sentence_has_a_trigger_and_every_trigger_a_sentence() -> None:
    assert list(SENTENCES) == [(package, kind) for package, kinds in KINDS.items() for kind in kinds]


def test_every_room_that_raises_errors_has_a_section() -> None:
    product = Path(__file__).parents[1]
    folders = [path for path in (product / "nasbench1shot1").iterdir() if path.is_dir()]
    folders += [product / name for name in ("search_spaces", "optimizers", "experiments")]
    raising = re.compile(r"\b(UserError|(InvalidInput|OutOfDomain|DamagedFile)Error)\(f?\"")
    rooms = {room.name for room in folders for path in room.rglob("*.py") if raising.search(path.read_text())}
    assert len(rooms) > 20 and rooms <= KINDS.keys()


@pytest.mark.filterwarnings("ignore:the table")
@pytest.mark.parametrize(("package", "kind"), SENTENCES)
def test_the_message_of(package: str, kind: str, tmp_path: Path, home: Path) -> None:
    with pytest.raises(nb.UserError) as caught:
        KINDS[package][kind](tmp_path)
    message = caught.value.for_command_line if package == "commands" else str(caught.value)
    message = message.replace(str(home), "{home}").replace(str(tmp_path), "{tmp}")
    assert (type(caught.value).__name__, message) == SENTENCES[package, kind]
