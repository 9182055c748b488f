"""`supernets.layers.weighted_sum` against plain multiplications and additions, in turns: a step of Λ and a weight step.

python benchmarks/weighted_sum.py
"""

import json
import statistics
import time

import torch
from torch.nn import functional as F

import nasbench1shot1 as nb
from nasbench1shot1.nasbench101 import supernet
from nasbench1shot1.supernets.layers import weighted_sum

STEPS, BATCH = 7, 96


def plain_sum(weights, tensors):
    total = weights[0] * tensors[0]
    for weight, tensor in zip(weights[1:], tensors[1:], strict=True):
        total = total + weight * tensor
    return total


def main():
    torch.set_num_threads(2)
    generator = torch.Generator().manual_seed(0)
    net = nb.Supernet(nb.search_space("s3"), generator=generator)
    images = torch.randn(BATCH, 3, 32, 32, generator=generator).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, 10, (BATCH,), generator=generator)
    raw = {key: torch.zeros(shape, requires_grad=True) for key, shape in net.space.mixing_shapes().items()}

    def loss(differentiable):
        with torch.set_grad_enabled(differentiable):
            mixing = {key: torch.softmax(value, -1) for key, value in raw.items()}
        return F.cross_entropy(net(images, mixing), labels)

    def step_of_lambda():
        torch.autograd.grad(loss(True), list(raw.values()))

    def weight_step():
        torch.autograd.grad(loss(False), list(net.parameters()))

    seconds = {}
    for _ in range(STEPS):
        for name, summed in (("one_pass", weighted_sum), ("plain", plain_sum)):
            supernet.weighted_sum = summed
            for step in (step_of_lambda, weight_step):
                started = time.perf_counter()
                step()
                seconds.setdefault((step.__name__, name), []).append(time.perf_counter() - started)
    medians = {key: statistics.median(values[1:]) for key, values in seconds.items()}
    steps = ("step_of_lambda", "weight_step")
    print(json.dumps({step: round(medians[step, "plain"] / medians[step, "one_pass"], 2) for step in steps}, indent=2))


if __name__ == "__main__":
    main()
