"""A claim as data, the evidence that tests it, and one row of results for each part and setting."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from nasbench1shot1.experiments.claims.evidence import Records
from nasbench1shot1.experiments.claims.verdicts import (
    LEVELS,
    NEEDS_FULL_SCALE,
    Interval,
    Level,
    Verdict,
    combined,
)

Subject = Literal["counts of architectures", "values of a table", "black-box searches", "one-shot searches"]
COUNTS: Subject = "counts of architectures"
TABLE_VALUES: Subject = "values of a table"
BLACK_BOX: Subject = "black-box searches"
ONE_SHOT: Subject = "one-shot searches"
SUBJECTS: Mapping[Subject, str] = {
    COUNTS: "counts of architectures",
    TABLE_VALUES: "values of a benchmark table",
    BLACK_BOX: "black-box searches",
    ONE_SHOT: "one-shot searches, their tuning and rankings, and proxy trainings",
}
"""What claims are about, and the words of the page."""
Paper = Literal["NAS-Bench-1Shot1", "NAS-Bench-101", "NAS-Bench-201", "AA-NAS-Bench", "NATS-Bench"]
PAPERS: Mapping[Paper, str] = {
    "NAS-Bench-1Shot1": "Zela, Siems and Hutter, ICLR 2020",
    "NAS-Bench-101": "Ying et al., ICML 2019",
    "NAS-Bench-201": "Dong and Yang, ICLR 2020",
    "AA-NAS-Bench": "the first version of NAS-Bench-201, under review",
    "NATS-Bench": "Dong et al., arXiv:2009.00437, first version",
}
"""The five papers, and where they appeared."""
MEASURED, PREDICTED = "measured", "predicted"


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one setting shows about one part of a claim.

    Attributes:
        part: what is compared, in a few words.
        published: the published value in words; empty for an ordering.
        value: our value; None if there is no evidence.
        verdict: the verdict on this part.
        disagrees: whether this part is only undecided because its evidence can confirm, but not refute.
        level: see `verdicts`.
        setting: the setting in words.
        n: number of runs, searches or architectures, in words: "7 of 10 seeds".
        source: "measured", "predicted", or empty for counts.
        table: id of the table; empty without a table.
        digits: number of decimals of values.
        unit: unit of values.
    """

    part: str
    published: str = ""
    value: Interval | None = None
    verdict: Verdict
    disagrees: bool = False
    level: Level = "below"
    setting: str = ""
    n: str = ""
    source: str = ""
    table: str = ""
    digits: int = 2
    unit: str = ""

    @property
    def value_text(self) -> str:
        """Our value with its interval, or with the range of few values; "undefined" if it is NaN."""
        if self.value is None:
            return "–"
        if math.isnan(self.value.value):
            return "undefined"
        low, high = (self._end(end) for end in (self.value.low, self.value.high))
        value = f"{self.value.value:,.{self.digits}f}"
        interval = "" if self.value.is_exact else f" [{low}, {high}]"
        return f"{value}{self.unit} (range {low} to {high})" if self.value.is_range else f"{value}{interval}{self.unit}"

    def _end(self, end: float) -> str:
        """Return an end of the interval, with enough digits to show its sign."""
        text = f"{end:.{self.digits}f}"
        return text if end == 0 or float(text) != 0 else f"{end:.1g}"


class Evidence(Protocol):
    """What tests a claim."""

    @property
    def how(self) -> str:
        """How the claim is tested, in a sentence."""

    @property
    def command(self) -> str:
        """The command that makes the evidence at the paper's setting."""

    @property
    def subject(self) -> Subject:
        """What the claim is about."""

    def rows(self, records: Records) -> Sequence[Row]:
        """Return a row for each part and setting; without evidence, one row for each part that states this."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A published claim.

    Attributes:
        key: its name in `--only`.
        paper: the paper.
        place: section, table or figure.
        statement: the claim in a sentence.
        evidence: what tests it.
        note: what readers must know to judge the verdict.
        earlier_release: whether the paper's values come from an earlier release of the benchmark than the table's.
    """

    key: str
    paper: Paper
    place: str
    statement: str
    evidence: Evidence
    note: str = ""
    earlier_release: bool = False


@dataclass(frozen=True)
class Result:
    """A claim, its rows, and the verdict on it."""

    claim: Claim
    rows: Sequence[Row]

    @property
    def decisive(self) -> list[Row]:
        """The most decisive row of every part: of the highest level, then without predicted values, then the first."""

        def rank(row: Row) -> tuple[int, bool]:
            return LEVELS.index(row.level), row.source == PREDICTED

        best = dict[str, Row]()
        for row in self.rows:
            if row.part not in best or rank(row) < rank(best[row.part]):
                best[row.part] = row
        return list(best.values())

    @property
    def verdict(self) -> Verdict:
        """The verdict on the claim."""
        rows = self.decisive
        if all(row.value is None for row in rows):
            return NEEDS_FULL_SCALE
        return combined([row.verdict for row in rows])


@dataclass(frozen=True, kw_only=True)
class Missing:
    """Evidence that this package cannot read yet, or that no bundled data can give.

    Attributes:
        needs: what is needed, in a sentence.
        command: the command that makes it.
        parts: what would be compared.
        subject: what the claim is about.
    """

    needs: str
    command: str
    parts: Sequence[str] = field(default=("all",))
    subject: Subject = TABLE_VALUES

    @property
    def how(self) -> str:
        """What is needed."""
        return self.needs

    def rows(self, records: Records) -> Sequence[Row]:
        """Return rows without values."""
        return [Row(part=part, verdict=NEEDS_FULL_SCALE) for part in self.parts]
