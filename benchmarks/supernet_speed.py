"""One weight step of the supernet (forward, backward, clip, SGD), side by side with the published code's.

    python benchmarks/supernet_speed.py --peer PATH_OF_A_CHECKOUT_OF_automl/nasbench-1shot1

Same batch, same precision, same threads, same feature maps (ours under preset "original", which pads as theirs does);
both take the mixing weights' gradient as well when --architecture-gradient is given. Steps alternate between the two,
so that whatever else the machine does hits both; the ratio compares the medians. Without --peer, ours alone.
"""

import argparse
import json
import statistics
import time

import torch
from published_networks import load_peer, published_network
from revisions import revision
from torch import nn

import nasbench1shot1 as nb
from nasbench1shot1.optimizer import INITIAL_SPREAD
from nasbench1shot1.runs.machine import without_tf32


def published_step(options, device):
    load_peer(options.peer, device)
    net = published_network("darts", nb.search_space(options.space), options.channels, options.cells).to(device)
    return net, make_step(net, lambda images: net(images), options)


def our_step(options, device):
    space = nb.search_space(options.space)
    generator = torch.Generator().manual_seed(0)
    net = nb.Supernet(space, options.channels, options.cells, options.preset, generator=generator).to(device)
    if options.compile:
        net.compile()
    parameters = {
        key: (INITIAL_SPREAD * torch.randn(shape, generator=generator)).to(device).requires_grad_()
        for key, shape in space.mixing_shapes().items()
    }

    def forward(images):
        with torch.set_grad_enabled(options.architecture_gradient):
            mixing = {key: torch.softmax(value, -1) for key, value in parameters.items()}
        return net(images.contiguous(memory_format=torch.channels_last), mixing)

    return net, make_step(net, forward, options)


def make_step(net, forward, options):
    optimizer = torch.optim.SGD(net.parameters(), 0.025, 0.9, weight_decay=3e-4)

    def step(images, labels):
        with torch.autocast(images.device.type, dtype=torch.bfloat16, enabled=options.precision == "bfloat16"):
            loss = nn.functional.cross_entropy(forward(images), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()

    return step


def timed(step, images, labels):
    started = time.perf_counter()
    step(images, labels)
    if images.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - started


@without_tf32()
def measure(options, device):
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(options.batch_size, 3, 32, 32, generator=generator).to(device)
    labels = torch.randint(0, 10, (options.batch_size,), generator=generator).to(device)
    rivals = {"ours": our_step(options, device)}
    if options.peer:
        rivals["published"] = published_step(options, device)
    seconds = {name: [] for name in rivals}
    for round_ in range(options.steps + options.warm_up):
        for name, (_, step) in rivals.items():
            taken = timed(step, images, labels)
            if round_ >= options.warm_up:
                seconds[name].append(taken)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    result = {"images_per_second": {name: options.batch_size / median for name, median in medians.items()}}
    if options.peer:
        counts = [sum(p.numel() for p in net.parameters()) for net, _ in rivals.values()]
        assert counts[0] == counts[1], f"not the same network: {counts} parameters"
        result["peer_revision"] = revision(options.peer)
        result["ratio"] = round(medians["published"] / medians["ours"], 2)
        pairs = zip(seconds["published"], seconds["ours"], strict=True)
        result["ratio_of_each_round"] = [round(theirs / ours, 2) for theirs, ours in pairs]
    if device.type == "cuda":
        result["peak_memory_mb"] = torch.cuda.max_memory_allocated() / 2**20
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="checkout of the published code")
    parser.add_argument("--space", default="s3")
    parser.add_argument("--preset", default="original", help="original has the published feature maps")
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--cells", type=int, default=9)
    parser.add_argument("--batch-size", type=int, default=96)
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--warm-up", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--architecture-gradient", action="store_true")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    described = {"device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu", "torch": torch.__version__}
    print(json.dumps({**vars(options), **described, **measure(options, device)}, indent=2))


if __name__ == "__main__":
    main()
