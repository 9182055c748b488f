"""Record what the published code of NATS-Bench's size search computes, for tests that compare our code with it.

    python benchmarks/published_widths.py CHECKOUT tests/nats_size/published_widths.npz

`CHECKOUT` is a copy of D-X-Y/AutoDL-Projects at f46486e; nothing of it is kept here. Its supernet, GenericNAS301Model,
and its training loop, `search_func` of exps/NATS-algos/search-size.py, run unchanged on a CPU in float64. Packages that
they import but do not use here (torchvision, nats_bench) are replaced by empty modules, and `.cuda()` does nothing.

Weights and images come from NumPy's generator with a fixed seed (`values_of`), so that a test can draw them again. The
published code draws from global generators; every draw is recorded in the order in which it was made:

- `noise`: standard exponential draws, (8,) for each layer and pass of TAS and FBNetV2;
- `indices`: the sampled candidates, (2,) for each layer and pass of TAS, (1,) of TuNAS.

Recorded for each method ("tas", "mask_gumbel", "mask_rl"):

- `layer`: a layer's output after its transformation: the first reduction block's, at the first two images;
- `logits`: class scores of one training pass, and `gradient`: the gradient of Λ's loss;
- `lambdas`: Λ after each of ten steps of the loop, each of which trains the weights first, and then Λ;
- `classifier`: the classifier's weights after these steps; `running`: running means of the residual blocks;
- for TuNAS, `baseline`: the moving average after the steps.

For the warm-up: `warm_choices`, whether each layer had the full mask, and its mask otherwise, and `warm_logits`.
"""

import argparse
import logging
import random
import sys
import types
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import torch

NOT_USED = ("torchvision", "torchvision.datasets", "torchvision.transforms", "nats_bench")
METHODS = ("tas", "mask_gumbel", "mask_rl")
WIDTHS = [8, 16, 24, 32, 40, 48, 56, 64]
GENOTYPE = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|"
STEPS, BATCH, SIDE, CLASSES = 10, 4, 8, 10
TEMPERATURE = 1.7
WEIGHT_SGD = {"lr": 0.025, "momentum": 0.9, "weight_decay": 5e-4, "nesterov": True}
ADAM = {"lr": 3e-4, "betas": (0.5, 0.999), "eps": 1e-8}
WEIGHT_DECAY = {"tas": 1e-3, "mask_gumbel": 1e-3, "mask_rl": 0.0}
SPREAD = 0.5  # of Λ, so that the gradients of its entries differ
WARM_UP = 0.4  # probability of the full mask


def values_of(name, shape):
    """Return standard normal values that depend only on a name and a shape, float64."""
    return np.random.default_rng(list(name.encode())).standard_normal(shape)


def initial_weights(network):
    """Set every weight of a module to values that its name determines: small, and around 1 for batch norm's scales."""
    for name, parameter in network.named_parameters():
        drawn = torch.from_numpy(values_of(name, tuple(parameter.shape)))
        is_scale = parameter.dim() == 1 and name.endswith("weight")
        parameter.data = 1 + 0.1 * drawn if is_scale else drawn / max(parameter[0].numel(), 1) ** 0.5


def images_and_labels(name):
    """Return a batch of images (BATCH, 3, SIDE, SIDE), float64, and labels."""
    images = torch.from_numpy(values_of(f"images {name}", (BATCH, 3, SIDE, SIDE)))
    return images, torch.from_numpy(np.abs(values_of(f"labels {name}", BATCH) * 1e6).astype(np.int64) % CLASSES)


def load_published(checkout):
    """Return the published modules: the supernet's and the search script."""
    sys.path.insert(0, str(Path(checkout).resolve()))
    for name in NOT_USED:
        sys.modules[name] = Unused(name)
    torch.Tensor.cuda = lambda self, *_, **__: self
    torch.Tensor.t = lambda self: self.transpose(0, 1).contiguous()  # `obtain_accuracy` needs an earlier PyTorch's
    from xautodl.models.cell_searchs import CellStructure
    from xautodl.models.shape_searchs.generic_size_tiny_cell_model import GenericNAS301Model

    spec = spec_from_file_location("search_size", Path(checkout) / "exps/NATS-algos/search-size.py")
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    return CellStructure, GenericNAS301Model, script


