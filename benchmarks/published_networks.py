"""The published networks and their search steps, from a checkout of automl/nasbench-1shot1, to run beside ours.

Nothing of the checkout is kept here. Its search spaces import TensorFlow, so that what the networks ask of them is
stood in for; on a CPU its `.cuda()` does nothing. A step is a step of the published loop without its three `.item()`.
"""

import sys
import types
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import torch
from torch import nn

IMAGES = 20_000  # of a half
SPACES = "nasbench_analysis.search_spaces.search_space_1"
OPERATION_COLUMNS = [2, 0, 1]  # theirs: max-pooling, 3×3, 1×1
NETWORKS = {
    "darts": ("optimizers.darts.model_search:Network", "optimizers.darts.architect:Architect"),
    "pc-darts": ("optimizers.pc_darts.model_search:PCDARTSNetwork", "optimizers.darts.architect:Architect"),
    "gdas": ("optimizers.gdas.model_search:GDASNetwork", "optimizers.gdas.architect:ArchitectGDAS"),
}
GDAS_TEMPERATURE = 10.0  # of the first epoch
LEARNING_RATE, MOMENTUM, WEIGHT_DECAY = 0.025, 0.9, 3e-4
ARCHITECTURE_LEARNING_RATE, ARCHITECTURE_WEIGHT_DECAY = 3e-4, 1e-3
GRAD_CLIP, SAMPLED_GRAD_CLIP = 5.0, 0.25


class PublishedSearchSpace:
    """What the networks and the controller ask of a space."""

    def __init__(self, space):
        self.num_intermediate_nodes = space.n_blocks
        self.num_parents_per_node = {str(node): count for node, count in enumerate((0, *space.n_parents))}


class PublishedSearchSpace1(PublishedSearchSpace):
    """The first space, which the network knows by its type."""


def load_peer(path, device):
    """Make the checkout importable; from then on `.cuda()` is the identity on a CPU."""
    sys.path.insert(0, str(Path(path).resolve()))
    parts = SPACES.split(".")
    for depth in range(1, len(parts) + 1):
        name = ".".join(parts[:depth])
        sys.modules[name] = types.ModuleType(name)
    sys.modules[SPACES].SearchSpace1 = PublishedSearchSpace1
    warnings.filterwarnings("ignore", "This overload of|`torch.nn.utils.clip_grad_norm`|assertion is always true")
    if device.type == "cpu":
        torch.Tensor.cuda = lambda self, *_, **__: self
        nn.Module.cuda = lambda self, *_, **__: self


def named(text):
    """A class of the checkout by "module:class"."""
    module, _, attribute = text.partition(":")
    return getattr(import_module(module), attribute)


def stand_in(space):
    return (PublishedSearchSpace1 if space.name == "s1" else PublishedSearchSpace)(space)


def published_network(kind, space, channels, cells):
    """The published network of that kind (`NETWORKS`), after `load_peer`."""
    first = (GDAS_TEMPERATURE,) if kind == "gdas" else ()
    network = named(NETWORKS[kind][0])
    return network(*first, channels, 10, cells, nn.CrossEntropyLoss(), True, stand_in(space), steps=space.n_blocks)


