"""The page of all claims in Markdown, and the table on the screen. Equal evidence gives equal bytes."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table as Screen

from nasbench1shot1.experiments.claims.claim import ONE_SHOT, PAPERS, SUBJECTS, Result, Row
from nasbench1shot1.experiments.claims.verdicts import (
    FEWEST_SEARCHES,
    FEWEST_SEEDS,
    NOT_REPRODUCED,
    REPRODUCED,
    UNDECIDED,
    VERDICTS,
)
from nasbench1shot1.ground.intervals import FEWEST_FOR_INTERVAL
from nasbench1shot1.ground.text import counted, markdown_table, print_table

INTRODUCTION = f"""\
# Published claims and verdicts

This page lists claims of five papers that this package can test, with a verdict on each claim. `nb1shot1 claims`
generates the page from recorded runs and from the bundled tables:

```bash
nb1shot1 claims --records docs/records --out docs/claims.md
```

To update a verdict, run the command of the claim, for example on a GPU, and add the folder that contains its records
to `--records`. A verdict requires {FEWEST_SEEDS} seeds of each one-shot method; where a figure has fewer by default,
add `--seeds 0-{FEWEST_SEEDS - 1}`. Runs of different scales, and runs that were scored on different tables, are never
pooled: they have separate rows.

```bash
nb1shot1 reproduce figure2 --pack records/figure2.tar.xz
nb1shot1 claims --records docs/records records --out claims.md
```

## What the verdicts mean

- **reproduced**: every part of the claim is confirmed.
- **not reproduced**: at least one part of the claim is refuted.
- **undecided at this scale**: no part is refuted, but not all parts are confirmed.
- **needs full scale**: there is no evidence yet, because it requires GPUs or official data.

The tables below have a row for each part of a claim and each setting. The rules for a part are strict:

- *An ordering* is confirmed if the 95 % interval of the difference excludes 0 in the claimed direction, and refuted if
  it excludes 0 in the other direction. For "A better than B", the tables show by how many percentage points A's mean
  test regret is lower than B's, unless stated otherwise.
- *A number* is confirmed if our 95 % interval includes it, after rounding, and refuted otherwise. If the published
  number is a mean over runs, its standard error is taken into account, too. "Confirmed" means that our value and the
  published one agree within their errors, not that they are equal: agreement within a wide interval is weak evidence.
