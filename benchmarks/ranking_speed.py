"""Time the scoring of architectures with shared weights, against the published evaluation loop with equal weights.

    python benchmarks/ranking_speed.py --peer PATH_OF_A_CHECKOUT_OF_automl/nasbench-1shot1

The published loop evaluates one architecture after another in batches of 128, computes every operation and records the
graph for autograd. In each round, all methods take turns on one part of the architectures. Two methods are slow and
score only two architectures of each part: the published loop, and our own pass of one architecture at a time. Times are
per architecture. Ratios are ratios of medians over rounds. Class scores are compared under preset "original", which has
the published feature maps. CPU seconds are summed over threads. Without --peer, only our methods are measured.
"""

import argparse
import json
import resource
import statistics
import time
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np
import torch
from published_networks import PublishedSampledSearch, load_peer
from revisions import revision
from torch.nn import functional as F

import nasbench1shot1 as nb
from nasbench1shot1.nasbench101.shared_passes import ChoiceBlockPaths
from nasbench1shot1.supernets.layers import BatchNorm2d
from nasbench1shot1.supernets.passes import Mixing
from nasbench1shot1.supernets.weight_sharing import PATH_BATCH, REFERENCE_IMAGES, GenericPasses

PUBLISHED_BATCH = 128  # of evaluate_one_shot_models.py
FEW = 2  # architectures of a part for the slow sides
OPERATIONS = {"conv3x3": "1.op", "conv1x1": "2.op"}


def supernet(options):
    """Return our network under preset original, with random running statistics."""
    generator = torch.Generator().manual_seed(0)
    space = nb.search_space(options.space)
    net = nb.Supernet(space, options.channels, options.cells, "original", generator=generator).eval()
    for layer in net.modules():
        if isinstance(layer, BatchNorm2d):
            layer.running_mean.normal_(0, 0.1, generator=generator)
            layer.running_var.uniform_(0.5, 1.5, generator=generator)
    return net


def published(options, net):
    """Return the published search with the weights of our network."""
    load_peer(options.peer, torch.device("cpu"))
    search = PublishedSampledSearch("darts", net.space, options.channels, options.cells, torch.device("cpu"))
    ours = net.state_dict()
    search.net.load_state_dict({name: ours[our_name(name)] for name in search.net.state_dict()})
    search.net.eval()
    return search


def our_name(name):
    """Return our name for a published parameter or buffer."""
    for theirs, of_ours in [
        ("postprocess.op.1", "head"), ("postprocess.op.2", "head_bn"), ("_input_projections", "projections"),
        ("_choice_blocks", "blocks"), (".mixed_op._ops.1.op", ".conv3x3"), (".mixed_op._ops.2.op", ".conv1x1"),
        (".op.0.", ".conv."), (".op.1.", ".bn."),
    ]:  # fmt: skip
        name = name.replace(theirs, of_ours)
    return name


def published_logits(search, architecture, images):
    search.net._arch_parameters = search.as_published(architecture)
    return search.net(images, discrete=True)


def published_loop(search, images, labels, architectures):
    """Evaluate architectures as `DartsWrapper.evaluate_test` does, without its log."""
    for architecture in architectures:
        for batch, of_batch in zip(images.split(PUBLISHED_BATCH), labels.split(PUBLISHED_BATCH), strict=True):
            logits = published_logits(search, architecture, batch)
            F.cross_entropy(logits, of_batch).item()
            (logits.argmax(1) == of_batch).float().mean().item()


def ours(net, images, labels, batch_norm, precision, architectures):
    """Score architectures as `SharedWeights.by_image` does."""
    paths = ChoiceBlockPaths(net, architectures, batch_norm, lambda: images[:REFERENCE_IMAGES], precision)
    at_once = PATH_BATCH if batch_norm == "batch" else ChoiceBlockPaths.IMAGES_AT_ONCE
    for batch, of_batch in zip(images.split(at_once), labels.split(at_once), strict=True):
        for _, logits in paths.logits(batch):
            F.cross_entropy(logits, of_batch, reduction="none")


