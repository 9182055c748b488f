"""Proposals of SMAC: with SMAC's own limit on the leaves of a tree, and with the limit that `proposers.smac` sets.

    OMP_NUM_THREADS=1 python benchmarks/smac_proposals.py

Both limits are timed in turns on the same observations, and give equal proposals. The ratio is the median time with
SMAC's limit, divided by the median time with ours.
"""

import datetime
import json
import os
import platform
import statistics
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
from hpbandster.core.dispatcher import Job
from smac import MultiFidelityFacade

from nasbench1shot1.proposers import smac
from nasbench1shot1.tuning.config_spaces import FOLDER, read_config_space

ROUNDS = 9
OBSERVATIONS = (20, 100, 280)
RESULT = Path(__file__).parent / "results" / "smac_proposals.json"


def trained_generator(name, observations):
    """Return a generator with random losses of random configurations; each of its proposals comes from the model."""
    space, losses = read_config_space(FOLDER / f"{name}.json"), np.random.default_rng(0).random(observations)
    generator = smac.SmacGenerator(space, seed=0)
    generator.random_fraction = 0.0
    space.seed(0)
    for configuration, loss in zip(space.sample_configuration(observations), losses, strict=True):
        job = Job((0, 0, 0), config=dict(configuration), budget=1)
        job.result = {"loss": float(loss)}
        generator.new_result(job)
    return generator


def default_forest(scenario, observations):
    return MultiFidelityFacade.get_model(scenario)


def timed(generator, forest, number):
    """Return a proposal, and its wall-clock and CPU seconds."""
    with patch.object(smac, "forest", forest):
        wall, cpu = time.perf_counter(), time.process_time()
        proposed = generator.get_config(1, (1, 0, number))
        return proposed, time.perf_counter() - wall, time.process_time() - cpu


def measured(name, observations):
    generator, ours = trained_generator(name, observations), smac.forest
    sides = {"ours": [], "smac": []}
    for number in range(ROUNDS):
        sides["ours"].append(timed(generator, ours, number))
        sides["smac"].append(timed(generator, default_forest, number))
        assert sides["ours"][-1][0] == sides["smac"][-1][0]
    row = {"config_space": name, "observations": observations}
    for place, unit in enumerate(("seconds", "cpu_seconds"), start=1):
        medians = {side: statistics.median(taken[place] for taken in rounds) for side, rounds in sides.items()}
        row[unit] = {side: round(value, 3) for side, value in medians.items()}
        row[unit]["ratio"] = round(medians["smac"] / medians["ours"], 2)
    return row


def main():
    rows = [measured(name, observations) for name in ("cs1", "cs3") for observations in OBSERVATIONS]
    about = {
        "date": datetime.date.today().isoformat(),
        "command": "OMP_NUM_THREADS=1 python benchmarks/smac_proposals.py",
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        "load_average": os.getloadavg(),
        "rounds": ROUNDS,
    }
    text = json.dumps({**about, "proposals": rows}, indent=2)
    RESULT.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