class PublishedSearch:
    """A published search that moves Λ: a network, its SGD and its architect, of first or second order."""

    grad_clip = GRAD_CLIP

    def __init__(self, kind, space, channels, cells, device, precision="float32", unrolled=False):
        self.space, self.device, self.precision, self.unrolled = space, device, precision, unrolled
        self.net = published_network(kind, space, channels, cells).to(device)
        self.sgd = torch.optim.SGD(self.net.parameters(), LEARNING_RATE, MOMENTUM, weight_decay=WEIGHT_DECAY)
        arguments = types.SimpleNamespace(
            momentum=MOMENTUM,
            weight_decay=WEIGHT_DECAY,
            arch_learning_rate=ARCHITECTURE_LEARNING_RATE,
            arch_weight_decay=ARCHITECTURE_WEIGHT_DECAY,
            grad_clip=GRAD_CLIP,
        )
        self.architect = named(NETWORKS[kind][1])(self.net, arguments)

    def search_step(self, weight_batch, architecture_batch):
        """One step of Λ, which leaves a gradient on all weights, and one of the weights."""
        both = (weight_batch.images, weight_batch.labels, architecture_batch.images, architecture_batch.labels)
        with self.autocast():
            self.architect.step(*both, LEARNING_RATE, self.sgd, unrolled=self.unrolled)
        self.weight_step(weight_batch)

    def weight_step(self, batch):
        """The latter alone."""
        self.sgd.zero_grad()
        with self.autocast():
            loss = nn.functional.cross_entropy(self.logits(batch.images), batch.labels)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), self.grad_clip)
        self.sgd.step()

    def evaluation_batch(self, images):
        """Class scores in evaluation mode; the published code records the graph here too."""
        self.net.eval()
        with self.autocast():
            self.logits(images)
        self.net.train()

    def other_actions(self, pair):
        """What an epoch has beside steps, by name."""
        return {"evaluation_batch": lambda: self.evaluation_batch(pair[1].images)}

    def how_often(self, size):
        """Every action of an epoch of 20,000 images by its name: steps, then the error on the other half."""
        steps = -(-IMAGES // size)
        return {"search_step": steps, "evaluation_batch": steps}

    def after_epoch(self, job):
        """Seconds of what is not counted in batches: nothing."""
        return 0.0

    def logits(self, images):
        """Class scores (N, 10) under Λ."""
        return self.net(images)

    def autocast(self):
        """The precision that was asked for."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.precision == "bfloat16")


class PublishedSampledSearch(PublishedSearch):
    """A published search that trains one sampled architecture per batch (Random WS, ENAS): weights 0 and 1."""

    grad_clip = SAMPLED_GRAD_CLIP

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.rng = np.random.default_rng(0)

    def search_step(self, weight_batch, architecture_batch):
        """One step of the weights."""
        self.weight_step(weight_batch)

    def logits(self, images):
        """Class scores (N, 10) under a newly sampled architecture."""
        self.net._arch_parameters = self.as_published(self.space.sample(self.rng))
        return self.net(images, discrete=True)

    def how_often(self, size):
        """After every epoch 1,000 architectures on ten batches, the best five on all, the last one on ten."""
        steps = -(-IMAGES // size)
        return {"search_step": steps, "evaluation_batch": 10 * 1000 + 5 * steps + 10}

    def as_published(self, architecture):
        """An architecture as the published list of 0/1 tensors: operations, output, inputs of the blocks in order."""
        one_hot = {key: torch.from_numpy(value).float() for key, value in self.space.one_hot(architecture).items()}
        nodes = sorted(int(key.partition("/")[2]) for key in one_hot if key.startswith("input_edges/"))
        edges = [one_hot["output_edges"], *(one_hot[f"input_edges/{node}"] for node in nodes)]
        listed = [one_hot["operations"][:, OPERATION_COLUMNS], *(row[None] for row in edges)]
        return [value.to(self.device) for value in listed]


class PublishedENAS(PublishedSampledSearch):
    """The published ENAS: sampling from its controller, which takes 300 steps of its own after every epoch."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        shape = types.SimpleNamespace(
            child_num_ops=3,
            child_num_cells=5,
            lstm_size=64,
            lstm_num_layers=1,
            lstm_keep_prob=0,
            temperature=5.0,
            controller_tanh_constant=2.5,
            controller_op_tanh_reduce=5.0,
        )
        module = import_module("optimizers.enas.micro_controller")
        module.int = lambda array: array.item()  # it makes integers of arrays (1,), which NumPy no longer allows
        self.controller = module.Controller(stand_in(self.space), shape).to(self.device)
        self.adam = torch.optim.Adam(self.controller.parameters(), 3.5e-4, betas=(0.1, 0.999), eps=1e-3)

    def other_actions(self, pair):
        """The controller's step too."""
        return {**super().other_actions(pair), "controller_step": lambda: self.controller_step(pair[1])}

    def how_often(self, size):
        """300 steps of the controller; 1,000 architectures on one batch, the best five on 10,000 images, one on one."""
        steps, evaluations = -(-IMAGES // size), 1000 + 5 * -(-10_000 // size) + 1
        return {"search_step": steps, "controller_step": 300, "evaluation_batch": evaluations}

    def controller_step(self, batch):
        """One REINFORCE step: a sampled architecture is scored on a batch. The baseline stands still here."""
        self.net.eval()
        self.adam.zero_grad()
        _, log_probability, entropy = self.controller()
        with torch.no_grad(), self.autocast():
            hits = self.logits(batch.images).argmax(1) == batch.labels
        reward = 100 * hits.float().mean() + 1e-4 * entropy
        (log_probability.sum() * reward).mean().backward()
        self.adam.step()
        self.net.train()
