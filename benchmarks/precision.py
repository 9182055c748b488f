"""Compare float32 with float64 on a CPU: batch-norm, the gradient of Λ, the second-order correction, and the cost.

    python benchmarks/precision.py

Three ways of batch-norm: PyTorch's kernel for channels_last ("native"), its kernel for contiguous memory
("contiguous"), and `supernets.batch_norm` in channels_last ("accurate"). The package uses "accurate" only for tensors
of more than `LARGE` = 2**19 elements; this benchmark measures it without that limit. Cost: a search step of DARTS (one
step of Λ, one weight step) under "native" and under "accurate" in turns; CPU time of the process, one thread.
"""

import argparse
import json
import os
import platform
import statistics
import time
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from pathlib import Path

import torch
from torch.nn import functional as F

from nasbench1shot1.one_shot_search.beginning import begin
from nasbench1shot1.one_shot_search.loop import batch_pairs
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.one_shot_search.weight_step import weight_step
from nasbench1shot1.optimizers.components import updates
from nasbench1shot1.supernets import batch_norm, layers

RESULT = Path(__file__).parent / "results" / "precision.json"
WAYS = ("native", "contiguous", "accurate")
COMMON = {"images": "cifar10-sample", "images_per_half": 480, "threads": 1, "device": "cpu"}


def main():
    options = parsed()
    torch.set_num_threads(1)
    document = {
        "date": str(date.today()),
        "command": "python benchmarks/precision.py",
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        "torch": version("torch"),
        "batch_norm": [batch_norm_errors(shape) for shape in options.shapes],
        "gradient_of_lambda": [gradient_errors(**setting) for setting in options.settings],
        "second_order_correction": [correction_errors(**setting) for setting in options.settings],
        "search_step": [cost(**size, rounds=options.rounds) for size in options.sizes],
    }
    options.out.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1))


@contextmanager
def computed(way, net=None):
    """Set batch-norm, and the memory format of a supernet's weights, to one of WAYS; "accurate" has no size limit."""
    has_long_sums, large = layers.has_long_sums, batch_norm.LARGE
    batch_norm.LARGE = 0
    if way != "accurate":
        layers.has_long_sums = lambda x: False
    if net is not None:
        net.to(memory_format=memory_format(way))
    try:
        yield
    finally:
        layers.has_long_sums, batch_norm.LARGE = has_long_sums, large


def memory_format(way):
    return torch.contiguous_format if way == "contiguous" else torch.channels_last


def batch_norm_errors(shape):
    """Largest error of normalised values, and largest relative error of variances, of rectified noise."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0)).relu()
    wanted = F.batch_norm(x.double(), None, None, training=True)
    variance = x.double().var(dim=(0, 2, 3))
    row = {"shape": list(shape)}
    for way in WAYS:
        layer = layers.BatchNorm2d(shape[1], momentum=1.0)
        with computed(way), torch.no_grad():
            found = layer(x.contiguous(memory_format=memory_format(way)))
        of_variance = (layer.running_var - variance).abs() / variance
        row[way] = {"value": shortened((found - wanted).abs().max()), "variance": shortened(of_variance.max())}
    return row


def gradient_errors(space, seed, **size):
    """Relative error of ∂L/∂Λ, of the whole vector, on the first batch of a search."""
    row = {"space": space, "seed": seed}
    with problem(space, seed, size) as (state, step, mixing):
        exact = first_order(state, step, mixing, torch.float64)
        for way in WAYS:
            with computed(way, state.net):
                row[way] = relative(first_order(state, step, mixing, torch.float32, memory_format(way)), exact)
    return row


def correction_errors(space, seed, **size):
    """Relative error of the term that second order adds to ∂L/∂Λ, and its size beside the first term."""
    row = {"space": space, "seed": seed}
    with problem(space, seed, size) as (state, step, mixing):
        first, exact = correction(state, step, mixing, torch.float64)
        row["size_over_first_term"] = shortened(exact.norm() / first.norm())
        for way in ("native", "accurate"):
            with computed(way, state.net):
                row[way] = relative(correction(state, step, mixing, torch.float32)[1], exact)
    return row


@contextmanager
def problem(space, seed, size):
    """A search before its first step: its state, the step of Λ, and DARTS's mixing weights of Λ as it begins."""
    state = begin(search_options({**COMMON, **size, "optimizer": "darts", "space": space, "seed": seed}))
    pair = next(batch_pairs(state, 1))
    state.net.train()
    yield state, pair, state.method.mixing()


