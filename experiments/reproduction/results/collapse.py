"""The study of DARTS's collapse on NAS-Bench-201: what its searches prefer and measure after every epoch.

A search *collapses to skip connections* if it ends with them on all six edges, as in NAS-Bench-201 (Dong and Yang 2020,
table 5). It *collapses to zeroized paths* if no path leads from the input to the output of its last cell.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.display.axes import label_epochs
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import (
    BLACK,
    BLUE,
    BROWN,
    EVERY,
    GREEN,
    LINES,
    MARKER_SIZE,
    MARKERS,
    ORANGE,
    PINK,
    SKY,
    VERMILION,
)
from nasbench1shot1.display.curves import OF_A_SHARE, UNLIMITED, Pooled, describe_band, draw_curve, pool_values
from nasbench1shot1.display.style import AnyStyle
from nasbench1shot1.experiments.comparison.rank_tests import SIGNIFICANT, rank_tests
from nasbench1shot1.experiments.reproduction.figures.collapse import BASE, SHORTER
from nasbench1shot1.experiments.reproduction.results.base import Place, SearchResults, in_front
from nasbench1shot1.ground.text import counted, counted_range
from nasbench1shot1.nasbench201.architecture import EDGES, NONE, OPERATIONS, EdgeArchitecture
from nasbench1shot1.one_shot_search.captions import provenance, scale_text
from nasbench1shot1.one_shot_search.record import Run
from nasbench1shot1.one_shot_search.regret_curve import MEAN_LABEL, MEAN_LOOK, draw_mean_regret

if TYPE_CHECKING:
    from nasbench1shot1.display import axes

Floats = NDArray[np.float64]
SKIP = OPERATIONS.index("skip_connect")
QUANTITIES = {
    "test_regret": OF_A_SHARE,
    "skips": (0.0, float(len(EDGES))),
    "zeroized": (0.0, float(len(EDGES))),
    "connected": OF_A_SHARE,
    "none_weight": OF_A_SHARE,
    "skip_weight": OF_A_SHARE,
    "one_shot_validation_error": OF_A_SHARE,
    "preferred_one_shot_error": OF_A_SHARE,
    "hessian_eigenvalue": UNLIMITED,
    "cell_alignment": UNLIMITED,
}
"""The columns of `measures` with their lowest and highest possible values."""
_WORDS = {
    "test_regret": "test regrets",
    "skips": "numbers of skip connections",
    "zeroized": "numbers of zeroized edges",
}
TESTED = tuple(_WORDS)
"""The final values that rank tests compare."""
COLOURS = (BLACK, VERMILION, SKY, BLUE, GREEN, PINK, ORANGE, BROWN)
DRAWN = {
    "test_regret": "test regret [%]",
    "skips": "skip connections",
    "zeroized": "zeroized edges",
    "hessian_eigenvalue": "Hessian's eigenvalue",
}
"""The quantities of the picture, with their labels."""


def measures(run: Run, frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the quantities that show a collapse, with a row for every epoch; the columns are `QUANTITIES`.

    Args:
        run: a search on a space of NAS-Bench-201.
        frame: its metrics on the table that scores it, as in `Run.metrics`.

    Returns:
        Regret and errors as fractions; the numbers of edges of the preferred cell with the operations skip_connect
        and none (`skips`, `zeroized`); whether its input and output are connected (0 or 1); the softmax weights of none
        and skip_connect, averaged over the edges (NaN where excluded); and the measurements of the search, NaN if it
        does not have them. The index is the epoch.
    """
    cells = cast("list[EdgeArchitecture]", run.architectures)
    weights = np.stack([of["operations"].mean(axis=0) for of in run.mixing_weights_of(frame["epoch"]).values()])
    own: dict[str, Any] = {
        "skips": [cell.operations.count(SKIP) for cell in cells],
        "zeroized": [cell.operations.count(NONE) for cell in cells],
        "connected": [cell.is_connected for cell in cells],
        "none_weight": weights[:, NONE],
        "skip_weight": weights[:, SKIP],
    }
    found = frame.assign(**own).set_index("epoch")
    return found.reindex(columns=list(QUANTITIES)).astype(np.float64)


