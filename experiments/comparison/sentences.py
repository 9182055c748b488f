"""Sentences about a comparison that captions, tables and the text for a paper share."""

import importlib.metadata
from collections.abc import Callable, Collection, Iterable, Mapping

import numpy as np

from nasbench1shot1.display.colours import MOST_BANDS
from nasbench1shot1.display.curves import Pooled, describe_band, span
from nasbench1shot1.experiments.comparison.entries import CLOCKS, EPOCHS, SIMULATED_TIME, Entry
from nasbench1shot1.experiments.comparison.rank_tests import FEWEST
from nasbench1shot1.experiments.comparison.statistics import END, Comparison, Test, sources_text
from nasbench1shot1.ground.errors import in_words
from nasbench1shot1.ground.intervals import FEWEST_FOR_INTERVAL
from nasbench1shot1.ground.text import counted, percent

TEST_WORDS: dict[Test, str] = {
    "Wilcoxon": "two-sided Wilcoxon signed-rank tests of matched seeds",
    "Mann–Whitney": "two-sided Mann–Whitney U tests",
}
INTERVALS = "95 % confidence intervals (of means: Student's t, cut at 0; of medians: order statistics)"
NO_BANDS = f"Lines: means over n runs; bands are omitted if there are more than {counted(MOST_BANDS, 'curve')}."
NARROW = 0.01
"""Share of the longest curve below which a sentence says that the range of anytime regrets is short."""
FEW = f"fewer than {FEWEST_FOR_INTERVAL} runs"


def reference_text(comparison: Comparison, space: str | None = None) -> str:
    """Return what a regret is relative to, as words that follow "Regret:"; `space` replaces the name of the space."""
    is_bounded = comparison.baseline is not None and bool(comparison.baseline.described)
    return comparison.goal.definition(
        space or comparison.space, is_partial=is_partial(comparison), is_bounded=is_bounded
    )


def is_partial(comparison: Comparison) -> bool:
    """Return whether regrets refer to the networks of the space that the table has, which may lack some."""
    return any(each.entry.is_partial for each in comparison.contenders)


def missing_text(comparison: Comparison) -> str:
    """Return in a sentence how many final results a partial table lacks; empty if it has all."""
    lacking = [
        f"{of.missing:,} of {len(of.repetitions):,} results of {of.label}" for of in comparison.contenders if of.missing
    ]
    return f"Not in the table: {', '.join(lacking)}." if lacking else ""


def clock_text(comparison: Comparison) -> str:
    """Return what simulated time is for each kind of run, in sentences; empty for other axes."""
    if comparison.over != SIMULATED_TIME:
        return ""
    return " ".join(dict.fromkeys(of.entry.CLOCK for of in comparison.contenders))


def row_name(label: str, entry: Entry) -> str:
    """Return the label of a run in tables, which states if the run is unfinished."""
    return label if entry.progress is None else f"{label} (unfinished)"


def unfinished_text(entries: Mapping[str, Entry]) -> str:
    """Return a sentence about the unfinished runs, by label, and their progress; empty if all runs are finished."""
    found = [f"{label} ({entry.progress})" for label, entry in entries.items() if entry.progress is not None]
    return f"Unfinished runs, shown as far as recorded: {'; '.join(found)}." if found else ""


def progress_text(comparison: Comparison) -> str:
    """Return `unfinished_text` of a comparison."""
    return unfinished_text({of.label: of.entry for of in comparison.contenders})


def notes(comparison: Comparison) -> list[str]:
    """Return sentences about runs whose method could not do what its name says, and about equal curves."""
    equal: dict[bytes, list[str]] = {}
    for label, curve in comparison.curves.items():
        equal.setdefault(np.concatenate([curve.at, curve.centre]).tobytes(), []).append(label)
    return [
        *dict.fromkeys(of.entry.note for of in comparison.contenders if of.entry.note),
        *(f"The curves of {in_words(labels)} are equal." for labels in equal.values() if len(labels) > 1),
    ]


def different_settings_text(comparison: Comparison) -> str:
    """Return the lengths and sizes of one-shot searches in sentences if they differ; else an empty string."""
    found: dict[str, list[str]] = {}
    for of in comparison.contenders:
        if of.entry.length_and_size and of.entry.scale is not None:
            found.setdefault(of.entry.length_and_size, []).append(of.label)
    if len(found) < 2:
        return ""
    sizes = ". ".join(f"{', '.join(labels)}: {size}" for size, labels in found.items())
    return f"The searches have different settings. {sizes}."


