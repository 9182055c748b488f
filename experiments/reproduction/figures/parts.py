"""The parts of which figures and tables are made: curves, panels, scales and poolings; names in titles and legends."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from nasbench1shot1.images import data_sets

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Curve:
    """One setting, which is run once for every seed.

    Attributes:
        key: the name of its folder, and its name in `--only`.
        label: its name in the legend.
        options: options of its runs, in addition to the options of the panel and of the scale.
    """

    key: str
    label: str
    options: Options


@dataclass(frozen=True)
class Panel:
    """The curves that are drawn together.

    Attributes:
        key: its name in `--only`.
        title: its title.
        options: options of the runs of all its curves.
        curves: the curves.
        own_folder: the name of the folder of its rankings, if this is not its key.
    """

    key: str
    title: str
    options: Options
    curves: tuple[Curve, ...]
    own_folder: str = ""

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return self.own_folder or self.key


@dataclass(frozen=True)
class Scale:
    """The runs of a figure at one scale: every curve of every panel under every seed.

    Attributes:
        panels: panels from left to right.
        options: options of all runs.
        seeds: seeds of every curve.
        by_optimizer: options for the runs of one optimizer, by its name.
        more_seeds: further seeds of some curves, by their keys; these runs come last. Given seeds replace both.
        kept_epochs: number of evenly spaced epochs after which searches save their weights; 1: only the last.
    """

    panels: tuple[Panel, ...]
    options: Options
    seeds: tuple[int, ...] = (0,)
    by_optimizer: Mapping[str, Options] = field(default_factory=dict)
    more_seeds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    kept_epochs: int = 0

    def options_of(self, panel: Panel, curve: Curve) -> dict[str, Any]:
        """Return the options of the runs of a curve."""
        own = {**panel.options, **curve.options}
        return {**self.options, **self.by_optimizer.get(own.get("optimizer", ""), {}), **own}

    def pairs(self) -> list[tuple[Panel, Curve]]:
        """Return every curve with its panel."""
        return [(panel, curve) for panel in self.panels for curve in panel.curves]

    def with_seeds(self, seeds: tuple[int, ...]) -> "Scale":
        """Return the scale with the same seeds for all curves."""
        return replace(self, seeds=seeds, more_seeds={})

    def by_seed(self) -> list[tuple[int, list[tuple[Panel, Curve]]]]:
        """Return every seed, in the order in which seeds run, with its curves and their panels."""
        pairs, further = self.pairs(), dict.fromkeys(seed for own in self.more_seeds.values() for seed in own)
        found = [(seed, pairs) for seed in self.seeds]
        return found + [
            (seed, [pair for pair in pairs if seed in self.more_seeds.get(pair[1].key, ())]) for seed in further
        ]


@dataclass(frozen=True)
class Pooling:
    """How the runs of a curve become one curve; `--spread` selects its band, as in all pictures of several runs.

    Attributes:
        over: the noun for the pooled runs.
        statistic: what the curve shows.
    """

    over: str = "seed"
    statistic: Literal["mean", "median"] = "mean"


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper.

    Attributes:
        source: its name in the paper; empty for a comparison that does not come from a paper.
        title: its subject.
        runs: the kind of the runs that it shows: a key of `kinds.KINDS`. Rankings need searches, and transfers studies.
        drawing: the class that reads and draws the runs, as "module:Class" in the package `results`.
        full, quick: the runs at the largest and the smallest scale.
        pooling: the pooling of the runs of a curve. None: the figure has no curves of several runs.
        setting: the paper's setting in words, for titles of figures at the quick scale.
        default_curves: patterns of the curves that are drawn by default. Default: all.
        needs_official: spaces that only an official table covers, each with advice for users without this table.
        takes_space: whether --space applies.
        fixed: options that differ between panels, so that users cannot set them for all panels.
        joins: the runs that --join adds: "studies" (of black-box optimizers) or "searches". Default: --join does not
            apply.
        shared_options: options that must have the same values in joined searches as in the figure's own.
        otherwise: the figure on a table that lacks what the searches observe (`observed.lacking`), if there is one.
        long: the runs at the long scale, if the figure has it.
        medium: the runs at the medium scale, if the figure has it.
        runs_of: the figure whose runs it shows, and in whose folder it is drawn. Default: it has runs of its own.
        note: how the runs of the figure differ from those of the paper, in a sentence for screens and captions.
        shows_parameters: whether it shows Λ, so that packed records need it (`records.pack`).
    """

    source: str
    title: str
    runs: str
    drawing: str
    full: Scale
    quick: Scale
    pooling: Pooling | None = Pooling()
    setting: str = ""
    default_curves: tuple[str, ...] = ()
    needs_official: Mapping[str, str] = field(default_factory=dict)
    takes_space: bool = False
    fixed: frozenset[str] = frozenset()
    joins: Literal["", "studies", "searches"] = ""
    shared_options: tuple[str, ...] = ()
    otherwise: "Figure | None" = None
    note: str = ""
    long: Scale | None = None
    medium: Scale | None = None
    runs_of: str = ""
    shows_parameters: bool = False

    @property
    def scales(self) -> dict[str, Scale]:
        """The scales by name, the largest first."""
        found = {"full": self.full, "long": self.long, "medium": self.medium, "quick": self.quick}
        return {name: scale for name, scale in found.items() if scale is not None}


