"""Seconds of a weight step of the supernet without excluded operations, and with them at the weight 0.

    python benchmarks/excluded_operations.py --space nb201 --channels 8 --cells 3 --threads 1

Every choice of operations keeps one operation, or three on nb201 and two on s1 to s3 (progressive DrNAS). Both passes
have the same mixing weights and, up to rounding, the same output. They take turns, so that whatever else the machine
does affects both; the ratio compares the medians.
"""

import argparse
import json
import statistics
import time

import torch
from torch import nn

import nasbench1shot1 as nb
from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.optimizers.components.allowed import AllowedEntries
from nasbench1shot1.runs.machine import without_tf32
from nasbench1shot1.supernets.passes import class_scores

OF_BLOCKS = {"one 3×3 convolution": (0,), "one max-pooling": (2,), "two of three": (0, 2)}
KEPT = {
    "nb201": {"one 3×3 convolution": (3,), "one skip connection": (1,), "three of five": (1, 2, 3)},
    **dict.fromkeys(("s1", "s2", "s3"), OF_BLOCKS),
}


def step_of(net, mixing):
    optimizer = torch.optim.SGD(net.parameters(), 0.025, 0.9, weight_decay=3e-4)

    def step(images, labels):
        started = time.perf_counter()
        loss = nn.functional.cross_entropy(class_scores(net, mixing, images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if images.is_cuda:
            torch.cuda.synchronize()
        return time.perf_counter() - started

    return step


@without_tf32()
def measure(options, kept):
    space, generator = nb.search_space(options.space), torch.Generator().manual_seed(0)
    allowed = AllowedEntries(space)
    for number, choice in enumerate(space.choices()):
        if choice.key == space.operation_key:
            allowed.keep(number, kept)
    parameters = {key: torch.zeros(shape) for key, shape in space.mixing_shapes().items()}
    weights = {key: value.softmax(-1).to(options.device) for key, value in allowed.masked(parameters).items()}
    images = torch.randn(options.batch_size, 3, options.side, options.side, generator=generator).to(options.device)
    labels = torch.randint(0, 10, (options.batch_size,), generator=generator).to(options.device)
    steps = {}
    for name, mixing in (("computed", Mixing(weights)), ("left out", allowed.restrict(Mixing(weights)))):
        net = nb.Supernet(space, options.channels, options.cells, generator=torch.Generator().manual_seed(1))
        steps[name] = step_of(net.to(options.device).train(), mixing)
    seconds = {name: [] for name in steps}
    for number in range(options.steps + options.warm_up):
        for name, step in steps.items():
            taken = step(images, labels)
            if number >= options.warm_up:
                seconds[name].append(taken)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    return {
        "milliseconds": {name: round(1000 * median, 1) for name, median in medians.items()},
        "ratio": round(medians["computed"] / medians["left out"], 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--space", choices=KEPT, default="nb201")
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--cells", type=int, default=3)
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=9)
    parser.add_argument("--warm-up", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    found = {name: measure(options, kept) for name, kept in KEPT[options.space].items()}
    print(json.dumps({**vars(options), "torch": torch.__version__, "kept": found}, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
