"""`nb1shot1 correlate`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from nasbench1shot1.experiments.correlation.options import RankingOptions
from nasbench1shot1.runs.options import option_names


@dataclass(frozen=True, kw_only=True)
class Correlate(RankingOptions):
    """Rank all architectures by a run's shared weights, and correlate the ranking with the table's.

    Running the command again continues where it stopped.
    """

    folder: Annotated[
        tyro.conf.Positional[Path | None], tyro.conf.arg(metavar="[RUN]", help_behavior_hint="(required)")
    ] = None
    """Folder of a search that saved its weights (--keep-weights-every)."""
    out: Path | None = None
    """Folder of the results. Default: RUN/ranking."""
    resume: Path | None = None
    """Folder of a stopped ranking to resume. Cannot be combined with other options."""

    named: tyro.conf.Suppress[frozenset[str]] = frozenset()
    """Names of the given options, set by `cli`."""

    def run(self) -> None:
        """Evaluate and correlate."""
        from nasbench1shot1.experiments.correlation.correlating import correlate

        given = {name: getattr(self, name) for name in option_names(RankingOptions) if name in self.named}
        correlate(self.folder, out=self.out, resume=self.resume, **given)
