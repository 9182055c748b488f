"""The examples of the README."""

import numpy as np
import torch

import nasbench1shot1 as nb

run = nb.search("darts", space="s1", scale="quick", seed=0, out="runs/darts-s1-0")
print(run.metrics[["epoch", "one_shot_validation_error"]])
print(run.architectures[-1], run.architecture_parameters["operations"].shape)
again = nb.load_run("runs/darts-s1-0")
print(again.metrics)
space, table, rng = nb.search_space("s1"), nb.load_table(), np.random.default_rng(0)
parameters = {key: rng.normal(size=shape) for key, shape in space.mixing_shapes().items()}
arch = space.discretise(parameters)
print(arch, table.regret(arch), table.regret(arch, split="validation"))
net = nb.Supernet(space, channels=16, cells=9)
logits = net(torch.randn(2, 3, 32, 32), net.discrete_mixing(arch))
print(arch.cell.hash, len(space.neighbours(arch)), logits.shape)
nb.draw_cell(arch).figure.savefig("cell.png")
function = nb.objective("nb201", seconds=12_000)
print(function(nb.search_space("nb201")[6111]), function.remaining)