class Collapse(SearchResults):
    """Regrets, operations and measurements of all finished searches, pooled over seeds."""

    HEADINGS = ("panel", "curve", "seeds", "final test regret [%]", "skips", "zeroized", "all skips", "no path")
    SMALL = "a reduced supernet on few images: the full scale may differ"

    @cached_property
    def measured(self) -> dict[Place, list[pandas.DataFrame]]:
        """The `measures` of every search, by panel and curve."""
        return {
            found.place: [measures(*pair) for pair in zip(found.runs, self.frames[found.place], strict=True)]
            for found in self.found
        }

    @cached_property
    def curves(self) -> dict[Place, dict[str, Pooled]]:
        """Every quantity over the epochs, pooled over seeds, by panel and curve."""
        found = {}
        for place, frames in self.measured.items():
            values = {name: np.stack([frame[name].to_numpy() for frame in frames]) for name in QUANTITIES}
            found[place] = {
                name: pool_values(frames[0].index, values[name], spread=self.spread, limits=limits)
                for name, limits in QUANTITIES.items()
            }
        return found

    @cached_property
    def last(self) -> dict[Place, pandas.DataFrame]:
        """The last row of every search's `measures`, by panel and curve."""
        return {place: pandas.concat([frame.tail(1) for frame in frames]) for place, frames in self.measured.items()}

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """A row for every panel, curve and epoch: mean and band (`<quantity>_low`, `_high`) of every quantity.

        `seeds` is the number of searches, and `steps` the number of weight steps so far.
        """
        frames = []
        for found in self.found:
            curves, config = self.curves[found.place], found.runs[0].config
            epochs = curves["test_regret"].at.astype(int)
            columns: dict[str, Any] = {"epoch": epochs, "steps": epochs * steps_per_epoch(config)}
            for name, curve in curves.items():
                columns |= {f"{name}_{of}": getattr(curve, of) for of in ("centre", "low", "high")}
            frame = pandas.DataFrame(columns).rename(columns=lambda name: name.replace("_centre", "_mean"))
            own = {"panel": found.panel.key, "curve": found.curve.key, "seeds": len(found.runs)}
            frames.append(in_front(frame, **own))
        return pandas.concat(frames, ignore_index=True)

    def further_tables(self) -> Mapping[str, pandas.DataFrame]:
        """Return `ends` and `rank_tests`."""
        return {"ends": self.ends, "rank-tests": self.rank_tests}

    @cached_property
    def ends(self) -> pandas.DataFrame:
        """A row for every panel and curve, with the values after the last epoch.

        `seeds` is the number of searches n, `all_skips` the share of them that ends with skip connections on all edges,
        and `no_path` the share that ends with zeroized paths. Every other quantity has its mean and its band.
        """
        rows = []
        for found in self.found:
            last, curves = self.last[found.place], self.curves[found.place]
            row: dict[str, Any] = {"panel": found.panel.key, "curve": found.curve.key, "seeds": len(last)}
            row |= {"epochs": int(last.index[0]), "all_skips": (last["skips"] == len(EDGES)).mean()}
            row["no_path"] = 1 - last["connected"].mean()
            for name, curve in curves.items():
                row |= {f"{name}_{of}": getattr(curve, at)[-1] for of, at in _ENDS.items()}
            rows.append(row)
        return pandas.DataFrame(rows)

    @cached_property
    def rank_tests(self) -> pandas.DataFrame:
        """The rank tests of every setting against the base, by final value, for each length of the searches.

        Holm's correction applies to the tests of one length and quantity.
        """
        frames = []
        for panel, curves in self.by_panel:
            for name in TESTED:
                samples = {found.curve.key: self.last[found.place][name].to_numpy() for found in curves}
                tests = rank_tests(samples, name, involving=[BASE]).rename(columns={"moment": "quantity"})
                frames.append(in_front(tests, panel=panel.key))
        return pandas.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)

    def rows(self) -> list[list[str]]:
        """Return the values after the last epoch of every curve."""
        return [
            [
                *(row["panel"], row["curve"], str(row["seeds"]), _with_band(row, "test_regret", 100.0)),
                *(_with_band(row, name) for name in ("skips", "zeroized")),
                *(f"{row[name] * row['seeds']:.0f} of {row['seeds']}" for name in ("all_skips", "no_path")),
            ]
            for _, row in self.ends.iterrows()
        ]

    def notes(self) -> list[str]:
        """Return what brackets mean, and which settings differ significantly from the base."""
        found = self.brackets_note(any(curve[name].is_cut for curve in self.curves.values() for name in TESTED))
        for (panel, quantity), own in self.rank_tests.groupby(["panel", "quantity"], sort=False):
            others = own.loc[own["p_holm"] < SIGNIFICANT, ["first", "second"]].to_numpy().ravel()
            names = ", ".join(name for name in others if name != BASE) or "none"
            tests = f"{counted(len(own), 'test')}, Mann–Whitney, Holm, p < {SIGNIFICANT}"
            words = f"settings whose final {_WORDS[str(quantity)]} differ from the base"
            found.append(f"{panel}: {words}: {names} ({tests})")
        return found

    def drawn(self, style: AnyStyle | None, colours: Mapping[str, str]) -> "axes.Figure":
        """Return the picture: a row for each length of the searches, and a column for each of `DRAWN`.

        Only the base has a band. Curves with other numbers of epochs than their row are drawn over their share of the
        search.
        """
        styles, is_cut = self._styles(colours), False
        with Canvas(len(self.by_panel), len(DRAWN), panel=(2.9, 2.0), sharey="col", style=style) as canvas:
            for (panel, curves), row in zip(self.by_panel, canvas.grid, strict=True):
                for ax, (name, label) in zip(row, DRAWN.items(), strict=True):
                    for found in curves:
                        is_base, curve = found.curve.key == BASE, self.curves[found.place][name]
                        curve = replace(curve, at=panel.options["epochs"] / curve.at[-1] * curve.at)
                        scale = 100.0 if name == "test_regret" else 1.0
                        look = styles[found.curve.key]
                        draw_curve(ax, curve, label=found.curve.label, style=look, scale=scale, has_band=is_base)
                        is_cut |= is_base and curve.is_cut
                    ax.set_ylabel(label)
                    if name in ("skips", "zeroized"):
                        ax.set_ylim(-0.2, len(EDGES) + 0.2)
                    ax.grid(alpha=0.25)
                    label_epochs(ax)
                row[0].set_title(panel.title, loc="left")
                if (mean := self.mean_regret(curves)) is not None:
                    draw_mean_regret(mean, row[0])
            legend: dict[str, dict[str, Any]] = {
                found.curve.label: styles[found.curve.key] for _, curves in self.by_panel for found in curves
            }
            legend[MEAN_LABEL] = MEAN_LOOK
            return canvas.finish(self._title(), self._caption(), legend=legend, band=self._band(is_cut))

    def _styles(self, colours: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        keys = list(dict.fromkeys(curve.key for _, curve in self.figure.full.pairs()))
        found = {}
        for number, (key, colour) in enumerate(zip(keys, COLOURS, strict=False)):
            line = LINES[0] if key == BASE else LINES[number % len(LINES)]
            width = 2.0 if key == BASE else 1.2
            look = {"marker": MARKERS[colour], "markersize": MARKER_SIZE, "markevery": EVERY}
            found[key] = {"color": colours.get(key, colour), "linestyle": line, "linewidth": width, **look}
        return found

    def _title(self) -> str:
        configs = [found.runs[0].config for found in self.found if found.curve.key == BASE]
        return self.title(scale_text(configs or [self.runs[0].config]).splitlines()[0])

    def _band(self, is_cut: bool) -> str:
        numbers = [len(found.runs) for found in self.found if found.curve.key == BASE]
        words = describe_band(self.spread, numbers, None, is_cut=is_cut)
        return words and f"{words}; bands of the base only"

    def _caption(self) -> str:
        measured = provenance(pandas.concat([frame["test_measured"] for frame in self.all_frames]))
        lines = [f"test regrets are {measured}; {self._seeds()}"]
        if any(found.curve.key == SHORTER for found in self.found):
            lines.append(f"{self.labels[SHORTER]}: two epochs are drawn as one, so that equal epochs have equal steps")
        return self.caption(*lines, frames=self.all_frames)

    def _seeds(self) -> str:
        """Return the numbers of seeds in words, of every curve over all panels."""
        numbers, by_words = dict[str, list[int]](), dict[str, list[str]]()
        for found in self.found:
            numbers.setdefault(found.curve.label, []).append(len(found.runs))
        for label, own in numbers.items():
            by_words.setdefault(counted_range(own, "seed"), []).append(label)
        if len(by_words) == 1:
            return next(iter(by_words))
        return "; ".join(f"{words}: {', '.join(labels)}" for words, labels in by_words.items())


_ENDS = {"mean": "centre", "low": "low", "high": "high"}


def steps_per_epoch(config: Mapping[str, Any]) -> int:
    """Return the number of weight steps of an epoch of a recorded search."""
    return -(-int(config["weight_images"]) // int(config["batch_size"]))


def _with_band(row: "pandas.Series[Any]", name: str, scale: float = 1.0) -> str:
    mean, low, high = (scale * row[f"{name}_{of}"] for of in ("mean", "low", "high"))
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]" if row["seeds"] > 1 else f"{mean:.2f}"
