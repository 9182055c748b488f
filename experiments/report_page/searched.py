"""What searches preferred over the epochs: the cell of each epoch, its regret, and the mixing weights of Λ."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture, Bars
from nasbench1shot1.display.cells import describe_drawing, drawable_weights
from nasbench1shot1.display.colours import BLACK, LINES, curve_styles
from nasbench1shot1.display.layout import Layout
from nasbench1shot1.experiments.report_page.charts import line, rounded
from nasbench1shot1.experiments.rescoring import rescored_lines
from nasbench1shot1.ground.text import counted
from nasbench1shot1.one_shot_search.captions import selection_text
from nasbench1shot1.one_shot_search.entropy import learned_weights
from nasbench1shot1.one_shot_search.record import PARAMETERS, SearchRecord, known_space
from nasbench1shot1.runs.next_command import import_advice
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    import networkx

MOST_FRAMES = 2_000
"""Largest number of epochs of all searches of a page, which bounds its size."""
FEWEST_FRAMES = 2
Weights = Mapping[int, Mapping[str, NDArray[np.float64]]]
"""Mixing weights by epoch and key; NaN for excluded entries."""


def frames_per_search(searches: int) -> int:
    """Return how many epochs of each search a page shows at most."""
    return max(FEWEST_FRAMES, MOST_FRAMES // max(searches, 1))


def searched(run: SearchRecord, label: str, table: Table | None, most: int) -> dict[str, Any]:
    """Return the preferred architectures of a search and its mixing weights, as data for `charts.js`.

    Of an unfinished search, the epochs are those whose line and Λ are both complete.

    Args:
        run: a search with at least one line.
        label: its name on the page.
        table: the table that scores the architectures; None: the recorded regrets.
        most: the largest number of epochs; they are spread evenly, and include the first and the last. The epoch of
            the result is shown in any case.

    Raises OutOfDomainError if the table lacks an architecture.
    """
    lines = run.lines if table is None else rescored_lines(run, table)
    stored = run.architecture_parameters if (run.folder / PARAMETERS).exists() else {}
    recorded = min([len(lines), *map(len, stored.values())])
    spread = np.linspace(0, recorded - 1, min(most, recorded)).round()
    result, went_back = run.final_epoch, run.final_epoch < len(lines) - 1
    epochs: list[int] = np.unique(np.append(spread, min(result, recorded - 1))).astype(int).tolist()
    weights = learned_weights(run, epochs) if stored and recorded else {}
    found = [run.architectures[epoch] for epoch in epochs]
    texts = list(dict.fromkeys(map(str, found)))
    notes = [
        f"This page shows {len(epochs):,} of {counted(recorded, 'recorded epoch')}." if len(epochs) < recorded else "",
        f"The search stopped early: its result is the architecture of epoch {result}." if went_back else "",
        selection_text(lines[-1:]),
        _reading_note(run) if weights else "",
        "" if weights else _no_weights_text(run, bool(stored)),
    ]
    method = str(run.config["optimizer"]).rpartition(":")[2]
    shown = drawable_weights(run.architectures, weights)
    drawn = drawings(found, [shown.get(epoch) for epoch in epochs])
    return {
        "label": label,
        "epochs": epochs,
        "texts": texts,
        "of": [texts.index(str(arch)) for arch in found],
        "regrets": [_percent(lines[epoch]["test_regret"]) for epoch in epochs],
        "validation": [_percent(lines[epoch]["validation_regret"]) for epoch in epochs],
        "measured": _flags(lines[epoch]["test_measured"] for epoch in epochs),
        "validationMeasured": _flags(lines[epoch]["validation_measured"] for epoch in epochs),
        "lines": [line(curve_styles([method])[0]), line({"color": BLACK, "linestyle": LINES[1]})],
        "drawn": drawn,
        "meaning": _meaning(run, found, epochs, shown),
        "choices": _named(_choices(known_space(run.config["space"]), weights, epochs), drawn),
        "reading": run.describe_reading(max(epochs)) if weights else "",
        "notes": [note for note in notes if note],
    }


def _reading_note(run: SearchRecord) -> str:
    note = run.reading_note
    return f"{note} {import_advice('report', run.config['optimizer'])}" if note else ""


def _no_weights_text(run: SearchRecord, is_recorded: bool) -> str:
    return f"{run.config['optimizer']} does not learn Λ." if is_recorded else "Λ is not recorded."


def _meaning(run: SearchRecord, found: Sequence[Architecture], epochs: Sequence[int], weights: Weights) -> str:
    excludes = any(np.isnan(values).any() for of_epoch in weights.values() for values in of_epoch.values())
    said = describe_drawing(found, run.describe_reading(max(epochs)) if weights else "", excludes)
    return said and said[:1].upper() + said[1:].replace("\n", "; ") + "."


# Drawings -------------------------------------------------------------------------------------------------------------


def drawings(found: Sequence[Architecture], weights: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """Return the drawings of architectures of one space, with their mixing weights; None if they cannot be drawn."""
    graphs = [
        arch.drawn_graph() if of is None else arch.drawn_graph(of) for arch, of in zip(found, weights, strict=True)
    ]
    if all(graph is not None for graph in graphs):
        return _graphs([graph for graph in graphs if graph is not None])
    bars = [arch.drawn_bars() if of is None else arch.drawn_bars(of) for arch, of in zip(found, weights, strict=True)]
    if all(of is not None for of in bars):
        return _bars([of for of in bars if of is not None])
    return None


def _graphs(graphs: "Sequence[networkx.DiGraph[int]]") -> dict[str, Any]:
    """Return graphs with one layout: the places of all their edges, and for each graph what differs."""
    edges = sorted({edge for graph in graphs for edge in graph.edges})
    characters = [max(of.graph[name] for of in graphs) for name in ("node_characters", "edge_characters")]
    layout = Layout(len(graphs[0]), tuple(edges), *characters)
    (left, right), (bottom, top) = layout.limits
    return {
        "form": "graph",
        "limits": [left, right, bottom, top],
        "distance": layout.distance,
        "half": layout.half_width,
        "text": round(layout.vertex_text, 4),
        "edges": [
            [*edge, layout.sides[edge], round(layout.sides[edge] and layout.bulge(edge[1] - edge[0]), 4)]
            for edge in edges
        ],
        "frames": [_frame(graph, edges) for graph in graphs],
    }


def _frame(graph: "networkx.DiGraph[int]", edges: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Return what differs between the graphs of a search; the flags of edges and nodes are "1" or "0" each."""
    known = [graph.edges.get(edge) for edge in edges]
    labels = [of["label"] if of else "" for of in known]
    decided = {
        "decided": _flags(of.get("decided") for of in graph.nodes.values()),
        "framed": _flags(of and of["label"] and of.get("decided") for of in known),
    }
    return {
        "nodes": [of["label"] for of in graph.nodes.values()],
        "operations": [of["operation"] for of in graph.nodes.values()],
        "chosen": _flags(of and of["chosen"] for of in known),
        "present": _flags(known),
        "weights": [None if of is None else _thousandths(of["weight"]) for of in known],
        **{name: flags for name, flags in decided.items() if "1" in flags},
        **({"labels": labels} if any(labels) else {}),
    }


