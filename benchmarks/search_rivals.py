"""What `optimizer_speed.py` measures in one process: our search and the published one, step by step."""

import collections
import functools
import itertools
import resource
import statistics
import time
from dataclasses import replace

import numpy as np
import torch
from published_networks import PublishedENAS, PublishedSampledSearch, PublishedSearch, load_peer

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.beginning import begin
from nasbench1shot1.one_shot_search.loop import batch_pairs
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.weight_step import weight_step
from nasbench1shot1.optimizer import Batch
from nasbench1shot1.optimizers.sampling import SamplingOptimizer
from nasbench1shot1.runs.machine import without_tf32
from nasbench1shot1.supernets.weight_sharing import MIXED_BATCH, REFERENCE_IMAGES, SharedWeights

IMAGES = 20_000  # of a half
EPOCHS = 50
SAMPLED = ("random-ws", "enas")
PUBLISHED = {
    "darts": functools.partial(PublishedSearch, "darts"),
    "darts-second-order": functools.partial(PublishedSearch, "darts", unrolled=True),
    "gdas": functools.partial(PublishedSearch, "gdas"),
    "pc-darts": functools.partial(PublishedSearch, "pc-darts"),
    "random-ws": functools.partial(PublishedSampledSearch, "darts"),
    "enas": functools.partial(PublishedENAS, "darts"),
}
AT_MOST = {"random-ws": 0.5, "gdas": 0.7}  # what a weight step may cost of one of darts
STEPS_OF_EACH = 4  # in each round where architectures are sampled, which differ in what they cost
PRESETS = {"ours": "corrected", "same-maps": "original"}


@without_tf32()
def measure(job):
    torch.set_num_threads(job.threads)
    return {"speed": speed, "memory": memory, "weight-steps": weight_steps}[job.what](job)


# Ours -------------------------------------------------------------------------------------------------------------