def one_at_a_time(net, images, labels, batch_norm, architectures):
    """Score one architecture after another, without shared computations."""
    mixings = [Mixing(path=architecture) for architecture in architectures]
    passes = GenericPasses(net, mixings, batch_norm, lambda: images[:REFERENCE_IMAGES])
    for batch, of_batch in zip(images.split(PATH_BATCH), labels.split(PATH_BATCH), strict=True):
        for _, logits in passes.logits(batch):
            F.cross_entropy(logits, of_batch, reduction="none")


def largest_difference(net, search, images, architectures):
    """Return the largest difference between our and the published class scores, and the spread of the latter."""
    paths, found = ChoiceBlockPaths(net, architectures, "running", lambda: images), {}
    for positions, logits in paths.logits(images.contiguous(memory_format=torch.channels_last)):
        found |= dict.fromkeys(positions, logits)
    with torch.no_grad():
        wanted = torch.stack([published_logits(search, architecture, images) for architecture in architectures])
    ours_ = torch.stack([found[position] for position in range(len(architectures))])
    return {"largest_difference": float((ours_ - wanted).abs().max()), "spread": float(wanted.std())}


def timed(side, architectures):
    clocks = time.perf_counter, time.process_time
    begun = [clock() for clock in clocks]
    side(architectures)
    return [(clock() - start) / len(architectures) for clock, start in zip(clocks, begun, strict=True)]


def measure(options):
    net, space, result = supernet(options), nb.search_space(options.space), {}
    every = list(space.architectures("no_loose_ends"))
    start = len(every) // 3  # consecutive architectures, as in a ranking
    architectures = every[start : start + options.architectures]
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(options.images, 3, 32, 32, generator=generator)
    labels, last = (
        torch.randint(0, 10, (len(images),), generator=generator),
        images.to(memory_format=torch.channels_last),
    )
    sides = {
        f"{batch_norm}, {precision}": partial(ours, net, last, labels, batch_norm, precision)
        for batch_norm in options.batch_norm
        for precision in options.precision
    }
    for side in sides.values():  # the first passes are slower
        side(architectures[:4])
    result["mib_of_ours_after_4_architectures"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    slow = {"recalibrated, one at a time": partial(one_at_a_time, net, last, labels, "recalibrated")}
    if options.peer:
        search = published(options, net)
        slow["published"] = partial(published_loop, search, images, labels)
        some = np.random.default_rng(0).permutation(len(every))[:8]
        result["class_scores"] = largest_difference(net, search, images[:16], [every[i] for i in some])
        result["peer_revision"] = revision(options.peer)
    rounds = {name: [] for name in [*sides, *slow]}
    for first in range(0, len(architectures), options.part):
        part = architectures[first : first + options.part]
        for name, side in sides.items():
            rounds[name].append(timed(side, part))
        for name, side in slow.items():
            rounds[name].append(timed(side, [part[i] for i in np.linspace(0, len(part) - 1, FEW).astype(int)]))
    return result | described(rounds)


def described(rounds):
    """Return the medians of both clocks, and the speed-ups over the published loop."""
    described = {}
    for number, clock in enumerate(("seconds", "processor_seconds")):
        medians = {name: statistics.median(taken[number] for taken in of) for name, of in rounds.items()}
        described[f"{clock}_per_architecture"] = {name: round(value, 4) for name, value in medians.items()}
        if "published" in medians:
            ratios = {name: round(medians["published"] / value, 2) for name, value in medians.items()}
            described[f"ratio_of_{clock}"] = ratios
    described["rounds"] = {name: [[round(value, 4) for value in both] for both in of] for name, of in rounds.items()}
    return described


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="checkout of the published code")
    parser.add_argument("--space", default="s1")
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--cells", type=int, default=9)
    parser.add_argument("--architectures", type=int, default=200)
    parser.add_argument("--part", type=int, default=50, help="number of architectures per round")
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--batch-norm", nargs="+", default=["running", "recalibrated"])
    parser.add_argument("--precision", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", help="JSON file for the result")
    return parser.parse_args()


def main():
    options = parsed()
    torch.set_num_threads(options.threads)
    result = {"date": date.today().isoformat(), "torch": torch.__version__, **vars(options), **measure(options)}
    result.pop("peer")
    text = json.dumps(result, indent=1)
    print(text)
    if options.out:
        Path(options.out).write_text(text + "\n")


if __name__ == "__main__":
    main()
