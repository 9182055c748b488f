"""Time training steps of several architectures in small proxies: one after the other, or several at once.

    python benchmarks/proxy_training.py --channels 2

Four ways take turns: one architecture after the other, with one thread (the baseline) or with two threads;
`torch.func.vmap` over stacked networks, with one thread; and two processes with one thread each. `vmap` turns
convolutions into grouped convolutions and computes all operations, under one-hot mixing weights. All ways compute
equally many forward and backward passes, and the gradients of `vmap` are compared with the baseline's. Speed-up is the
baseline's seconds divided by the seconds of the way. `core_share` is the fraction of a core that the baseline got,
below 1 on a busy machine.
"""

import argparse
import copy
import json
import multiprocessing
import os
import statistics
import time

import numpy as np
import torch
from torch.func import functional_call, grad_and_value, stack_module_state, vmap
from torch.nn import functional as F

import nasbench1shot1 as nb

WAYS = ["two_threads", "two_processes", "vmap"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architectures", type=int, default=4)
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--cells", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    options = parser.parse_args()
    facts = {"torch": torch.__version__, "cpus": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
    print(json.dumps({**vars(options), **facts, **measured(options)}), flush=True)


def measured(options):
    nets, mixings, images, labels = begun(options)
    context = multiprocessing.get_context("spawn")
    half = options.architectures // 2
    parts = [range(half), range(half, options.architectures)]
    with Process(context, options, parts[0]) as first, Process(context, options, parts[1]) as second:

        def in_turn():
            torch.set_num_threads(1)
            return gradients_in_turn(nets, images, labels, range(options.architectures))

        def two_threads():
            torch.set_num_threads(2)
            return gradients_in_turn(nets, images, labels, range(options.architectures))

        def two_processes():
            first.start()
            second.start()
            return first.wait() or second.wait()

        ways = {"in_turn": in_turn, "two_threads": two_threads, "two_processes": two_processes}
        ways["vmap"] = at_once(nets, mixings, images, labels)
        ways = {name: way for name, way in ways.items() if name in ("in_turn", *options.ways)}
        seconds, shares = {name: [] for name in ways}, []
        for number in range(1 + options.rounds):
            results = {}
            for name, way in ways.items():
                started, cpu = time.perf_counter(), time.process_time()
                results[name] = way()
                if number:  # the first round is a warm-up
                    seconds[name].append(time.perf_counter() - started)
                if name == "in_turn":
                    shares.append((time.process_time() - cpu) / (time.perf_counter() - started))
            if "vmap" in results:
                compare(results["in_turn"], results["vmap"])
    base = statistics.median(seconds["in_turn"])
    speed_up = {name: round(base / statistics.median(values), 2) for name, values in seconds.items()}
    return {"core_share": round(statistics.median(shares), 2), "speed_up": speed_up}


class Process:
    """A process with one thread, which trains its part of the architectures at every `start`."""

    def __init__(self, context, options, numbers):
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, options, numbers), daemon=True)

    def __enter__(self):
        self._process.start()
        self._pipe.recv()
        return self

    def __exit__(self, *_):
        self._pipe.send(False)
        self._process.join()

    def start(self):
        """Start the training of its part."""
        self._pipe.send(True)

    def wait(self):
        """Wait until its part is trained."""
        self._pipe.recv()


def serve(pipe, options, numbers):
    torch.set_num_threads(1)
    nets, _, images, labels = begun(options)
    pipe.send(None)
    while pipe.recv():
        gradients_in_turn(nets, images, labels, numbers)
        pipe.send(None)


def begun(options):
    """Return networks, one-hot mixing weights, images and labels for sampled architectures of s3."""
    space, nets = nb.search_space("s3"), []
    order = np.random.default_rng(0).permutation(len(space))[: options.architectures]
    architectures = [space[int(index)] for index in order]
    for number, arch in enumerate(architectures):
        drawn = torch.Generator().manual_seed(number)
        nets.append((nb.Supernet(space, options.channels, options.cells, generator=drawn).train(), arch))
    drawn = torch.Generator().manual_seed(len(nets))
    images = torch.randn(len(nets), options.batch, 3, 32, 32, generator=drawn)
    labels = torch.randint(0, 10, (len(nets), options.batch), generator=drawn)
    return nets, nets[0][0].discrete_mixing(architectures), images, labels


def gradients_in_turn(nets, images, labels, numbers):
    """Return the gradients of every architecture by name; each architecture is computed alone."""
    found = []
    for number in numbers:
        net, arch = nets[number]
        net.zero_grad()
        x = images[number].contiguous(memory_format=torch.channels_last)
        F.cross_entropy(net(x, arch), labels[number]).backward()
        found.append({name: p.grad for name, p in net.named_parameters() if p.grad is not None})
    return found


def at_once(nets, mixings, images, labels):
    """Return the function that computes all architectures in one pass over stacked networks."""
    parameters, buffers = stack_module_state([net for net, _ in nets])
    bare = copy.deepcopy(nets[0][0]).to("meta")

    def loss(parameters, buffers, images, labels, mixing):
        return F.cross_entropy(functional_call(bare, (parameters, buffers), (images, mixing)), labels)

    together = vmap(grad_and_value(loss))

    def way():
        torch.set_num_threads(1)
        gradients, _ = together(parameters, buffers, images, labels, mixings)
        return [{name: of[number] for name, of in gradients.items()} for number in range(len(nets))]

    return way


def compare(in_turn, together):
    for alone, all_of in zip(in_turn, together, strict=True):
        ours, theirs = (torch.cat([of[name].flatten() for name in alone]) for of in (alone, all_of))
        assert (ours - theirs).norm() < 0.02 * ours.norm(), f"{(ours - theirs).norm() / ours.norm()}"


if __name__ == "__main__":
    main()
