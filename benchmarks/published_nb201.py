"""Record what the published searches of NAS-Bench-201 compute, for tests that compare our code with them.

    python benchmarks/published_nb201.py CHECKOUT tests/nasbench201/published_nb201.npz

`CHECKOUT` is a copy of D-X-Y/AutoDL-Projects at f46486e; nothing of it is kept here. Its supernets and the training
loops of exps/NAS-Bench-201-algos run unchanged on a CPU in float64, with two exceptions: old gradients are set to zero,
as in PyTorch before version 2, and the norm that clips the weights' gradients leaves out Λ's. The loop of GDAS starts
with zero gradients, as after steps that have used all weights. Weights and images come from
`published_widths.values_of`. The biases of the cells' convolutions, which the paper's code does not have, start at 0.

For the loops "darts", "gdas", "setn" and "random-ws", over `STEPS` steps:

- `lambdas`: Λ after each step; `classifier` and `stem`: these weights after the last step;
- `edge`: the 3×3 convolution of one edge after each step, which is not sampled in each of them;
- `noise`: standard exponential draws of each pass of GDAS; `paths`: operations (6,) of each sampled architecture;
- `evaluated`: class scores in evaluation mode after the steps, with statistics of the batch in the cells;
- `candidates`, `accuracies` and `best`: operations (6,) and accuracies in % of the architectures of a selection after
  the steps, each on the next of `SCORED` batches, and the operations of the selected one.

"gdas-steep" and "setn-steep" begin with `STEEP` times the classifier's weights. The norms of the gradients of Λ and of
the weights are then far above 5, the norm to which NAS-Bench-1Shot1 clips both.

For ENAS's controller, over two epochs: `decisions` and `accuracies` of all architectures, the weights' initial values,
the first `log_probabilities` and `entropies`, the final weights, and the `baselines` after the epochs; `rates` are the
learning rates of 25 epochs.

For the images of a search of CIFAR-10, from `get_datasets` and `get_nas_search_loaders`, with made-up pixels
(`pixels_of`) and torchvision's four transformations written out:

- `images/rows`, `images/draws` and `images/projections`: the first `FIRST` pairs of images of the search loader,
  for the weights and for Λ: their numbers (FIRST, 2) in the data set, whether each is flipped, and the top and left of
  its crop (FIRST, 2, 3), and a fixed projection of the pixels that the loop receives (FIRST, 2);
- `images/sizes` (batches, 2) of an epoch of this loader, and `images/distinct`: its number of different images of Λ;
- `images/scored-sizes` and `images/scored-distinct`: the same of an epoch of the loader of scored images, and
  `images/scored-draws`: the number of its random transformations.
"""

import argparse
import logging
import random
import sys
import types
from contextlib import contextmanager
from functools import reduce
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import torch
from published_widths import NOT_USED, Recorder, Unused, images_and_labels, initial_weights, values_of

SCRIPTS = {"darts": "DARTS-V1", "gdas": "GDAS", "setn": "SETN", "random-ws": "RANDOM-NAS", "enas": "ENAS"}
NETWORKS = {"darts": "DARTS-V1", "gdas": "GDAS", "setn": "SETN", "random-ws": "RANDOM", "enas": "ENAS"}
STEPS, CHANNELS, CLASSES, TEMPERATURE, SPREAD = 10, 4, 10, 1.7, 0.5
SEED = 15  # a convolution that the output does not reach counts as used; here, each is used before
CONTROLLER_STEPS, ARCHITECTURES, EPOCHS = 3, 4, 2
STEEP, STEEP_METHODS = 30.0, ("gdas", "setn")
CANDIDATES, SCORED = 6, 4
SELECTIONS = {"random-ws": "search_find_best", "setn": "get_best_arch"}
WEIGHT_SGD = {"lr": 0.025, "momentum": 0.9, "weight_decay": 5e-4, "nesterov": True}
ADAM = {"lr": 3e-4, "betas": (0.5, 0.999), "weight_decay": 1e-3}
CONTROLLER_ADAM = {"lr": 1e-3, "betas": (0.0, 0.999), "eps": 1e-3}
EDGE = "cells.0.edges.2<-1.3.op.1.weight"
FIRST, IMAGE = 150, (3, 32, 32)
SEARCH_BATCHES = (64, 512)  # images of a training step, and of a selection


