"""Analyse a search on a GPU without having one: tensors on a wrong device, copies to the host, kernels, bytes.

    python benchmarks/gpu_dry_run.py --peer PATH_OF_A_CHECKOUT_OF_automl/nasbench-1shot1

Everything runs at full size on tensors without data (`kernel_counts.py`). On fake CUDA tensors, which need a CUDA build
of PyTorch but no GPU, these run: forward passes of every optimizer, image batches, augmentation, one-shot errors and
selection by shared weights. On meta tensors, which any build has, whole steps run, with their backward passes. The
program ends with exit status 1 and one sentence at the first tensor on a wrong device, and at the first copy to the
host that is not documented (`dry_passes.COPIES`). `--device meta` leaves fake CUDA tensors out.

A pass is mixing weights, supernet and loss on one batch. A method that samples architectures is counted as the mean of
several passes. What is read on the host from tensors without data makes every block of GDAS, ours and the published
one, compute conv3x3, the most expensive operation. Everything is in float32: PyTorch disables autocast without a GPU.
"""

import argparse
import json
import os
import platform
import sys
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from unittest.mock import patch

import torch
from dry_passes import SAMPLED, Failure, Size, check_forward, check_steps, dry_search, weight_pass
from kernel_counts import dry_device
from published_networks import PublishedSampledSearch, PublishedSearch, load_peer
from revisions import revision
from torch import nn

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.loop import batch_pairs

RESULT = Path(__file__).parent / "results" / "gpu_dry_run.json"
OPTIMIZERS = ("darts", "darts-second-order", "gdas", "pc-darts", "snas", "random-ws", "enas")
PUBLISHED = {"darts": "darts", "darts-second-order": "darts", "gdas": "gdas", "pc-darts": "pc-darts"}
PASSES = 5  # that a method which samples architectures is averaged over
PRESETS = {"ours": "corrected", "same-maps": "original"}


def our_counts(optimizer, space, device, size, preset):
    """Kernels and bytes of our pass: forward on CUDA, forward and backward on meta."""
    with dry_search(optimizer, space, device, size, preset) as (state, counter):
        batch, _ = next(batch_pairs(state, 1))
        parameters = list(state.net.parameters())
        return mean_counts(counter, lambda: weight_pass(state, batch), parameters, optimizer, device)


def published_counts(optimizer, space, device, size):
    """Kernels and bytes of the published network's pass."""
    kind = PublishedSampledSearch if optimizer in SAMPLED else PublishedSearch
    there = torch.device(device)
    with dry_device(device) as counter, ExitStack() as stack:
        for owner in (torch.Tensor, nn.Module):
            stack.enter_context(patch.object(owner, "cuda", lambda self, *_, **__: self.to(there)))
        name, sizes = PUBLISHED.get(optimizer, "darts"), (size.channels, size.cells)
        search = kind(name, nb.search_space(space), *sizes, there)
        images = torch.zeros(size.batch_size, 3, 32, 32).to(there)
        labels = torch.zeros(size.batch_size, dtype=torch.int64).to(there)

        def loss():
            with search.autocast():
                return nn.functional.cross_entropy(search.logits(images), labels)

        return mean_counts(counter, loss, list(search.net.parameters()), optimizer, device)


def mean_counts(counter, loss, parameters, optimizer, device):
    """Kernels, bytes and copies of a pass, with the weights' gradients on "meta"."""
    passes = PASSES if optimizer in SAMPLED else 1
    counter.reset()
    for _ in range(passes):
        value = loss()
        if device == "meta":
            torch.autograd.grad(value, parameters, allow_unused=True)
    counts = counter.reset()
    kernels, copies = counts.kernels.total() / passes, counts.host_copies.total() / passes
    return {
        "kernels": round(kernels),
        "gigabytes": round(counts.bytes / passes / 1e9, 2),
        "host_copies": round(copies, 1),
        "by_operation": {name: round(count / passes, 1) for name, count in counts.kernels.most_common(12)},
    }


def row(optimizer, space, devices, size, with_peer):
    """One optimizer on one space: checked, then counted beside the published network."""
    try:
        if "cuda" in devices:
            check_forward(optimizer, space, "cuda", size)
        check_steps(optimizer, space, size)
    except Failure as failure:
        raise Failure(f"{optimizer} on {space}: {failure}") from failure
    found = {"space": space, "optimizer": optimizer}
    for device in devices:
        sides = {side: our_counts(optimizer, space, device, size, preset) for side, preset in PRESETS.items()}
        if with_peer and optimizer != "snas":
            sides["published"] = published_counts(optimizer, space, device, size)
        found["forward" if device == "cuda" else "forward_and_backward"] = sides
    return found


def table(rows):
    """The rows of the README's table."""
    lines = []
    for found in rows:
        cells = [found["space"], found["optimizer"]]
        for what in ("forward", "forward_and_backward"):
            sides = found.get(what, {})
            for number in ("kernels", "gigabytes"):
                cells += [sides.get(side, {}).get(number) for side in ("ours", "published")]
        lines.append(
            "| "
            + " | ".join("–" if cell is None else f"{cell:,}" if cell.__class__ is int else str(cell) for cell in cells)
            + " |"
        )
    return "\n".join(lines)


def about(options):
    return {
        "date": str(date.today()),
        "command": "python benchmarks/gpu_dry_run.py" + (" --peer PEER" if options.peer else ""),
        "peer": revision(options.peer) if options.peer else None,
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, no GPU, Python {platform.python_version()}",
        "torch": torch.__version__,
    }


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="checkout of the published code, to count its networks too")
    parser.add_argument("--optimizers", nargs="+", choices=OPTIMIZERS, default=OPTIMIZERS)
    parser.add_argument("--spaces", nargs="+", default=["s1", "s3"])
    parser.add_argument("--device", choices=("cuda", "meta"), default="cuda", help="meta works with any PyTorch build")
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--cells", type=int, default=9)
    parser.add_argument("--batch-size", type=int, default=96)
    parser.add_argument("--out", type=Path, help=f"write the results to this file, for example {RESULT.name}")
    return parser.parse_args()


def main():
    options = parsed()
    if options.device == "cuda" and torch.version.cuda is None:
        sys.exit(
            f"This is a CPU build of PyTorch ({torch.__version__}): install a CUDA build, which needs no GPU here, "
            "or choose --device meta."
        )
    if options.peer:
        load_peer(options.peer, torch.device("cuda"))
    size = Size(options.channels, options.cells, options.batch_size)
    devices = ("cuda", "meta") if options.device == "cuda" else ("meta",)
    rows = []
    try:
        for space in options.spaces:
            for optimizer in options.optimizers:
                rows.append(row(optimizer, space, devices, size, options.peer))
                print(table(rows[-1:]), flush=True)
    except Failure as failure:
        sys.exit(str(failure))
    if options.out:
        options.out.write_text(json.dumps({**about(options), "settings": vars(size), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