SPACES = {
    "s1": "search space 1",
    "s2": "search space 2",
    "s3": "search space 3",
    "nb101": "NAS-Bench-101",
    "nb101-mini": "NAS-Bench-Mini",
    "nb201": "NAS-Bench-201",
    "nats-size": "NATS-Bench's size space",
}
"""Names of spaces in titles; other spaces keep their registered names."""
DATA_SETS = {name: known.title for name, known in data_sets.DATA_SETS.items()}
"""Names of data sets in titles."""
BELOW_FULL = ("long", "medium", "quick")
"""The scales below the largest at which one-shot methods are compared."""
METHODS = {"darts": "DARTS", "gdas": "GDAS", "pc-darts": "PC-DARTS", "enas": "ENAS", "random-ws": "Random WS"}
"""The one-shot optimizers of NAS-Bench-1Shot1, with their names in legends."""
NAMES = {
    **METHODS,
    "darts-second-order": "DARTS, second order",
    "snas": "SNAS",
    "setn": "SETN",
    "beta-darts": "β-DARTS",
    "drnas": "DrNAS",
    "gaea": "GAEA",
    "lambda-darts": "Λ-DARTS",
    "darts-pt": "DARTS-PT",
    "spos": "SPOS",
    "fair-darts": "FairDARTS",
    "rf-darts": "RF-DARTS",
    "sdarts-rs": "SDARTS-RS",
    "sdarts-adv": "SDARTS-ADV",
    "darts-minus": "DARTS-",
    "oles": "OLES",
    "idarts": "iDARTS",
    "is-darts": "IS-DARTS",
    "sgas": "SGAS",
    "drnas-progressive": "DrNAS, progressive",
    "tas": "TAS",
    "fbnetv2": "FBNetV2",
    "tunas": "TuNAS",
}
"""One-shot optimizers by their registered names, with the names from their papers for legends."""
LABELS = {
    "random": "random search",
    "regularized-evolution": "regularized evolution",
    "non-regularized-evolution": "non-regularized evolution",
    "reinforce": "REINFORCE",
    "local-search": "local search",
    "tpe": "TPE",
    "smac": "SMAC",
    "hyperband": "Hyperband",
    "bohb": "BOHB",
}
"""Names of black-box optimizers in legends; other optimizers keep their registered names."""


def space_panel(space: str, curves: tuple[Curve, ...], **options: Any) -> Panel:
    """Return the panel of a space."""
    return Panel(space, SPACES.get(space, space), {"space": space, **options}, curves)


def space_panels(spaces: Iterable[str], curves: tuple[Curve, ...], **options: Any) -> tuple[Panel, ...]:
    """Return the panels of several spaces, which have equal curves."""
    return tuple(space_panel(space, curves, **options) for space in spaces)


def method_curves(names: Iterable[str], labels: Mapping[str, str] = NAMES, **options: Any) -> tuple[Curve, ...]:
    """Return one curve per optimizer; optimizers without one of the `labels` keep their registered names."""
    return tuple(Curve(name, labels.get(name, name), {"optimizer": name, **options}) for name in names)