class Ours:
    """A search as `nb.search` runs it, one step at a time."""

    def __init__(self, job, optimizer, preset, batch_size):
        common = {name: getattr(job, name) for name in ("space", "device", "threads", "precision", "compile")}
        size = {"channels": job.channels, "cells": job.cells, "images": "cifar10-sample", "epochs": EPOCHS}
        named = {"optimizer": optimizer, "preset": preset, "batch_size": batch_size}
        self.state = begin(search_options({**common, **size, **named}))
        self.net, self.method = self.state.net, self.state.method
        self.net.train()
        self.method.begin_epoch(1, EPOCHS, self.state.generator("optimizer", 1))
        self.batches = itertools.chain.from_iterable(batch_pairs(self.state, epoch) for epoch in itertools.count(1))
        self.images = random_pair(job, MIXED_BATCH, "ours", torch.Generator().manual_seed(0))[0].images

    def search_step(self, weight_batch, architecture_batch):
        """A step of Λ, where there is one, and one of the weights."""
        self.method.architecture_step(self.state.step(weight_batch, architecture_batch))
        weight_step(self.state, weight_batch)

    def weight_step(self, batch):
        """The latter alone."""
        weight_step(self.state, batch)

    @torch.no_grad()
    def evaluation_batch(self):
        """One batch of the one-shot error, or of the reference images that its batch-norm is recalibrated on."""
        self.net.eval()
        self.state.logits(self.method.evaluation_mixing(), self.images)
        self.net.train()

    def other_actions(self, pair):
        """What an epoch has beside steps, by name."""
        evaluation = {} if self.is_sampling else {"evaluation_batch": self.evaluation_batch}
        return {"next_batches": lambda: next(self.batches), **evaluation}

    def how_often(self, size):
        """Every action of an epoch of 20,000 images by its name."""
        steps, evaluations = -(-IMAGES // size), -(-(IMAGES + REFERENCE_IMAGES) // MIXED_BATCH)
        often = {"search_step": steps, "next_batches": steps}
        return often if self.is_sampling else {**often, "evaluation_batch": evaluations}

    def after_epoch(self, job):
        """Seconds of what is not counted in batches: a sampling method scores architectures by the shared weights.

        What it asks for is recorded, with no network behind it (`Recorder`); then one question of each kind is timed
        with fewer architectures and images, and stands for the images of all.
        """
        if not self.is_sampling:
            return 0.0
        shared = Recorder(self.state)
        seconds = timed(job, self.method.end_epoch, shared) + timed(job, self.method.choose, shared)
        shared.questions[1, IMAGES] += 1  # the one-shot error of the architecture chosen
        return seconds + sum(times * self.answering(job, *asked) for asked, times in shared.questions.items())

    def answering(self, job, architectures, images):
        """Seconds in which so many architectures are scored on so many images."""
        several, most = (128, 640) if job.device.startswith("cuda") else (8, 128)
        shared, together = self.state.shared_weights(1), min(architectures, several)
        rows = shared.rows(min(images, most), torch.Generator().manual_seed(0))
        drawn = [self.net.space.sample(np.random.default_rng(number)) for number in range(several)]

        def ask():
            for start in range(0, several, together):
                shared.errors(drawn[start : start + together], rows)

        taken = min(timed(job, ask), timed(job, ask))
        return taken * shared.images_passed(architectures, images) / shared.images_passed(several, len(rows))

    @property
    def is_sampling(self):
        """Whether it trains one architecture at a time."""
        return isinstance(self.method, SamplingOptimizer)


class Recorder(SharedWeights):
    """Shared weights that only note what they are asked, (architectures, images), and answer at random."""

    def __init__(self, state):
        super().__init__(state.net, state.images, state.split, epoch=1, batch_size=state.config.batch_size)
        self.questions, self.rng = collections.Counter(), np.random.default_rng(0)

    def errors(self, architectures, rows=None):
        """Errors (A,) of nothing."""
        self.questions[len(architectures), IMAGES if rows is None else len(rows)] += 1
        return self.rng.random(len(architectures))


def side_of(job, name, batch_size):
    """One of the searches that take turns."""
    if name in PRESETS:
        return Ours(job, job.optimizer, PRESETS[name], batch_size)
    device = torch.device(job.device)
    load_peer(job.peer, device)
    torch.manual_seed(0)
    return PUBLISHED[job.optimizer](nb.search_space(job.space), job.channels, job.cells, device, job.precision)


def batch_size_of(job):
    return job.batch_size or (64 if job.optimizer in SAMPLED else 96)


def random_pair(job, size, side, generator):
    """A batch of each half, in the memory order that each side takes its images in."""
    order = torch.contiguous_format if side == "published" else torch.channels_last

    def batch():
        images = torch.randn(size, 3, 32, 32, generator=generator).contiguous(memory_format=order)
        labels = torch.randint(0, 10, (size,), generator=generator)
        return Batch(images.to(job.device), labels.to(job.device))

    return batch(), batch()


def timed(job, action, *arguments, times=1):
    """Seconds of one call, of so many after each other."""
    wait = torch.cuda.synchronize if job.device.startswith("cuda") else lambda: None
    wait()
    started = time.perf_counter()
    for _ in range(times):
        action(*arguments)
    wait()
    return (time.perf_counter() - started) / times


# What a process measures ------------------------------------------------------------------------------------------


def speed(job):
    """Steps of all sides in turns; medians, ratios and what an epoch takes."""
    size = batch_size_of(job)
    if job.optimizer in SAMPLED:
        job = replace(job, steps_per_round=STEPS_OF_EACH * job.steps_per_round)
    rivals = job.peer and job.optimizer in PUBLISHED
    names = [*PRESETS, "published"] if rivals else ["ours"]
    sides = {name: side_of(job, name, size) for name in names}
    rounds = {name: [] for name in names}
    for number in range(job.warm_up + job.rounds):
        for name, side in sides.items():
            taken = one_round(job, name, side, size, number)
            if number >= job.warm_up:
                rounds[name].append(taken)
    medians = {name: medians_of(taken) for name, taken in rounds.items()}
    device = torch.cuda.get_device_name() if job.device.startswith("cuda") else "cpu"
    result = {"optimizer": job.optimizer, "space": job.space, "batch_size": size, "device": device}
    result["sides"] = {name: described(job, side, medians[name], size) for name, side in sides.items()}
    if rivals:
        assert parameters(sides["published"]) == parameters(sides["same-maps"]), "not the same network"
        result |= ratios(rounds, medians)
    return result


def one_round(job, name, side, size, number):
    pair = random_pair(job, size, name, torch.Generator().manual_seed(number))
    taken = {
        "search_step": timed(job, side.search_step, *pair, times=job.steps_per_round),
        "weight_step": timed(job, side.weight_step, pair[0], times=job.steps_per_round),
    }
    for name, action in side.other_actions(pair).items():
        taken[name] = timed(job, action)
    return taken


def medians_of(rounds):
    return {action: statistics.median(taken[action] for taken in rounds) for action in rounds[0]}


def described(job, side, medians, size):
    """Milliseconds of every action, and the seconds of an epoch of 20,000 images with what comes after it."""
    often, selection = side.how_often(size), side.after_epoch(job)
    steps = {action: times * medians[action] for action, times in often.items()}
    return {
        "milliseconds": {action: round(1000 * seconds, 2) for action, seconds in medians.items()},
        "times_per_epoch": often,
        "selection_seconds": round(selection, 1),
        "training_seconds_per_epoch": round(steps["search_step"] + steps.get("next_batches", 0), 1),
        "seconds_per_epoch": round(sum(steps.values()) + selection, 1),
    }


def ratios(rounds, medians):
    keys = ("search_step", "weight_step")
    pairs = list(zip(rounds["published"], rounds["same-maps"], strict=True))
    return {
        "ratio": {key: round(medians["published"][key] / medians["same-maps"][key], 2) for key in keys},
        "ratio_of_each_round": {key: [round(theirs[key] / ours[key], 2) for theirs, ours in pairs] for key in keys},
    }


def parameters(side):
    return sum(parameter.numel() for parameter in side.net.parameters())


def memory(job):
    """Peak memory in MiB of this process, on a GPU of its tensors, after one round."""
    size = batch_size_of(job)
    one_round(job, job.side, side_of(job, job.side, size), size, 0)
    if job.device.startswith("cuda"):
        return round(torch.cuda.max_memory_allocated() / 2**20)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def weight_steps(job):
    """Time weight steps of the methods that compute one path, relative to darts at equal batch size, in turns."""
    size = job.batch_size or 96
    searches = {name: Ours(job, name, "corrected", size) for name in ("darts", *AT_MOST)}
    seconds = {name: [] for name in searches}
    for number in range(job.warm_up + STEPS_OF_EACH * job.rounds):
        pair = random_pair(job, size, "ours", torch.Generator().manual_seed(number))
        for name, search in searches.items():
            taken = timed(job, search.weight_step, pair[0], times=job.steps_per_round)
            if number >= job.warm_up:
                seconds[name].append(taken)
    result = {"space": job.space, "batch_size": size, "steps": job.rounds * STEPS_OF_EACH, "at_most": AT_MOST}
    for name, typical in {"median": statistics.median, "mean": statistics.mean}.items():
        darts = typical(seconds["darts"])
        result[name] = {search: round(typical(seconds[search]) / darts, 3) for search in AT_MOST}
    return result