class Unused(types.ModuleType):
    """A module of a package that is imported, but not used: each of its attributes is an empty class."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class Recorder:
    """Records the draws of the published code, which come from global generators."""

    def __init__(self):
        self.noise, self.indices = [], []

    def __enter__(self):
        self._exponential, self._multinomial = torch.Tensor.exponential_, torch.multinomial

        def exponential_(tensor, *arguments, **named):
            drawn = self._exponential(tensor, *arguments, **named)
            self.noise.append(drawn.detach().double().numpy().reshape(-1).copy())
            return drawn

        def multinomial(*arguments, **named):
            drawn = self._multinomial(*arguments, **named)
            self.indices.append(drawn.numpy().reshape(-1).copy())
            return drawn

        torch.Tensor.exponential_, torch.multinomial = exponential_, multinomial
        return self

    def __exit__(self, *_):
        torch.Tensor.exponential_, torch.multinomial = self._exponential, self._multinomial

    def arrays(self):
        """Return the recorded draws by name, without empty ones."""
        return {name: np.stack(drawn) for name in ("noise", "indices") if (drawn := getattr(self, name))}


def published_supernet(structures, model, method):
    network = model(WIDTHS, 5, structures.str2structure(GENOTYPE), CLASSES, False, False).double()
    initial_weights(network)
    network.set_algo(method)
    network._arch_parameters.data = SPREAD * torch.from_numpy(values_of("Λ", (5, len(WIDTHS))))
    network._masks = network._masks.double()
    network._tau = network._tau.double()
    network.set_tau(TEMPERATURE)
    return network.train()


def record_pass(network, method):
    """Return what one pass computes: a layer's output, class scores, and the gradient of Λ's loss."""
    images, labels = images_and_labels("pass")
    kept = {}
    hook = network._cells[3].register_forward_pre_hook(lambda _, inputs: kept.update(layer=inputs[0]))
    with Recorder() as draws:
        _, logits, log_probabilities = network(images)
    hook.remove()
    is_reward = method == "mask_rl"  # with an advantage of 2.5
    loss = -2.5 * sum(log_probabilities).sum() if is_reward else torch.nn.functional.cross_entropy(logits, labels)
    (gradient,) = torch.autograd.grad(loss, [network._arch_parameters])
    outputs = {"layer": kept["layer"][:2], "logits": logits, "gradient": gradient}
    return {**{name: value.detach().numpy() for name, value in outputs.items()}, **draws.arrays()}


def record_steps(network, method, script):
    """Return Λ after each step of the published loop, and what the steps leave behind."""
    batches = [(*images_and_labels(f"weights {i}"), *images_and_labels(f"Λ {i}")) for i in range(STEPS)]
    weights = torch.optim.SGD(network.weights, **WEIGHT_SGD)
    adam = torch.optim.Adam(network.alphas, weight_decay=WEIGHT_DECAY[method], **ADAM)
    lambdas, step = [], adam.step

    def recorded_step(*arguments, **named):
        step(*arguments, **named)
        lambdas.append(network._arch_parameters.detach().numpy().copy())

    adam.step = recorded_step
    scheduler = types.SimpleNamespace(update=lambda *_: None)
    logger, loss = types.SimpleNamespace(log=logging.debug), torch.nn.CrossEntropyLoss()
    script.RL_BASELINE_EMA = script.ExponentialMovingAverage(0.95)
    with Recorder() as draws:
        script.search_func(batches, network, loss, scheduler, weights, adam, True, method, "0", 1000, logger)
    left = {
        "lambdas": np.stack(lambdas),
        "classifier": network.classifier.weight.detach().numpy(),
        "running": np.stack([network._cells[i].conv_b.op[2].running_mean.numpy() for i in (2, 4)]),
    }
    if method == "mask_rl":
        left["baseline"] = np.array(script.RL_BASELINE_EMA.value)
    return {**left, **draws.arrays()}


def record_warm_up(network):
    """Return the masks of one pass in the warm-up, by their index, and its class scores."""
    chosen, real = [], random.randint
    network.set_warmup_ratio(WARM_UP)
    is_full, draw = [], random.random

    def recorded_random():
        drawn = draw()
        is_full.append(drawn < WARM_UP)
        if is_full[-1]:
            chosen.append(len(WIDTHS) - 1)
        return drawn

    def recorded_randint(low, high):
        chosen.append(real(low, high))
        return chosen[-1]

    random.random, random.randint = recorded_random, recorded_randint
    try:
        logits = network(images_and_labels("pass")[0])[1]
    finally:
        random.random, random.randint = draw, real
    return {"warm_choices": np.array(chosen), "warm_logits": logits.detach().numpy()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout")
    parser.add_argument("out")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    random.seed(0)
    torch.set_num_threads(1)
    structures, model, script = load_published(arguments.checkout)
    recorded = {}
    for method in METHODS:
        found = record_pass(published_supernet(structures, model, method), method)
        recorded |= {f"{method}/pass/{name}": value for name, value in found.items()}
        found = record_steps(published_supernet(structures, model, method), method, script)
        recorded |= {f"{method}/steps/{name}": value for name, value in found.items()}
    recorded |= record_warm_up(published_supernet(structures, model, "tas"))
    np.savez_compressed(arguments.out, **recorded)
    print({name: value.shape for name, value in recorded.items()})


if __name__ == "__main__":
    main()
