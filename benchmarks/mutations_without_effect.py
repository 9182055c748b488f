"""Print how many mutations leave a cell's value in the table as it was (docs/reproduced_black_box.md, figure 8).

    python benchmarks/mutations_without_effect.py

For 20,000 random architectures of s1 and of s3: the share of children with the table's validation accuracy of their
parent, under the default mutation of regularized evolution and under `--mutation rate`.
"""

import numpy as np

import nasbench1shot1 as nb

ARCHITECTURES = 20_000
RATES = (0.5, 1, 2, 4)


def child_at_rate(space, arch, rate, rng):
    """Draw until a child is valid, as `--mutation rate` does."""
    while (child := space.mutate_each(arch, min(1, rate / len(space.variables())), rng)) is None:
        pass
    return child


def main():
    table = nb.load_table()
    for name in ("s1", "s3"):
        space, rng = nb.search_space(name), np.random.default_rng(0)
        parents = [space.sample(rng) for _ in range(ARCHITECTURES)]
        before = table.query(parents).validation_accuracy
        children = {"default": [space.published_mutate(arch, rng) for arch in parents]}
        for rate in RATES:
            children[f"rate {rate}"] = [child_at_rate(space, arch, rate, rng) for arch in parents]
        for mutation, found in children.items():
            equal = np.mean(table.query(found).validation_accuracy == before)
            print(f"{name}, {mutation}: {100 * equal:.0f} % of the children have their parent's value")


if __name__ == "__main__":
    main()