- *Intervals.* A mean over seeds or searches has Student's t interval, and a difference between two such means Welch's t
  interval. Values over architectures have percentile bootstrap intervals unless stated otherwise. With fewer than
  {FEWEST_FOR_INTERVAL} seeds or searches, the tables show a range instead, which neither confirms nor refutes a claim.
  Intervals are not corrected for the number of comparisons, and one refuted part refutes a claim. The more parts a
  claim has, the more easily chance refutes it. See [how often intervals are right](compare.md#lines-and-bands).
- *If a part has several rows*, the row whose setting is closest to the paper's decides. Of equally close rows, the
  first one without predicted values decides, or else the first one.
- **The size of a run limits what it can show.** One-shot searches with fewer than {FEWEST_SEEDS} seeds, and black-box
  searches with fewer than {FEWEST_SEARCHES} repeats, neither confirm nor refute a claim. The same holds for searches at
  the quick scale, because methods cannot be ranked at this scale ([scales](scales.md)). Searches at the medium scale
  can confirm or refute orderings, but not numbers. Numbers require the setting of the paper.
- **Predicted values neither confirm nor refute a claim.** In the tables, "measured" means that a number depends only on
  measured values of the benchmark table, and "predicted" means that at least one of these values is predicted. With the
  [official data of NAS-Bench-101](official_data.md), all values are measured.
- **Some evidence can confirm a claim, but not refute it**: a sample of a benchmark's architectures, runs with an option
  that the paper does not state, and searches that observe means over seeds where the published searches observed single
  trainings. Runs on a space or under a protocol that differs from the paper's in any other way can neither confirm nor
  refute a claim.
"""
HEAD = (
    "| part | published | here | n | setting | verdict |",
    "|---|---|---|---|---|---|",
)


def as_markdown(results: Sequence[Result]) -> str:
    """Return the page."""
    return "\n".join([INTRODUCTION, *_summary(results), *_sections(results)])


def _summary(results: Sequence[Result]) -> Iterator[str]:
    yield "## Summary\n"
    yield f"{_counts(results)}\n"
    yield from _by_subject(results)
    yield from _limits(results)
    yield "| claim | source | verdict |"
    yield "|---|---|---|"
    for result in results:
        claim = result.claim
        yield f"| [{claim.statement}](#{claim.key}) | {claim.paper}, {claim.place} | {result.verdict} |"
    yield ""


def _counts(results: Sequence[Result]) -> str:
    """Return how many claims have each verdict."""
    found = Counter(result.verdict for result in results)
    parts = [f"{verdict} {found[verdict]}" for verdict in VERDICTS if found[verdict]]
    return f"{counted(len(results), 'claim')}. Verdicts: {', '.join(parts)}."


def _by_subject(results: Sequence[Result]) -> Iterator[str]:
    """Yield a table of how many claims have each verdict, by what they are about."""
    found = Counter((result.claim.evidence.subject, result.verdict) for result in results)
    rows = [(words, *(str(found[subject, verdict]) for verdict in VERDICTS)) for subject, words in SUBJECTS.items()]
    yield markdown_table(("claims about", *VERDICTS), rows, range(1, 1 + len(VERDICTS)))


def _limits(results: Sequence[Result]) -> Iterator[str]:
    """Yield what readers must know before they cite numbers of verdicts."""
    decided = {result.verdict for result in results if result.claim.evidence.subject == ONE_SHOT}
    if not decided & {REPRODUCED, NOT_REPRODUCED}:
        yield "- **No claim about one-shot searches is reproduced or refuted yet.**"
    refuted = [result for result in results if result.verdict == NOT_REPRODUCED]
    of_release = [result for result in refuted if result.claim.earlier_release]
    if of_release:
        yield (
            f'- Of the {counted(len(refuted), "claim")} with the verdict "{NOT_REPRODUCED}", {len(of_release)} compare '
            f"a paper with a later release of its benchmark ({_links(of_release)}). They do not show that the paper is "
            "wrong about its own release."
        )
    for part, equal in _equal_refutations(refuted).items():
        yield f"- The same number refutes {_links(equal)} ({part})."
    confirming = [result for result in results if _is_only_confirming(result)]
    if confirming:
        yield (
            f"- {counted(len(confirming), 'claim')} would be refuted if {'its' if len(confirming) == 1 else 'their'} "
            f'evidence could [refute anything](#what-the-verdicts-mean), but count as "{UNDECIDED}": '
            f"{_links(confirming)}."
        )
    yield ""


def _is_only_confirming(result: Result) -> bool:
    return result.verdict == UNDECIDED and any(row.disagrees for row in result.decisive)


def _equal_refutations(refuted: Sequence[Result]) -> dict[str, list[Result]]:
    """Return the claims whose only refuted part is equal, by this part in words."""
    found: dict[str, list[Result]] = {}
    for result in refuted:
        rows = [row for row in result.decisive if row.verdict == NOT_REPRODUCED]
        if len(rows) == 1:
            words = f"{rows[0].part}: {rows[0].published} in the paper, {rows[0].value_text} here"
            found.setdefault(words, []).append(result)
    return {words: claims for words, claims in found.items() if len(claims) > 1}


def _links(results: Sequence[Result]) -> str:
    return ", ".join(f"[{result.claim.key}](#{result.claim.key})" for result in results)


def _sections(results: Sequence[Result]) -> Iterator[str]:
    for paper, where in PAPERS.items():
        own = [result for result in results if result.claim.paper == paper]
        if own:
            yield f"## {paper}\n"
            yield f"{where[0].upper()}{where[1:]}.\n"
            for result in own:
                yield from _section(result)


def _section(result: Result) -> Iterator[str]:
    claim = result.claim
    yield f"### {claim.key}\n"
    yield f"{claim.statement} ({claim.place}) **{result.verdict.capitalize()}.**\n"
    yield f"{claim.evidence.how} {claim.note}".strip() + "\n"
    if any(row.value is not None for row in result.rows):
        yield from HEAD
        for row in result.rows:
            cells = (row.part, row.published, row.value_text, row.n, _setting(row), row.verdict)
            yield f"| {' | '.join(cells)} |"
        yield ""
    command, joint, rest = claim.evidence.command.partition(", and ")
    yield f"Command: `{command}`{joint}{rest}\n"


def _setting(row: Row) -> str:
    """Return setting, table and source of a row."""
    table = f"table {row.table}, {row.source}" if row.table else ""
    return "; ".join(filter(None, [row.setting, table]))


def show(results: Sequence[Result], console: Console) -> None:
    """Print the verdict on each claim and how many of its parts are confirmed, then the number of claims by verdict."""
    screen = Screen()
    for heading in ("claim", "verdict", "confirmed"):
        screen.add_column(heading, no_wrap=True)
    for result in results:
        parts = result.decisive
        confirmed = f"{sum(row.verdict == REPRODUCED for row in parts)} of {len(parts)}"
        screen.add_row(result.claim.key, result.verdict, confirmed if any(row.n for row in parts) else "–")
    print_table(screen, console)
    console.print(_counts(results), highlight=False, soft_wrap=True)