def load_script(checkout, name):
    """Return a published search script as a module."""
    return load_file(Path(checkout) / f"exps/NAS-Bench-201-algos/{name}.py", f"published_{name}")


def load_file(path, name):
    spec = spec_from_file_location(name, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def published_supernet(method, statistics=False):
    from xautodl.models import get_cell_based_tiny_net, get_search_spaces

    space = get_search_spaces("cell", "nas-bench-201")
    sizes = {"C": CHANNELS, "N": 1, "max_nodes": 4, "num_classes": CLASSES, "space": space}
    config = {"name": NETWORKS[method], **sizes, "affine": False, "track_running_stats": statistics}
    network = get_cell_based_tiny_net(types.SimpleNamespace(**config)).double()
    initial_weights(network)
    for name, parameter in network.named_parameters():
        if "edges" in name and name.endswith("bias"):
            parameter.data.zero_()
    if hasattr(network, "arch_parameters"):
        network.arch_parameters.data = initial_lambda()
    if method == "gdas":
        network.set_tau(TEMPERATURE)
    return network.train()


def initial_lambda():
    """Return Λ (6, 5)."""
    return SPREAD * torch.from_numpy(values_of("Λ", (6, 5)))


def operations_of(network, structure):
    """Return the numbers of an architecture's operations, (6,)."""
    return [network.op_names.index(name) for node in structure.nodes for name, _ in node]


def record_loop(script, method, steep=1.0):
    """Return what the steps of a published loop compute."""
    network, lambdas, edges, paths = published_supernet(method), [], [], []
    network.classifier.weight.data *= steep
    if method == "gdas":
        for weight in network.get_weights():
            weight.grad = torch.zeros_like(weight)
    wrapped = torch.nn.DataParallel(network)  # without a GPU, it passes everything on
    is_learned = hasattr(network, "arch_parameters")
    weights = torch.optim.SGD(network.get_weights() if is_learned else network.parameters(), **WEIGHT_SGD)
    step = weights.step
    for name in ("dync_genotype", "random_genotype"):
        if hasattr(network, name):
            setattr(
                network, name, recorded(getattr(network, name), lambda of: paths.append(operations_of(network, of)))
            )

    def weight_step(*arguments, **named):
        step(*arguments, **named)
        edges.append(dict(network.named_parameters())[EDGE].detach().numpy().copy())

    weights.step = weight_step
    batches = [(*images_and_labels(f"weights {i}"), *images_and_labels(f"Λ {i}")) for i in range(STEPS)]
    scheduler = types.SimpleNamespace(update=lambda *_: None)
    given = [batches, wrapped, torch.nn.CrossEntropyLoss(), scheduler, weights]
    if is_learned:
        adam = torch.optim.Adam([network.arch_parameters], **ADAM)
        of_adam = adam.step

        def lambda_step(*arguments, **named):
            of_adam(*arguments, **named)
            lambdas.append(network.arch_parameters.detach().numpy().copy())

        adam.step = lambda_step
        given.append(adam)
    clip = [5.0] if method == "darts" else []
    random.seed(SEED)
    torch.manual_seed(SEED)
    with Recorder() as draws, clipped_without(getattr(network, "arch_parameters", None)):
        script.search_func(*given, "0", 1000, types.SimpleNamespace(log=logging.debug), *clip)
    left = {"classifier": network.classifier.weight.detach().numpy(), "edge": np.stack(edges)}
    left["stem"] = network.stem[0].weight.detach().numpy()
    left |= {"lambdas": np.stack(lambdas)} if lambdas else {}
    left |= {"paths": np.array(paths)} if paths else {}
    if method == "random-ws":
        left["evaluated"] = evaluated(network)
    if method in SELECTIONS and steep == 1:
        left |= record_selection(script, method, wrapped)
    return {**left, **draws.arrays()}


def record_selection(script, method, wrapped):
    """Return the candidates of a published selection, their accuracies, and the selected one."""
    drawn, accuracies, network = [], [], wrapped.module
    if method == "random-ws":
        network.random_genotype = recorded(network.random_genotype, drawn.append)
    else:
        network.return_topK = recorded(network.return_topK, drawn.extend)
    script.obtain_accuracy = recorded(script.obtain_accuracy, lambda found: accuracies.append(found[0].item()))
    batches = [images_and_labels(f"scored {i}") for i in range(SCORED)]
    best, _ = getattr(script, SELECTIONS[method])(batches, wrapped, CANDIDATES)
    candidates = [operations_of(network, of) for of in drawn]
    found = {"candidates": candidates, "accuracies": accuracies, "best": operations_of(network, best)}
    return {name: np.array(value) for name, value in found.items()}


@contextmanager
def clipped_without(parameters):
    """Let `clip_grad_norm_` leave out a tensor."""
    real = torch.nn.utils.clip_grad_norm_
    torch.nn.utils.clip_grad_norm_ = lambda given, norm: real([one for one in given if one is not parameters], norm)
    try:
        yield
    finally:
        torch.nn.utils.clip_grad_norm_ = real


def recorded(function, record):
    def called(*arguments, **named):
        result = function(*arguments, **named)
        record(result)
        return result

    return called


@torch.no_grad()
def evaluated(network):
    """Return class scores of the last architecture in evaluation mode."""
    _, logits = network.eval()(images_and_labels("evaluation")[0])
    return logits.numpy()


def record_controller(script):
    """Return what two epochs of the published training of the controller compute."""
    network = torch.nn.DataParallel(published_supernet("enas"))
    controller = network.module.create_controller().double()
    for name, parameter in controller.named_parameters():
        parameter.data = 0.3 * torch.from_numpy(values_of(name, tuple(parameter.shape)))
    first = {f"initial/{name}": value.detach().numpy().copy() for name, value in controller.named_parameters()}
    log_probabilities, entropies, decisions, accuracies, baselines = [], [], [], [], []

    def record_samples(drawn):
        log_probabilities.append(drawn[0].item())
        entropies.append(drawn[1].item())
        decisions.append(drawn[2])

    controller.forward = recorded(controller.forward, record_samples)
    script.obtain_accuracy = recorded(script.obtain_accuracy, lambda found: accuracies.append(found[0].item() / 100))
    adam = torch.optim.Adam(controller.parameters(), **CONTROLLER_ADAM)
    batches = [images_and_labels(f"controller {i}") for i in range(5)]
    settings = {"ctl_train_steps": CONTROLLER_STEPS, "ctl_num_aggre": ARCHITECTURES, "ctl_entropy_w": 1e-1,
                "ctl_bl_dec": 0.9}  # fmt: skip
    torch.manual_seed(0)
    baseline, loss, logger = None, torch.nn.CrossEntropyLoss(), types.SimpleNamespace(log=logging.debug)
    for _ in range(EPOCHS):
        config = types.SimpleNamespace(baseline=baseline, **settings)
        *_, baseline = script.train_controller(batches, network, controller, loss, adam, config, "0", 1000, logger)
        baselines.append(baseline)
    last = {f"final/{name}": value.detach().numpy() for name, value in controller.named_parameters()}
    lists = {"log_probabilities": log_probabilities, "entropies": entropies, "decisions": decisions}
    lists |= {"accuracies": accuracies, "baselines": baselines}
    return {**first, **last, **{name: np.array(values) for name, values in lists.items()}}


def record_rates():
    """Return the published learning rate of ENAS's first 25 epochs."""
    from xautodl.procedures.optimizers import CosineAnnealingLR

    sgd = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.05)
    scheduler, rates = CosineAnnealingLR(sgd, 0, 250, 10, 0.0005), []
    for epoch in range(25):
        scheduler.update(epoch, 0.0)
        rates.append(scheduler.get_lr()[0])
    return np.array(rates)