def _flags(values: Iterable[object]) -> str:
    return "".join("1" if value else "0" for value in values)


def _bars(bars: Sequence[Bars]) -> dict[str, Any]:
    first = bars[0]
    weights = [of.weights for of in bars]
    return {
        "form": "bars",
        "names": first.names,
        "kinds": first.kinds,
        "candidates": first.candidates,
        "unit": first.unit,
        "frames": [
            {
                "values": of.values,
                **({} if own is None else {"weights": [list(map(_thousandths, row)) for row in own.tolist()]}),
            }
            for of, own in zip(bars, weights, strict=True)
        ],
    }


# Λ --------------------------------------------------------------------------------------------------------------------


def _choices(space: OneShotSpace | None, weights: Weights, epochs: Sequence[int]) -> list[dict[str, Any]]:
    """Return the decisions of a search with the weights of their candidates, in thousandths, by epoch."""
    if not weights:
        return []
    if space is None:
        return _unnamed_choices(weights, epochs)
    found = []
    for choice in space.choices():
        if choice.entries > 1:
            said = [space.describe_entries(choice, [entry]).rpartition(": ") for entry in range(choice.entries)]
            values = [list(map(_thousandths, choice.of(weights[epoch]).tolist())) for epoch in epochs]
            entries = [entry for *_, entry in said]
            found.append({"name": said[0][0], "entries": entries, "values": values, "picks": choice.picks})
    return found


def _named(choices: list[dict[str, Any]], drawn: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return decisions about sizes with the names of their layers and the sizes; others as they are."""
    if drawn is None or drawn["form"] != "bars" or len(choices) != len(drawn["names"]):
        return choices
    sizes = [f"{size} {drawn['unit']}" for size in drawn["candidates"]]
    return [{**of, "name": name, "entries": sizes} for of, name in zip(choices, drawn["names"], strict=True)]


def _unnamed_choices(weights: Weights, epochs: Sequence[int]) -> list[dict[str, Any]]:
    """Return the decisions of a space whose module is not imported; its candidates have numbers."""
    found = []
    for key, values in weights[epochs[0]].items():
        for row in range(int(np.prod(values.shape[:-1], dtype=int))):
            of_epochs = [weights[epoch][key].reshape(-1, values.shape[-1])[row].tolist() for epoch in epochs]
            found.append(
                {
                    "name": key if values.ndim == 1 else f"{key}[{row}]",
                    "entries": list(map(str, range(values.shape[-1]))),
                    "values": [list(map(_thousandths, of_epoch)) for of_epoch in of_epochs],
                }
            )
    return found


def _thousandths(value: float) -> int | None:
    return None if np.isnan(value) else round(1000 * value)


def _percent(value: float | None) -> float | None:
    return None if value is None else rounded(100 * value)
