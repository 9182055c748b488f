"""Weight steps of several seeds at once, by `torch.func.vmap` over stacked weights, against one seed after the other.

    python benchmarks/several_seeds.py --seeds 2 4

Each seed has weights, images and mixing weights of its own; losses and gradients are compared first. A round is one
forward and backward pass of every seed, in turns. The speed-up is seconds one after the other / seconds at once: below
1, separate processes are the better way to run several seeds on that device.
"""

import argparse
import copy
import json
import statistics
import time

import torch
from torch.func import functional_call, grad_and_value, stack_module_state, vmap
from torch.nn import functional as F

import nasbench1shot1 as nb
from nasbench1shot1.runs.machine import without_tf32


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[2])
    parser.add_argument("--space", default="s1")
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--cells", type=int, default=9)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(2)
    for seeds in options.seeds:
        print(json.dumps({**vars(options), "seeds": seeds, **measured(seeds, options)}), flush=True)


@without_tf32()
def measured(seeds, options):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    nets, images, labels, mixings = begun(seeds, options, device)
    parameters, buffers = stack_module_state(nets)
    bare = copy.deepcopy(nets[0]).to("meta")

    def loss(parameters, buffers, images, labels, mixing):
        return F.cross_entropy(functional_call(bare, (parameters, buffers), (images, mixing)), labels)

    together = vmap(grad_and_value(loss))
    stacked = {key: torch.stack([mixing[key] for mixing in mixings]) for key in mixings[0]}

    def at_once():
        gradients, losses = together(parameters, buffers, images, labels, stacked)
        return [losses, *(gradients[name] for name, _ in nets[0].named_parameters())]

    def in_turn():
        done = []
        for net, x, y, mixing in zip(nets, images, labels, mixings, strict=True):
            x = x.contiguous(memory_format=torch.channels_last)
            one = F.cross_entropy(net(x, mixing), y)
            done.append([one.detach(), *torch.autograd.grad(one, list(net.parameters()))])
        return [torch.stack(parts) for parts in zip(*done, strict=True)]

    ways, results, seconds = {"at_once": at_once, "in_turn": in_turn}, {}, {}
    for _ in range(1 + options.rounds):
        for name, way in ways.items():
            started = time.perf_counter()
            results[name] = way()
            if device.type == "cuda":
                torch.cuda.synchronize()
            seconds.setdefault(name, []).append(time.perf_counter() - started)
        for a, b in zip(*results.values(), strict=True):  # as vectors; over nine cells float32 rounds off percents
            assert (a - b).norm() < 0.1 * b.norm(), f"{a.shape}: {(a - b).norm() / b.norm()}"
    medians = {name: statistics.median(values[1:]) for name, values in seconds.items()}
    return {
        "device": str(device),
        "torch": torch.__version__,
        "speed_up": round(medians["in_turn"] / medians["at_once"], 2),
    }


def begun(seeds, options, device):
    nets, mixings = [], []
    for seed in range(seeds):
        drawn = torch.Generator().manual_seed(seed)
        net = nb.Supernet(nb.search_space(options.space), options.channels, options.cells, generator=drawn)
        nets.append(net.to(device))
        shapes = net.space.mixing_shapes().items()
        mixings.append({key: torch.randn(shape, generator=drawn).softmax(-1).to(device) for key, shape in shapes})
    drawn = torch.Generator().manual_seed(seeds)
    images = torch.randn(seeds, options.batch, 3, 32, 32, generator=drawn)
    labels = torch.randint(0, 10, (seeds, options.batch), generator=drawn)
    return nets, images.to(device), labels.to(device), mixings


if __name__ == "__main__":
    main()