def pixels_of(number):
    """Return the pixels of an image, uint8 (32, 32, 3), which depend only on its number in the data set."""
    return np.random.default_rng(number).integers(0, 256, (32, 32, 3), np.uint8)


def projected(images):
    """Return a fixed projection of each image (N, 3, 32, 32) to a number, (N,)."""
    return np.tensordot(np.asarray(images, np.float64), values_of("projection", IMAGE), 3)


def transformations(draws):
    """Return torchvision's transformations that the published code uses, on arrays (H, W, 3) in place of PIL images.

    They append their random numbers to the list `draws`.
    """

    def drawn(end):
        draws.append(int(torch.randint(end, ())))
        return draws[-1]

    def compose(steps):
        return lambda image: reduce(lambda of, step: step(of), steps, image)

    def random_horizontal_flip():
        return lambda image: image[:, ::-1] if drawn(2) else image

    def random_crop(size, padding):
        def crop(image):
            padded = np.pad(image, ((padding, padding), (padding, padding), (0, 0)))
            top, left = drawn(2 * padding + 1), drawn(2 * padding + 1)
            return padded[top : top + size, left : left + size]

        return crop

    def to_tensor():
        return lambda image: torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)) / 255)

    def normalize(mean, std):
        mean, std = (torch.tensor(values, dtype=torch.float64)[:, None, None] for values in (mean, std))
        return lambda image: (image - mean) / std

    made = {"Compose": compose, "RandomHorizontalFlip": random_horizontal_flip, "RandomCrop": random_crop}
    return types.SimpleNamespace(**made, ToTensor=to_tensor, Normalize=normalize)


