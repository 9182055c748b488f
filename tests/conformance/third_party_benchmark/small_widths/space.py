"""The architectures of the benchmark, and the space that contains them all."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import networkx
import numpy as np
from ConfigSpace import Configuration, ConfigurationSpace, OrdinalHyperparameter

import nasbench1shot1 as nb
from nasbench1shot1.benchmark import Benchmark
from nasbench1shot1.ground.arguments import check_rng
from nasbench1shot1.space import Choice, Place, Weights
from small_widths.benchmark import BENCHMARK

WIDTHS = (1, 2, 3, 4)
"""The candidates: the number of quarters of a layer's channels that are used."""
STAGES = 3
_ALL = tuple(product(range(len(WIDTHS)), repeat=STAGES))


@dataclass(frozen=True, repr=False)
class WidthArchitecture(nb.Architecture):
    """An architecture: for each stage, the position of its width in `WIDTHS`."""

    benchmark: ClassVar[Benchmark] = BENCHMARK
    SYNTAX: ClassVar[str] = "space:width-width-width, for example widths:4-2-1"

    space: str
    widths: tuple[int, ...]

    @classmethod
    def from_text(cls, text: str) -> "WidthArchitecture | None":
        """Read text such as "widths:4-2-1"; return None for text in another form."""
        match = re.fullmatch(r"([\w-]+):([1-4])-([1-4])-([1-4])", text)
        return cls(match[1], tuple(WIDTHS.index(int(width)) for width in match.groups()[1:])) if match else None

    @property
    def network_id(self) -> str:
        """The text without the space."""
        return "-".join(str(WIDTHS[position]) for position in self.widths)

    def drawn_graph(self, weights: Mapping[str, Any] | None = None) -> networkx.DiGraph:
        """Return a chain: the input, a node for each stage, the output."""
        labels = ["input", *(f"{WIDTHS[position]} / {len(WIDTHS)}" for position in self.widths), "output"]
        graph = networkx.DiGraph(node_characters=6, edge_characters=0)
        for node, label in enumerate(labels):
            graph.add_node(node, label=label, operation=None)
        for node in range(len(labels) - 1):
            graph.add_edge(node, node + 1, label="", chosen=True, weight=1.0)
        return graph

    def __str__(self) -> str:
        return f"{self.space}:{self.network_id}"


class WidthSpace(nb.OneShotSpace):
    """All 64 architectures, ordered by their widths; the first width changes slowest."""

    name, id, kinds = "widths", "widths-v1", ("all", "unique")
    benchmark = BENCHMARK
    operation_key = "widths"
    layer_rows = (0, 0, 1, 1, 2, 2)  # stem and cell, then two pairs of reduction and cell

    def __len__(self) -> int:
        return len(_ALL)

    def __getitem__(self, index: int) -> WidthArchitecture:
        return WidthArchitecture(self.name, _ALL[self.checked_number(index)])

    def index(self, arch: nb.Architecture) -> int:
        """Return the number of an architecture."""
        self.check_architecture(arch)
        if not isinstance(arch, WidthArchitecture) or arch.space != self.name or arch.widths not in _ALL:
            raise nb.InvalidInputError(f"'{arch}' is not in {self.name}: write {WidthArchitecture.SYNTAX}")
        return _ALL.index(arch.widths)

    def count(self, kind: str, rule: str | None = None) -> int:
        """Return 64: all architectures are distinct."""
        if rule is not None:
            raise nb.InvalidInputError(f"'{kind}' has only one counting rule: remove the rule")
        return len(self.numbers(kind))

    def numbers(self, kind: str) -> range:
        """Return the numbers of all architectures."""
        self.check_kind(kind)
        return range(len(self))

    def sample(self, rng: np.random.Generator, loose_ends: bool = True) -> WidthArchitecture:
        """Draw an architecture uniformly."""
        check_rng(rng)
        return self[int(rng.integers(len(self)))]

    def neighbours(self, arch: nb.Architecture) -> Sequence[WidthArchitecture]:
        """Return the nine architectures that differ in one width."""
        now = _ALL[self.index(arch)]
        changed = [(*now[:i], w, *now[i + 1 :]) for i in range(STAGES) for w in range(len(WIDTHS)) if w != now[i]]
        return [WidthArchitecture(self.name, widths) for widths in changed]

    def mixing_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of `widths`: a row for each stage, a column for each candidate."""
        return {"widths": (STAGES, len(WIDTHS))}

    def choices(self) -> tuple[Choice, ...]:
        """Return one choice of a width for each stage."""
        return tuple(Choice("widths", stage, len(WIDTHS), 1) for stage in range(STAGES))

    def discretise(self, mixing: Weights) -> WidthArchitecture:
        """Return the architecture of the widths with the highest weights."""
        return WidthArchitecture(self.name, tuple(self.checked_mixing(mixing)["widths"].argmax(axis=1).tolist()))

    def one_hot(self, arch: nb.Architecture) -> dict[str, np.ndarray]:
        """Return mixing weights that are 1 for the chosen widths and 0 for all others."""
        return {"widths": np.eye(len(WIDTHS), dtype=np.float32)[list(_ALL[self.index(arch)])]}

    def is_mixed(self, place: Place) -> bool:
        """Return True for all places except the head: mixing weights scale the channels of their outputs."""
        return place.kind != "head"

    def weights_at(self, place: Place, mixing: Weights) -> Weights:
        """Return the mixing weights of the place's stage."""
        return {"widths": mixing["widths"][..., place.stage, :]}

    def operations_at(self, place: Place, operations: Sequence[int]) -> Sequence[int]:
        """Return the sampled width of the place's stage."""
        return operations[place.stage : place.stage + 1]

    def configuration_space(self) -> ConfigurationSpace:
        """Return a space with one ordinal hyperparameter for each stage."""
        space = ConfigurationSpace(name=self.id)
        space.add(OrdinalHyperparameter(f"width_{stage}", WIDTHS) for stage in range(STAGES))
        return space

    def from_configuration(self, configuration: "Configuration | Mapping[str, Any]") -> WidthArchitecture:
        """Return the architecture of a configuration."""
        values = dict(configuration)
        if set(values) != {f"width_{stage}" for stage in range(STAGES)} or not set(values.values()) <= set(WIDTHS):
            raise nb.InvalidInputError(f"{values!r} does not have a width of {WIDTHS} for each of {STAGES} stages")
        return WidthArchitecture(self.name, tuple(WIDTHS.index(values[f"width_{s}"]) for s in range(STAGES)))

    def to_configuration(self, arch: nb.Architecture) -> Configuration:
        """Return the configuration of an architecture."""
        values = {f"width_{stage}": WIDTHS[at] for stage, at in enumerate(_ALL[self.index(arch)])}
        return Configuration(self.configuration_space(), values=values)


SPACE = WidthSpace()
