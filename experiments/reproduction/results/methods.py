"""The table of one-shot methods on several spaces: final and best-seen regret, anytime regret, rank tests, cost.

An architecture is *looked up* when its table values are read. A search of E epochs prefers E + 1 architectures, one
after every epoch and one before the first. The *best-seen* architecture is the one among them with the lowest
validation error in the table. Random sampling with E + 1 look-ups draws as many architectures uniformly, with
replacement, and takes the one with the lowest validation error. The distribution of its regret is computed from the
table, not simulated. On s1, s2 and s3, several architectures can have the same cell, so some cells are drawn more often
than others, as by random mixing weights or by Random WS. With one look-up, the mean regret of random sampling therefore
differs from the *mean over the space*, which counts every distinct network once.

A table without validation accuracies, such as the bundled one of NATS-Bench's size space, has no best-seen regrets. On
that space, always choosing the largest network is a second baseline (`Benchmark.has_largest_baseline`).
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.display.axes import label_log_axis
from nasbench1shot1.display.canvas import Canvas
from nasbench1shot1.display.colours import BLACK, curve_styles
from nasbench1shot1.display.curves import LEVEL_COLOUR, LEVEL_LOOK, Pooled, log_floor, pool_values
from nasbench1shot1.display.style import AnyStyle, tones
from nasbench1shot1.evaluator import Baseline, scores_on_other_datasets
from nasbench1shot1.experiments.comparison.rank_tests import FEWEST, SIGNIFICANT, Distribution, rank_tests
from nasbench1shot1.experiments.reproduction.figures.parts import Curve, Panel, space_panel
from nasbench1shot1.experiments.reproduction.joining import rows_of
from nasbench1shot1.experiments.reproduction.results.base import Found, Place, SearchResults, in_front
from nasbench1shot1.ground.text import counted
from nasbench1shot1.one_shot_search.captions import option_texts, provenance, scale_text
from nasbench1shot1.one_shot_search.options import non_default_options
from nasbench1shot1.one_shot_search.regret_curve import baseline_of, other_regrets
from nasbench1shot1.registry import one_shot_space
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    from nasbench1shot1.display import axes
    from nasbench1shot1.tables.table import Table

Floats = NDArray[np.float64]
FINAL, BEST, ANYTIME = MEASURES = ("final", "best_seen", "anytime")
"""Test regret of the last architecture, of the best-seen one, and the mean over all epochs of the preferred one."""
WORDS: Mapping[str, str] = {FINAL: "final", BEST: "best-seen", ANYTIME: "anytime"}
"""The measures in words."""
RANDOM = "random sampling"
RANDOM_LOOKS: Mapping[str, Mapping[str, Any]] = {
    FINAL: {"color": BLACK, "linestyle": ":", "linewidth": 1.2},
    BEST: {"color": BLACK, "linestyle": "--", "linewidth": 1},
}
"""Properties of the lines of random sampling: with one look-up, and with as many as a search."""
MOST_OF_RANDOM = 5.0
"""The axis is logarithmic if a band exceeds this multiple of the mean regret of random architectures."""


def measures(frame: pandas.DataFrame) -> dict[str, float]:
    """Return the test regrets of a search, as fractions; the best-seen one is NaN without validation regrets.

    Args:
        frame: the metrics of a search, as in `Run.metrics`.
    """
    regrets, validation = (frame[f"{split}_regret"].to_numpy(np.float64) for split in ("test", "validation"))
    best = float("nan") if np.isnan(validation).all() else float(regrets[np.nanargmin(validation)])
    return {FINAL: float(regrets[-1]), BEST: best, ANYTIME: float(regrets.mean())}


def random_sampling(table: "Table", space: OneShotSpace, dataset: str | None, lookups: int) -> Distribution:
    """Return the distribution of the test regret of a random search, as fractions.

    Args:
        table: the table that scores the search.
        space: the space, from whose architectures each look-up draws one with equal probability; those without table
            values are left out.
        dataset: the data set.
        lookups: number of architectures of the search, which returns the one with the lowest validation error; among
            several with equal errors, each is equally probable.

    Raises OutOfDomainError if `lookups` is above 1 and the table has no validation accuracies.
    """
    objective = table.objective(dataset)
    wanted = [(objective.test_metric, objective.test)]
    if lookups > 1:
        wanted.insert(0, (objective.validation_metric, objective.validation))
    known = []
    for metric, of in wanted:
        rows, regrets = table.regrets(space.name, metric, of)
        known.append(pandas.Series(regrets, index=rows))
    networks = pandas.concat(known, axis=1, join="inner")
    counts = space.count_architectures(table.hashes(networks.index.to_numpy()))
    values = networks.to_numpy(np.float64)
    _, places = np.unique(values[:, 0], return_inverse=True)
    of_rank = np.bincount(places, counts)
    # Per rank of the validation error: a search returns this rank if no draw is better, but not all draws are worse
    not_better = np.append(of_rank[::-1].cumsum()[::-1], 0) / counts.sum()
    returned = -np.diff(not_better**lookups)
    return Distribution(values[:, -1], (returned / of_rank)[places] * counts)


class MethodTable(SearchResults):
    """Regrets, rank tests and costs of all finished searches, scored on one table."""

    WHOLE = ("space", "method")
    HEADINGS = ("space", "method", "seeds", "final test regret [%]", "best seen [%]", "anytime [%]", "seconds")
    SMALL = "searches this small show how the methods run and what they cost, but hardly how they rank"

    @classmethod
    def with_joined(cls, found: Sequence[Found], joined: Sequence[RunRecord]) -> Sequence[Found]:
        """Return the curves of the figure, and then one for each row of joined searches on each space."""
        panels, own = {of.panel.options["space"]: of.panel for of in found}, []
        for row in rows_of(joined, {of.curve.key for of in found}):
            curve = Curve(row.name, row.name, {"optimizer": row.optimizer})
            for space in dict.fromkeys(run.config["space"] for run in row.searches):
                panel = panels.get(space) or space_panel(space, ())
                runs = [run for run in row.searches if run.config["space"] == space]
                own.append(Found(panel, curve, runs, is_joined=True))
        return [*found, *own]

    @cached_property
    def samples(self) -> dict[Place, dict[str, Floats]]:
        """The values of each measure, one per seed, by panel and curve."""
        found = {}
        for panel, curve in (each.place for each in self.found):
            own = self.searches[(self.searches["panel"] == panel) & (self.searches["curve"] == curve)]
            found[panel, curve] = {name: own[name].to_numpy(np.float64) for name in MEASURES}
        return found

    @cached_property
    def pooled(self) -> dict[Place, dict[str, Pooled]]:
        """Mean and band of each measure over the seeds, by panel and curve."""
        return {
            place: {name: pool_values([0], values[:, None], spread=self.spread) for name, values in own.items()}
            for place, own in self.samples.items()
        }

    @cached_property
    def baselines(self) -> dict[str, dict[str, Distribution]]:
        """The distributions of random sampling by panel: with one look-up, and with as many as a search has.

        The latter is missing if the table has no validation accuracies.
        """
        found = {}
        for panel, curves in self.by_panel:
            config = curves[0].runs[0].config
            space, lookups = one_shot_space(config["space"]), {FINAL: 1}
            if any(frame["validation_regret"].notna().any() for frame in self._frames_of(curves)):
                lookups[BEST] = len(self.frames[curves[0].place][0])
            found[panel.key] = {
                name: random_sampling(self.table, space, config["dataset"], number) for name, number in lookups.items()
            }
        return found

    @cached_property
    def largest(self) -> dict[str, tuple[Baseline, float]]:
        """The baseline of always choosing the largest network, and its test regret, by panel.

        Panels without this baseline are left out.
        """
        found = {}
        for panel, curves in self.by_panel:
            run = curves[0].runs[0]
            baseline = baseline_of(run.baseline, run.config, self.table, run.config["space"])
            if baseline is not None and baseline.test_regret is not None:
                found[panel.key] = baseline, baseline.test_regret
        return found

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """A row for every panel and curve, with regrets as fractions; the last rows of a panel are the baselines.

        The regrets of baselines are computed from the table, without any search; their number of seeds is 0.

        For each of `MEASURES`, the columns are `<measure>_mean`, `_std` (n - 1), `_low` and `_high` (the band). Then
        follow the share of final regrets that are measured, the mean seconds of a search, and the mean final test
        regret on every other data set.
        """
        return pandas.DataFrame([row for panel, curves in self.by_panel for row in self._rows_of(panel, curves)])

    def _rows_of(self, panel: Panel, curves: Sequence[Found]) -> list[dict[str, Any]]:
        rows = []
        for found in curves:
            own, last = self.pooled[found.place], self.final_rows[found.place]
            row: dict[str, Any] = {"panel": panel.key, "curve": found.curve.key, "seeds": len(last)}
            for name in MEASURES:
                of_measure = own[name].frame.iloc[0]
                ends = ("low", "high") if len(last) > 1 else ()  # one search has no interval
                row |= {f"{name}_{of}": float(of_measure[of]) for of in ("mean", "std", *ends)}
            row |= {"final_measured": last["test_measured"].mean(), "seconds": last["search_seconds"].mean()}
            rows.append(row | {f"final_{name}": last[name].mean() for name in other_regrets(last)})
        return [*rows, *self._baseline_rows(panel, curves)]

    def _baseline_rows(self, panel: Panel, curves: Sequence[Found]) -> list[dict[str, Any]]:
        config, last = curves[0].runs[0].config, self.final_rows[curves[0].place]
        suffix = "_test_regret"
        others = [name.removesuffix(suffix) for name in other_regrets(last)]
        sampled: dict[str, Any] = {"panel": panel.key, "curve": RANDOM, "seeds": 0}
        for name, of_random in self.baselines[panel.key].items():
            sampled |= {f"{name}_mean": of_random.mean, f"{name}_std": of_random.std}
        space = one_shot_space(config["space"])
        sampled |= {f"final_{name}{suffix}": random_sampling(self.table, space, name, 1).mean for name in others}
        if (known := self.largest.get(panel.key)) is None:
            return [sampled]
        largest, regret = known
        row: dict[str, Any] = {"panel": panel.key, "curve": largest.words, "seeds": 0}
        row |= {f"{FINAL}_mean": regret, "final_measured": float(largest.test_measured)}
        network = Architecture.parse(largest.network)
        scores = scores_on_other_datasets(network, self.table, config["dataset"])
        return [sampled, row | {f"final_{name}{suffix}": scores[name]["test_regret"] for name in others}]

    def further_tables(self) -> Mapping[str, pandas.DataFrame]:
        """Return `rank_tests` and `searches`."""
        return {"rank-tests": self.rank_tests, "searches": self.searches}

    @cached_property
    def searches(self) -> pandas.DataFrame:
        """A row for every search, scored on the table.

        The columns are `panel`, `curve` and `seed`, the `MEASURES` as fractions, the number of distinct networks among
        the preferred architectures (`distinct_networks`), and, of the last epoch, `final_architecture`,
        `final_cell_hash`, `final_test_measured` and `final_one_shot_validation_error`.
        """
        rows = []
        for found in self.found:
            panel, curve = found.place
            for run, frame in zip(found.runs, self.frames[found.place], strict=True):
                names = ("architecture", "cell_hash", "test_measured", "one_shot_validation_error")
                last = {f"final_{name}": frame[name].iloc[-1] for name in names}
                row = {"panel": panel, "curve": curve, "seed": run.config["seed"], **measures(frame)}
                rows.append({**row, "distinct_networks": frame["cell_hash"].nunique(), **last})
        return pandas.DataFrame(rows)

    @cached_property
    def rank_tests(self) -> pandas.DataFrame:
        """The rank tests of all pairs of methods on each space, and of methods and random sampling.

        With joined searches, only pairs that include one of their methods are tested. Random sampling has no regret
        averaged over epochs. Holm's correction counts all tests of one space and measure, including those against
        random sampling.
        """
        frames = []
        for panel, curves in self.by_panel:
            baselines = self.baselines[panel.key]
            joined = [found.curve.key for found in curves if found.is_joined] if self.joined else None
            for measure in [*baselines, ANYTIME]:
                samples = {found.curve.key: self.samples[found.place][measure] for found in curves}
                known = {RANDOM: baselines[measure]} if measure in baselines else None
                tests = rank_tests(samples, measure, joined, known)
                frames.append(in_front(tests.rename(columns={"moment": "measure"}), panel=panel.key))
        return pandas.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)

    def rows(self) -> list[list[str]]:
        """Return mean and band of every measure in percent, and the seconds of a search."""
        return [
            [
                *(row["panel"], row["curve"], f"{row['seeds']:,}" if row["seeds"] else ""),
                *(with_band(row, name) for name in MEASURES),
                "" if np.isnan(row["seconds"]) else f"{row['seconds']:.0f}",
            ]
            for _, row in self.frame.iterrows()
        ]

    def notes(self) -> list[str]:
        """Return what brackets mean, and how many pairs of methods differ significantly.

        With joined searches, there is instead a line for each joined method and measure.
        """
        found = self.brackets_note(any(own.is_cut for pooled in self.pooled.values() for own in pooled.values()))
        for (panel, measure), tests in self.rank_tests.groupby(["panel", "measure"], sort=False):
            words = WORDS[str(measure)]
            named = "Mann–Whitney and exact tests" if RANDOM in tests["second"].to_numpy() else "Mann–Whitney"
            if not self.joined:
                differ = int((tests["p_holm"] < SIGNIFICANT).sum())
                how = f"({named}, Holm, p < {SIGNIFICANT})"
                found.append(f"{panel}: {words} regrets differ in {differ} of {counted(len(tests), 'pair')} {how}")
                continue
            how = f"{named}, Holm over {counted(len(tests), 'test')}, p < {SIGNIFICANT}"
            for method in (of.curve.key for of in self.found if of.is_joined and of.panel.key == panel):
                if len(own := _tests_of(tests, method)):
                    found.append(f"{panel}: {method} has {_describe_differences(own, words)}; {how}")
        few = ["/".join(of.place) for of in self.found if of.is_joined and len(of.runs) < FEWEST]
        return [*found, *(f"{name} is not tested, because it has fewer than {FEWEST} searches" for name in few)]

    def drawn(self, style: AnyStyle | None, colours: Mapping[str, str]) -> "axes.Figure":
        """Return the picture: mean and band of the final regret, and of the best-seen one, for every method.

        Methods are sorted by their mean final regret on the first space. Lines show random sampling with one look-up
        and with as many as a search, and the largest network where it is a baseline. The axis of a space is logarithmic
        if a band exceeds `MOST_OF_RANDOM` times the mean of random architectures. Regrets of zero are then drawn at its
        left end.
        """
        first = [found.curve.key for found in self.by_panel[0][1]]
        order = sorted(first, key=lambda key: float(self.samples[self.by_panel[0][0].key, key][FINAL].mean()))
        order += [f.curve.key for _, curves in self.by_panel for f in curves if f.curve.key not in order]
        order, columns = list(dict.fromkeys(order)), len(self.by_panel)
        floors = {panel.key: self._log_floor(panel, curves) for panel, curves in self.by_panel}
        height = 0.8 + 0.24 * len(order)
        with Canvas(1, columns, panel=(max(3.0, 7 / columns), height), style=style, sharey=True) as canvas:
            for ax, (panel, curves) in zip(canvas.axes, self.by_panel, strict=True):
                floor = floors[panel.key]
                for found in curves:
                    self._draw_method(ax, found, order.index(found.curve.key), floor, colours)
                for measure, of_random in self.baselines[panel.key].items():
                    ax.axvline(100 * of_random.mean, **tones(RANDOM_LOOKS[measure]))
                if panel.key in self.largest:
                    _, regret = self.largest[panel.key]
                    ax.axvline(100 * max(regret, floor), **tones(LEVEL_LOOK))
                ax.set_title(panel.title)
                ax.grid(alpha=0.25)
                ax.set_xlim(left=100 * floor)
                if floor:
                    ax.set_xscale("log")
                    label_log_axis(ax.xaxis)
                measured = provenance(pandas.concat([f["test_measured"].tail(1) for f in self._frames_of(curves)]))
                ax.set_xlabel(f"test regret [{'%, log scale' if floor else '%'}]\n({measured})")
            labels = self.labels
            canvas.axes[0].set_yticks(range(len(order)), [labels[key] for key in order])
            joined = {found.curve.key for found in self.found if found.is_joined}
            for key, tick in zip(order, canvas.axes[0].get_yticklabels(), strict=True):
                tick.set_fontweight("bold" if key in joined else "normal")
            canvas.axes[0].set_ylim(len(order) - 0.5, -0.5)
            configs = [run.config for run in self.runs]
            has_best = any(BEST in baseline for baseline in self.baselines.values())
            lookups = len(next(iter(self.frames.values()))[0])
            dots: dict[str, Any] = {"marker": "o", "color": LEVEL_COLOUR, "linestyle": ""}
            best: dict[str, Any] = {"best seen": {**dots, "markerfacecolor": "white"}}
            one, several = (f"{RANDOM}, {counted(number, 'look-up')}" for number in (1, lookups))
            sampled = {several: RANDOM_LOOKS[BEST]}
            if not has_best:
                best, sampled = {}, {}
            levels = {largest.words: LEVEL_LOOK for largest, _ in self.largest.values()}
            legend = {"after the last epoch": dots, **best, one: RANDOM_LOOKS[FINAL], **sampled, **levels}
            title = self.title(scale_text(configs).splitlines()[0], self.size_text)
            shown = [(floors[found.place[0]], pooled) for found in self.found for pooled in self._drawn(found)]
            is_floored = any(pooled.low[0] < floor for floor, pooled in shown)
            is_cut = any(pooled.is_cut for _, pooled in shown)
            caption = self.caption(
                (
                    "best seen: the architecture with the lowest validation error in the table among those preferred "
                    "before the first and after each epoch"
                    if has_best
                    else "the table has no validation accuracies, so there are no best-seen regrets"
                )
                + ("; bands are cut at the left end" if is_floored else ""),
                self._joined_line(),
                frames=self.all_frames,
            )
            return canvas.finish(title, caption, legend=legend, band=self.band([1], is_cut))

    def _joined_line(self) -> str:
        """Return the joined methods with their numbers of seeds and their non-default options; "" if there is none."""
        texts = []
        for found in (found for found in self.found if found.is_joined):
            config = found.runs[0].config
            options = option_texts(config, non_default_options(config), "\N{NO-BREAK SPACE}")
            about = ", ".join([counted(len(found.runs), "seed"), *options])
            where = f" on {found.panel.key}" if len(self.by_panel) > 1 else ""
            texts.append(f"{found.curve.label}{where} ({about})")
        return f"in bold, joined searches: {', '.join(texts)}" if texts else ""

    def _draw_method(self, ax: "axes.Axes", found: Found, row: int, floor: float, colours: Mapping[str, str]) -> None:
        """Draw mean and band of the final and of the best-seen regret of a method; regrets below `floor` lie at it."""
        (usual,) = curve_styles([str(found.curve.options["optimizer"])])
        colour = colours.get(found.curve.key, BLACK if found.is_joined else usual["color"])
        looks = ((-0.14, colour), (0.14, "white"))
        for pooled, (shift, fill) in zip(self._drawn(found), looks, strict=False):
            ends = (float(v[0]) for v in (pooled.centre, pooled.low, pooled.high))
            mean, low, high = (100 * max(end, floor) for end in ends)
            look: dict[str, Any] = {"fmt": "o", "color": colour, "markerfacecolor": fill, "markersize": 4}
            whiskers = [[mean - low], [high - mean]] if len(self.frames[found.place]) > 1 else None
            ax.errorbar(mean, row + shift, xerr=whiskers, **tones(look))

    def _drawn(self, found: Found) -> list[Pooled]:
        """Return the final regret of a method, and the best-seen one if the table has validation accuracies."""
        return [self.pooled[found.place][name] for name in (FINAL, BEST) if name in self.baselines[found.place[0]]]

    def _log_floor(self, panel: Panel, curves: Sequence[Found]) -> float:
        """Return the left end of the axis as a fraction if it must be logarithmic, 0 if it is linear.

        On a linear axis, one disconnected cell of NAS-Bench-201 (regret: 84 %) would squeeze all others to the left.
        """
        drawn = [pooled for found in curves for pooled in self._drawn(found)]
        highest = max(float(pooled.high[0]) for pooled in drawn)
        return log_floor(drawn) if highest > MOST_OF_RANDOM * self.baselines[panel.key][FINAL].mean else 0.0

    def _frames_of(self, curves: Sequence[Found]) -> list[pandas.DataFrame]:
        return [frame for found in curves for frame in self.frames[found.place]]


def _tests_of(tests: pandas.DataFrame, method: str) -> pandas.DataFrame:
    """Return the rank tests of a method, with the method as the first of each pair (`first`, `second` and `a12`)."""
    other = tests[tests["second"] == method]
    turned = other.assign(first=method, second=other["first"], a12=1 - other["a12"])
    return pandas.concat([turned, tests[tests["first"] == method]])


def _describe_differences(tests: pandas.DataFrame, words: str) -> str:
    """Return in words which methods the first method of some tests differs from significantly.

    Args:
        tests: the tests of one measure.
        words: the measure in words, such as "final".
    """
    significant, of = tests[tests["p_holm"] < SIGNIFICANT], f"of {counted(len(tests), 'other')}"
    parts = []
    for word, is_so in (("lower", significant["a12"] > 0.5), ("higher", significant["a12"] < 0.5)):
        if len(others := significant[is_so]["second"]):
            parts.append(f"significantly {word} {words} regrets than {len(others)} {of} ({', '.join(others)})")
    return " and ".join(parts) or f"neither significantly lower nor significantly higher {words} regrets than any {of}"


def with_band(row: "pandas.Series[Any]", measure: str) -> str:
    """Return mean and band in percent; the mean alone where there is no band."""
    mean, low, high = (100 * row.get(f"{measure}_{of}", np.nan) for of in ("mean", "low", "high"))
    if np.isnan(mean):
        return ""
    return f"{mean:.2f}" if np.isnan(low) else f"{mean:.2f} [{low:.2f}, {high:.2f}]"