class MadeUpImages:
    """A data set with as many images as CIFAR-10, whose images are `pixels_of` their numbers."""

    def __init__(self, root, train, transform, download):
        self.images, self.transform, self.rows = 50_000 if train else 10_000, transform, []

    def __len__(self):
        return self.images

    def __getitem__(self, number):
        self.rows.append(number)
        return self.transform(pixels_of(number)), number % CLASSES


def record_images(checkout):
    """Return which images the published loaders give to a search, and how they are augmented."""
    import torchvision

    draws = []
    torchvision.transforms, torchvision.datasets = transformations(draws), types.SimpleNamespace(CIFAR10=MadeUpImages)
    code = load_file(checkout / "xautodl/datasets/get_dataset_with_transform.py", "xautodl.datasets.recorded")
    data, tests, *_ = code.get_datasets("cifar10", "", -1)
    random.seed(SEED)
    torch.manual_seed(SEED)
    searched, _, scored = code.get_nas_search_loaders(
        data, tests, "cifar10", checkout / "configs/nas-benchmark", SEARCH_BATCHES, 0
    )
    values, sizes = [], []
    for images, _, images_of_lambda, _ in searched:
        sizes.append((len(images), len(images_of_lambda)))
        if len(values) < FIRST:
            values.extend(np.stack([projected(images), projected(images_of_lambda)], axis=1))
    rows, drawn = np.array(data.rows).reshape(-1, 2), np.array(draws).reshape(-1, 2, 3)
    draws.clear()
    scored_sizes = [len(images) for images, _ in scored]
    found = {
        "rows": rows[:FIRST],
        "draws": drawn[:FIRST],
        "projections": np.array(values[:FIRST]),
        "sizes": np.array(sizes),
        "distinct": len(np.unique(rows[:, 1])),
        "scored-sizes": np.array(scored_sizes),
        "scored-distinct": len(np.unique(scored.dataset.rows)),
        "scored-draws": len(draws),
    }
    return {f"images/{name}": np.asarray(value) for name, value in found.items()}


def set_gradients_to_zero():
    """Let `zero_grad` keep gradients, with zeros, as before PyTorch 2."""
    for kind in (torch.optim.Optimizer, torch.nn.Module):
        real = kind.zero_grad
        kind.zero_grad = lambda self, real=real: real(self, set_to_none=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.checkout.resolve()))
    for name in (*NOT_USED, "nas_201_api"):
        sys.modules[name] = Unused(name)
    torch.Tensor.cuda = lambda self, *_, **__: self
    torch.Tensor.t = lambda self: self.transpose(0, 1).contiguous()  # `obtain_accuracy` needs an earlier PyTorch's
    set_gradients_to_zero()
    found = {}
    for method in SCRIPTS:
        script = load_script(arguments.checkout, SCRIPTS[method])
        kept = record_controller(script) if method == "enas" else record_loop(script, method)
        found |= {f"{method}/{name}": value for name, value in kept.items()}
        if method in STEEP_METHODS:
            found |= {f"{method}-steep/{name}": value for name, value in record_loop(script, method, STEEP).items()}
    found["enas/rates"] = record_rates()
    found |= record_images(arguments.checkout)
    np.savez_compressed(arguments.out, **found)
    print(f"{arguments.out}: {len(found)} arrays, {arguments.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