def no_common_time_text(comparison: Comparison, has_advice: bool = False) -> str:
    """Return a sentence if some curves begin only after others end, possibly with advice; else an empty string."""
    if comparison.overlaps:
        return ""
    spans = {of.label: span(of.repetitions) for of in comparison.contenders}
    early = [label for label, (_, end) in spans.items() if end < comparison.span.start]
    begin_late = [label for label, (start, _) in spans.items() if start > comparison.common_time]
    late = [label for label in begin_late if label not in early]  # a curve of one point can be both
    begin, end = ("begins", "begin")[len(late) > 1], ("ends", "end")[len(early) > 1]
    curves = ("curve", "curves")[len(late) > 1]
    it = ("it", "them")[len(early) > 1]
    advice = f" To include them, leave out {in_words(early)}, or search longer with {it}." if has_advice else ""
    return (
        f"There is no common time: the {curves} of {in_words(late)} {begin} after {in_words(early)} {end}. Regrets at "
        f"a common time and anytime regrets are therefore left out.{advice}"
    )


def texts_per_task(tasks: Mapping[str, Comparison], texts_of: Callable[[Comparison], Iterable[str]]) -> list[str]:
    """Return the different texts of tasks; a text that does not apply to all of them names its tasks."""
    names = dict[str, list[str]]()
    for name, own in tasks.items():
        for text in filter(None, texts_of(own)):
            names.setdefault(text, []).append(name)
    return [text if len(of) == len(tasks) else f"{', '.join(of)}: {text}" for text, of in names.items()]


def remarks(tasks: Mapping[str, Comparison]) -> list[str]:
    """Return the sentences of `notes` and `no_common_time_text` of all tasks, with the tasks that they are about."""
    return texts_per_task(tasks, lambda own: [*notes(own), no_common_time_text(own)])


def settings_text(tasks: Mapping[str, Comparison]) -> str:
    """Return seeds, budgets and sizes of the searches in sentences, one for the runs with an equal setting.

    A method names its tasks unless its setting is the same in all of them.
    """
    all_tasks, found = dict[str, set[str]](), dict[str, dict[str, dict[str, None]]]()
    for name, comparison in tasks.items():
        for of in comparison.contenders:
            method = method_name(of.label)
            all_tasks.setdefault(method, set()).add(name)
            found.setdefault(of.entry.setting, {}).setdefault(method, {})[name] = None
    texts = []
    for setting, methods in found.items():
        named = [name if set(on) == all_tasks[name] else f"{name} on {in_words(on)}" for name, on in methods.items()]
        texts.append(f"Setting of {in_words(named)}: {setting}.")
    return " ".join(texts)


def method_name(label: str) -> str:
    """Return a label as the name of a method within a sentence: "random" alone would not name one."""
    return {"random": "random search"}.get(label, label)


def counts_text(comparison: Comparison) -> str:
    """Return the number of known results of each method, such as "n = 10" or "darts (n = 10), gdas (n = 9)"."""
    counts = {of.label: of.n for of in comparison.contenders}
    if len(set(counts.values())) == 1:
        return f"n = {next(iter(counts.values())):,}"
    return ", ".join(f"{label} (n = {n:,})" for label, n in counts.items())


def common_time_text(comparison: Comparison) -> str:
    """Return the last time that all curves reach, such as "12,000 s" or "500 evaluations"."""
    unit = {"seconds": "s"}.get(unit := CLOCKS[comparison.over], unit)
    return f"{comparison.common_time:,.0f} {unit}"


def range_text(comparison: Comparison) -> str:
    """Return the range of anytime regrets, such as "from 12 s to 34,000 s"; empty if the curves have none in common.

    Ends that are equal when rounded have as many decimals as distinguish them.
    """
    over, span = comparison.over, comparison.span
    if span.start > span.end or (span.start == span.end and not span.whole):
        return ""
    if span.whole:
        noun = "epoch" if over == EPOCHS else "training"
        return f"from {noun} {span.start:,.0f} to {span.end:,.0f}"
    forms = (",.3g" if span.end < 100 else ",.0f", ",.1f", ",.2f", ",.3f")
    ends = [(f"{span.start:{form}}", f"{span.end:{form}}") for form in forms]
    start, end = next((pair for pair in ends if pair[0] != pair[1]), ends[-1])
    return f"from {start} s to {end} s"


def narrow_range_text(comparison: Comparison) -> str:
    """Return a sentence if the range of anytime regrets is less than `NARROW` of the longest curve; else empty.

    A single run or group has no other curve that could shorten the range.
    """
    if not range_text(comparison) or len(comparison.contenders) < 2:
        return ""
    over, longest = comparison.span, max(span(of.repetitions)[1] for of in comparison.contenders)
    share = (over.end + over.whole - over.start) / (longest + over.whole)
    if share >= NARROW:
        return ""
    return (
        f"Anytime regrets cover only a small part of the searches: all curves exist only {range_text(comparison)}, "
        f"{percent(share, 1) if share >= 0.001 else 'less than 0.1 %'} of the longest one."
    )


