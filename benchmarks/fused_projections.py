"""All projections of a cell as one convolution and one batch-norm, against one after another, in turns.

    python benchmarks/fused_projections.py

The parameters are the same tensors, concatenated in the forward pass; values and gradients are compared first. What
wins on a device should be what `ChoiceBlockCell.project` does there.
"""

import json
import statistics
import time

import torch
from torch.nn import functional as F

import nasbench1shot1 as nb
from nasbench1shot1.nasbench101.supernet import ChoiceBlockCell
from nasbench1shot1.runs.machine import without_tf32

STEPS, BATCH = 8, 96


def fused(cell, x):
    norms = [projection.bn for projection in cell.projections]
    weight = torch.cat([projection.conv.weight for projection in cell.projections])
    means, variances = (torch.cat([getattr(bn, f"running_{of}") for bn in norms]) for of in ("mean", "var"))
    scale, shift = (torch.cat([getattr(bn, of) for bn in norms]) for of in ("weight", "bias"))
    momentum, epsilon = norms[0].momentum, norms[0].eps
    x = F.batch_norm(F.conv2d(x, weight), means, variances, scale, shift, cell.training, momentum, epsilon)
    widths = [bn.num_features for bn in norms]
    with torch.no_grad():
        for bn, mean, variance in zip(norms, means.split(widths), variances.split(widths), strict=True):
            bn.running_mean.copy_(mean)
            bn.running_var.copy_(variance)
    return list(F.relu(x, inplace=True).split(widths, dim=1))


@without_tf32()
def main():
    torch.set_num_threads(2)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    generator = torch.Generator().manual_seed(0)
    net = nb.Supernet(nb.search_space("s3"), generator=generator).to(device)
    images = torch.randn(BATCH, 3, 32, 32, generator=generator).contiguous(memory_format=torch.channels_last).to(device)
    labels = torch.randint(0, 10, (BATCH,), generator=generator).to(device)
    mixing = {key: torch.full(shape, 1 / shape[-1], device=device) for key, shape in net.space.mixing_shapes().items()}
    ways = {"one_by_one": ChoiceBlockCell.project, "fused": fused}
    results, seconds = {}, {name: [] for name in ways}
    for _ in range(STEPS):
        for name, project in ways.items():
            ChoiceBlockCell.project = project
            started = time.perf_counter()
            loss = F.cross_entropy(net(images, mixing), labels)
            gradients = torch.autograd.grad(loss, list(net.parameters()))
            if device.type == "cuda":
                torch.cuda.synchronize()
            seconds[name].append(time.perf_counter() - started)
            results.setdefault(name, [loss, *gradients])
    for a, b in zip(*results.values(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-2, atol=1e-4)
    medians = {name: statistics.median(values[2:]) for name, values in seconds.items()}
    print(json.dumps({"device": str(device), "fused_speed_up": round(medians["one_by_one"] / medians["fused"], 2)}))


if __name__ == "__main__":
    main()
