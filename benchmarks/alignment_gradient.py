"""The norms of the alignment gradient and of the loss gradient in short searches with Λ-DARTS.

    python benchmarks/alignment_gradient.py [--epochs 6]

Prints, for every epoch of a search on nb201 and s1 at the quick scale, the median norms of both gradients of the
weights, and the mean cosine between the cells' gradients of the mixing weights, which the alignment increases.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.optimizers.lambda_darts import LambdaDARTS


class Measured(LambdaDARTS):
    """Λ-DARTS that notes the norms of both gradients and the cosine in every step."""

    name = "measured"
    steps: list[tuple[float, float, float]] = []  # noqa: RUF012

    def adjust_gradients(self, step):
        """Add the alignment gradient to the loss gradient, and record both norms and the cosine."""
        before = {name: weight.grad.clone() for name, weight in step.weights.items() if weight.grad is not None}
        cells = len(step.mixing.weights)
        leaves = [torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in step.mixing.tensors()]
        units = torch.nn.functional.normalize(torch.cat([leaf.flatten() for leaf in leaves]).view(cells, -1))
        cosine = (units @ units.T)[np.triu_indices(cells, 1)].mean()
        super().adjust_gradients(step)
        added = torch.cat([(step.weights[name].grad - old).flatten() for name, old in before.items()])
        loss = torch.cat([old.flatten() for old in before.values()])
        self.steps.append((loss.norm().item(), added.norm().item(), cosine.item()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=6)
    epochs = parser.parse_args().epochs
    print("| space | epoch | norm, loss | norm, alignment | cosine |\n|---|---:|---:|---:|---:|")
    for space in ("nb201", "s1"):
        Measured.steps.clear()
        with tempfile.TemporaryDirectory() as folder:
            quiet = Console(quiet=True)
            nb.search(Measured, space=space, scale="quick", epochs=epochs, out=Path(folder) / "run", console=quiet)
        for epoch, values in enumerate(np.array_split(np.array(Measured.steps), epochs), start=1):
            loss, added, _ = np.median(values, axis=0)
            print(f"| {space} | {epoch} | {loss:.2f} | {added:.2f} | {values[:, 2].mean():.2f} |")


if __name__ == "__main__":
    main()
