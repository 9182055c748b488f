"""Calls per second of `nb.objective`, for each form of a proposal, and of the same trainings without an objective.

    python benchmarks/objective_speed.py [--calls 20000] [--rounds 5] [--out results/objective_speed.json]

The forms take turns; the result is the median over the rounds, in microseconds per call. "trainings" draws the same
architectures from the table without a clock, checks or answers. "ConfigSpace per call" builds the configuration space
and a configuration for each call, as a first version did.
"""

import argparse
import datetime
import json
import statistics
import time
from pathlib import Path

import numpy as np

import nasbench1shot1 as nb
from nasbench1shot1.black_box_optimizer import Query


def measured(name, calls, rounds):
    """Return the median microseconds per call by the form of the proposals."""
    objective = nb.objective(name, evaluations=10**9)
    space, rng = objective.space, np.random.default_rng(0)
    archs = [space.sample(rng) for _ in range(calls)]
    vectors = np.array([objective.indices(arch) for arch in archs])
    mappings = [objective.configuration(arch) for arch in archs]
    configurations = objective.configuration_space.sample_configuration(calls)
    trainings, epochs = objective.repeats.trainings(rng), objective.default_epochs

    def built(mapping):
        from ConfigSpace import Configuration

        original = dict(zip(space.configuration_space(), mapping.values(), strict=True))
        configuration = Configuration(space.configuration_space(), values=original)
        return trainings(Query(space.from_configuration(configuration), epochs))

    forms = {
        "architecture": (objective, archs),
        "vector of indices": (objective, list(vectors)),
        "mapping": (objective, mappings),
        "ConfigSpace configuration": (objective, configurations),
        "trainings": (lambda arch: trainings(Query(arch, epochs)), archs),
    }
    if name == "nb201":
        forms["ConfigSpace per call"] = (built, mappings[: calls // 20])
    found = {form: [] for form in forms}
    for _ in range(rounds):
        for form, (function, proposals) in forms.items():
            started = time.process_time()
            for proposal in proposals:
                function(proposal)
            found[form].append(1e6 * (time.process_time() - started) / len(proposals))
    return {form: round(statistics.median(times), 1) for form, times in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = {
        "date": datetime.date.today().isoformat(),
        "unit": "µs of processor time per call, median",
        "calls": given.calls,
        "rounds": given.rounds,
        **{name: measured(name, given.calls, given.rounds) for name in ("s1", "nb201")},
    }
    print(json.dumps(found, indent=1, ensure_ascii=False))
    if given.out:
        given.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