def tests_text(comparison: Comparison) -> str:
    """Return which rank tests compare the methods, as a sentence; empty for a single method."""
    if len(comparison.contenders) < 2:
        return ""
    if not len(comparison.rank_tests):
        return f"No rank tests: they need at least {counted(FEWEST, 'search')} of each method."
    pairs = len(comparison.better(END))
    return f"Rank tests: {TEST_WORDS[comparison.test]}, Holm's correction for {counted(pairs, 'pair')}."


def untested_text(comparison: Comparison) -> str:
    """Return a sentence about the methods that the rank tests omit; empty if there are none, or no tests."""
    tested = frozenset[str]().union(*comparison.better(END))
    untested = [of.label for of in comparison.contenders if of.label not in tested]
    return f"Not tested, with fewer than {FEWEST} runs: {', '.join(untested)}." if tested and untested else ""


def tables_text(tasks: Mapping[str, Comparison], with_curves: bool = True) -> str:
    """Return the tables of tasks and how far their regrets are measured, as words that follow "Table:".

    Args:
        tasks: the comparisons by task.
        with_curves: whether regrets before the end also count, where they differ (`statistics.sources_text`).
    """
    by_table: dict[str, dict[str, list[str]]] = {}
    for name, comparison in tasks.items():
        source = sources_text(comparison.repetitions) if with_curves else comparison.source
        by_table.setdefault(comparison.facts.table, {}).setdefault(source, []).append(name)
    if len(by_table) == 1:
        ((table, sources),) = by_table.items()
        if len(sources) == 1:
            return f"{table} ({next(iter(sources))})"
    parts = {
        table: "; ".join(f"{', '.join(names)}: {source}" for source, names in sources.items())
        for table, sources in by_table.items()
    }
    return "; ".join(f"{table} ({text})" for table, text in parts.items())


def brackets_text(tasks: Mapping[str, Comparison]) -> str:
    """Return what the brackets in a table are, as a sentence."""
    few, enough = _few_and_enough(tasks)
    if not few and not enough:
        return "No method has several results: no intervals."
    if not enough:
        return f"Brackets: minimum and maximum ({FEW})."
    return f"Brackets: {INTERVALS}{f'; of {FEW}: minimum and maximum' if few else ''}."


def statistics_text(tasks: Mapping[str, Comparison]) -> str:
    """Return which statistics tables and figures show, as sentences."""
    few, enough = _few_and_enough(tasks)
    if not few and not enough:
        return "No method has several results, so there are no intervals."
    if not enough:
        shown = f"minimum and maximum instead of 95 % confidence intervals, because all methods have {FEW}"
    else:
        shown = f"{INTERVALS}{f', or with the range of {FEW}' if few else ''}"
    return " ".join([f"Tables show means and medians with {shown}.", *texts_per_task(tasks, _figures_texts)])


def _figures_texts(comparison: Comparison) -> list[str]:
    """Return a sentence about what the figure of a comparison shows; none if no method has several runs."""
    kinds = band_kinds(comparison.curves.values())
    if not has_bands(comparison):
        kinds = f"mean, without bands, because there are more than {counted(MOST_BANDS, 'curve')}"
    return [f"Figures show the {kinds}."] if kinds else []


def band_kinds(curves: Collection[Pooled]) -> str:
    """Return what curves with an equal kind of spread and their bands show; empty if none has a band."""
    if all(curve.runs == 1 for curve in curves):
        return ""
    spread, is_cut = next(iter(curves)).spread, any(curve.is_cut for curve in curves)
    return describe_band(spread, [curve.runs for curve in curves], None, is_cut=is_cut)


def has_bands(comparison: Comparison) -> bool:
    """Return whether figures show the bands of curves of several runs: few enough curves have one."""
    return sum(len(contender.repetitions) > 1 for contender in comparison.contenders) <= MOST_BANDS


def _few_and_enough(tasks: Mapping[str, Comparison]) -> tuple[bool, bool]:
    """Return whether methods with several known results have too few of them for a confidence interval, and whether
    some have enough.
    """
    counts = [of.n for comparison in tasks.values() for of in comparison.contenders]
    return any(1 < n < FEWEST_FOR_INTERVAL for n in counts), any(n >= FEWEST_FOR_INTERVAL for n in counts)


def software_text() -> str:
    """Return the versions of the packages that compute the statistics."""
    versions = (f"{name} {importlib.metadata.version(name)}" for name in ("nasbench1shot1", "scipy"))
    return " and ".join(versions)
