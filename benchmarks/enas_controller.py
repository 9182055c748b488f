"""How fast ENAS's controller learns from accuracies of 64 images, under which settings; and what a draw of it costs.

python benchmarks/enas_controller.py > benchmarks/results/enas_controller.json

The accuracy is made up: an architecture of s1 is right on 0.70 + 0.05 · (its share of conv3x3) of all images, and 64 of
them are drawn. No supernet is involved. Takes some ten minutes.
"""

import json
import statistics
import time
from datetime import UTC, datetime

import numpy as np
import torch

import nasbench1shot1 as nb
from nasbench1shot1.one_shot_search.options import search_options
from nasbench1shot1.optimizers.enas import ENAS

STEPS, LOOKS, IMAGES, DRAWS = 15_000, (300, 3_000, 15_000), 64, 1_000
SPACE = nb.search_space("s1")
SETTINGS = {
    "corrected": {},
    "corrected, reward scale 1": {"controller_reward_scale": 1.0},
    "corrected, baseline from zero": {"controller_baseline_from_zero": True},
    "original": {"preset": "original"},
}


def method(options):
    hyperparameters = search_options({"optimizer": "enas", **options}).own
    return ENAS(SPACE, hyperparameters, torch.Generator().manual_seed(0), torch.device("cpu"))


def share_of_conv3x3(architectures):
    return np.array([np.mean(np.equal(arch.operations, 0)) for arch in architectures])


def drawn_share(controller):
    with torch.no_grad():
        samples = controller.sample(torch.Generator().manual_seed(1), DRAWS)
    return round(float(share_of_conv3x3(samples.architectures).mean()), 3)


def learning(options):
    """The share of conv3x3 among drawn operations after some numbers of steps."""
    enas, rng, draws = method(options), np.random.default_rng(0), torch.Generator().manual_seed(2)
    shares = {0: drawn_share(enas.controller)}
    for step in range(1, STEPS + 1):
        samples = enas.controller.sample(draws)
        accuracy = rng.binomial(IMAGES, 0.70 + 0.05 * share_of_conv3x3(samples.architectures)[0]) / IMAGES
        enas.reinforce([(samples, accuracy)], enas.baseline)
        if step in LOOKS:
            shares[step] = drawn_share(enas.controller)
    return shares


def seconds_per_draw(at_once):
    controller, draws, taken = method({}).controller, torch.Generator().manual_seed(0), []
    for _ in range(30):
        started = time.perf_counter()
        with torch.no_grad():
            controller.sample(draws, at_once)
        taken.append((time.perf_counter() - started) / at_once)
    return statistics.median(taken)


def main():
    torch.set_num_threads(1)
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "command": "python benchmarks/enas_controller.py",
        "torch": torch.__version__,
        "time_of_a_draw_one_by_one_over_64_at_once": round(seconds_per_draw(1) / seconds_per_draw(64), 1),
        "share_of_conv3x3_after_steps": {name: learning(options) for name, options in SETTINGS.items()},
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
