"""`nb1shot1 reproduce`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

GIVEN = ("epochs", "images", "preset", "table", "device", "threads", "precision", "compile")
"""Options of every search of a figure; those that are given win over the figure's own."""


@dataclass(frozen=True)
class Reproduce:
    """Run the searches behind a figure of NAS-Bench-1Shot1, several at once, and draw it; lists them without a name.

    The same command again goes on where the last one stopped; finished searches are kept.
    """

    figure: Annotated[
        tyro.conf.Positional[str | None],
        tyro.conf.arg(metavar="[FIGURE]", help_behavior_hint="(default: list the figures)"),
    ] = None
    """figure2, figure4 or figure7 to figure13."""
    scale: str = "full"
    """full: the paper's setting, for GPUs; quick: minutes on a CPU, and too small to rank methods."""
    out: Path | None = None
    """Folder of searches, picture and CSV; reproduce/FIGURE-SCALE if not given."""
    only: str | None = None
    """Parts of the figure: panels, curves or panel/curve, as in s1,s2/gdas; * stands for anything. Drawn into files of
    their own."""
    seeds: str | None = None
    """0-5, or 1,3,8; full: 0-5, quick: 0-1 if not given."""
    workers: int | None = None
    """Number of searches at the same time. Default: one per GPU, or as many as the cores have room for."""
    scheduler: str | None = None
    """Address of a dask scheduler, for example tcp://host:8786, whose workers run the searches. Default: this machine.
    """
    dry_run: bool = False
    """List the curves and how long they would take, and stop."""
    epochs: int | None = None
    """Search epochs; the figure's if not given."""
    images: str | None = None
    """Image set, as in nb1shot1 search."""
    preset: str = "corrected"
    """corrected, or original for the published code's faults."""
    table: str | None = None
    """Table to score on, by folder or name; finished searches are scored on it, too."""
    device: str = "auto"
    """auto, cpu, cuda (spread over all GPUs), cuda:1, …"""
    threads: int = 1
    """CPU threads of each search; part of what makes one repeatable."""
    precision: str = "float32"
    """float32 or bfloat16."""
    compile: bool = False
    """Compile the supernet with torch.compile."""

    named: tyro.conf.Suppress[frozenset[str]] = frozenset()
    """Names of the options that were given, which `cli` fills in."""

    def run(self) -> None:
        """Search and draw."""
        if self.figure is None:
            _list()
            return
        from nasbench1shot1.commands.search import parse_seeds
        from nasbench1shot1.experiments.reproduction.reproducing import reproduce

        reproduce(
            self.figure,
            scale=self.scale,
            out=self.out,
            only=() if self.only is None else self.only.split(","),
            seeds=parse_seeds(self.seeds) if self.seeds else None,
            workers=self.workers,
            scheduler=self.scheduler,
            dry_run=self.dry_run,
            **{name: getattr(self, name) for name in GIVEN if name in self.named},
        )


def _list() -> None:
    from nasbench1shot1.experiments.reproduction.figures import FIGURES, SCALES

    for name, figure in FIGURES.items():
        curves = len(figure.pairs())
        runs = " | ".join(
            f"{scale}: {curves * len(size.seeds)} × {figure.epochs_at(scale)} epochs" for scale, size in SCALES.items()
        )
        print(f"{name:<9} {figure.title:<38} {runs}")
    print("\n90 × 50 epochs: 90 searches of 50 epochs each; full: the paper's setting, quick: minutes on a CPU")
    print("nb1shot1 reproduce FIGURE --scale quick")