def as_step(state, pair, dtype, layout=torch.channels_last):
    state.net.to(dtype=dtype)
    batches = [type(of)(of.images.to(dtype).contiguous(memory_format=layout), of.labels) for of in pair]
    return state.step(*batches)


def first_order(state, pair, mixing, dtype, layout=torch.channels_last):
    """∂L/∂Λ, flat, float64."""
    step, leaves = as_step(state, pair, dtype, layout), leaves_of(mixing, dtype)
    weights = {name: weight.detach() for name, weight in step.weights.items()}
    loss = step.loss_at(weights, mixing.with_tensors(iter(leaves)), step.architecture_batch)
    return of_lambda(mixing, torch.autograd.grad(loss, leaves))


def correction(state, pair, mixing, dtype):
    """The first term and what second order subtracts from it, both flat, float64."""
    step, leaves = as_step(state, pair, dtype), leaves_of(mixing, dtype)
    of_leaves = mixing.with_tensors(iter(leaves))
    weights = {name: weight.detach() for name, weight in step.weights.items()}
    virtual, _ = updates._virtual_step(step, weights, of_leaves)
    loss = step.loss_at({**weights, **virtual}, of_leaves, step.architecture_batch)
    first = of_lambda(mixing, torch.autograd.grad(loss, leaves))
    return first, first - of_lambda(mixing, updates.second_order(step, of_leaves, leaves))


def leaves_of(mixing, dtype):
    return [tensor.detach().to(dtype).requires_grad_() for tensor in mixing.tensors()]


def of_lambda(mixing, of_mixing):
    """∂L/∂Λ from ∂L/∂(mixing weights), flat, in float64: the softmax's part is the same for all."""
    weights = [tensor.detach().double() for tensor in mixing.tensors()]
    pairs = zip(weights, (gradient.double() for gradient in of_mixing), strict=True)
    return torch.cat([(w * (g - (w * g).sum(dim=-1, keepdim=True))).flatten() for w, g in pairs])


def relative(found, exact):
    return shortened((found - exact).norm() / exact.norm())


def shortened(value):
    return float(f"{float(value):.2g}")


def cost(name, rounds, **options):
    """Medians of the CPU seconds of a search step, and the ratio of the two ways."""
    state = begin(search_options({**COMMON, **options, "optimizer": "darts"}))
    pair = next(batch_pairs(state, 1))
    state.net.train()
    seconds = {"native": [], "accurate": []}
    for i in range(rounds + 1):
        for way in seconds if i % 2 else reversed(seconds):
            with computed(way):
                started = time.process_time()
                state.method.architecture_step(state.step(*pair))
                weight_step(state, pair[0])
                seconds[way].append(time.process_time() - started)
    kept = {way: values[1:] for way, values in seconds.items()}  # the first warms up
    ratios = [a / b for a, b in zip(kept["accurate"], kept["native"], strict=True)]
    medians = {way: statistics.median(values) for way, values in kept.items()}
    lower, _, upper = statistics.quantiles(ratios, n=4)
    return {
        "size": name,
        "rounds": rounds,
        **{f"{way}_cpu_seconds": round(value, 4) for way, value in medians.items()},
        "ratio_of_medians": round(medians["accurate"] / medians["native"], 3),
        "quartiles_of_ratios": [round(lower, 3), round(upper, 3)],
    }


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--rounds", type=int, default=11, help="search steps of each way; small networks take ten times as many"
    )
    parser.add_argument("--quick", action="store_true", help="a tiny network, to see that this runs")
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args()
    options.shapes = [(96, 16, 32, 32), (96, 64, 16, 16), (96, 64, 8, 8)]
    full = {"scale": "full", "epochs": 50}
    small = {"scale": "quick", "image_side": 32, "batch_size": 32}
    options.settings = [{"space": space, "seed": seed, **full} for space in ("s1", "s3") for seed in (0, 1)]
    options.sizes = [{"name": "s1, 16 × 9, batch 96", **full}, {"name": "s1, 8 × 3, batch 32", **small}]
    if options.quick:
        tiny = {"scale": "quick", "channels": 2, "cells": 1}
        options.shapes = [(8, 2, 16, 16)]
        options.settings, options.sizes = [{"space": "s1", "seed": 0, **tiny}], [{"name": "tiny", **tiny}]
    return options


if __name__ == "__main__":
    main()
