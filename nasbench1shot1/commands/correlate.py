"""`nb1shot1 correlate`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from nasbench1shot1.commands.dry_run import USUAL_GPUS, GPUOptions, check_dry_run, show_dry_run
from nasbench1shot1.commands.help_screen import default_variants
from nasbench1shot1.commands.options import Asked, Hidden, Positional, named_options
from nasbench1shot1.display.options import PICTURES
from nasbench1shot1.runs.options import Form
from nasbench1shot1.tables.bounds import NAMES as BOUNDS

Options = TypeVar("Options")


@dataclass(frozen=True, kw_only=True)
class Correlate(Generic[Options]):
    """Rank architectures by a run's shared weights, and correlate the ranking with the true errors of a table.

    To continue a stopped ranking, run the command again.
    """

    GROUPS: ClassVar[Mapping[str, Sequence[str]]] = {
        "What to evaluate": ("epochs", "architectures", "copies", "seed", *BOUNDS),
        "Measuring": ("images", "batch_norm", "preset", "budgets", "table", "resamples"),
        "Pictures": PICTURES,
        "Running": ("out", "resume", "dry_run", "gpus"),
    }

    folder: Annotated[Positional[Path | None], Form("RUN", "(required)")] = None
    """Folder of a search that saved the supernet's weights (--keep-weights-every)."""
    ranking: Options
    """Options of the ranking."""
    out: Path | None = None
    """Folder of the ranking. Default: RUN/ranking."""
    dry_run: bool = False
    """Print FLOPs, memory, disk and expected hours, and stop; official images may be missing."""
    expected: GPUOptions = USUAL_GPUS
    """The GPUs of a dry run."""
    resume: Path | None = None
    """Folder of a stopped ranking to resume. Cannot be combined with other options."""

    allow_module: str | None = None
    """Module that may be imported because the run's config.json names it. Importing a module runs its code."""

    named: Hidden[frozenset[str]] = frozenset()
    """Names of the given options, set by `cli`."""

    @classmethod
    def choose(cls, asked: Asked) -> Self:
        """Return the command's defaults; the ranking's options are imported only when it is called."""
        from nasbench1shot1.experiments.correlation.options import RankingOptions

        return cls(ranking=RankingOptions(**_preset_options("corrected")))  # type: ignore[arg-type]

    def variants(self) -> dict[str, dict[str, Any]]:
        """Return the defaults that depend on the preset, for help."""
        return default_variants(
            lambda setting: _preset_options(setting.get("preset", "corrected")), [("preset", "original")]
        )

    def run(self) -> None:
        """Rank the architectures and print the correlations."""
        from nasbench1shot1.experiments.correlation.correlating import correlate
        from nasbench1shot1.registry import import_trusted

        given = named_options(self.named, self.ranking)
        self.expected.check(self.dry_run)
        if self.dry_run:
            check_dry_run(resume=self.resume)
            import_trusted(self.allow_module)
            show_dry_run("correlate", self.expected, run=self.folder, **given)
            return
        correlate(self.folder, out=self.out, resume=self.resume, allow_module=self.allow_module, **given)


def _preset_options(name: str) -> dict[str, Any]:
    """Return the options that a preset sets if they are not given."""
    from nasbench1shot1.supernets.presets import PRESETS

    return {"batch_norm": PRESETS[name].evaluation_batch_norm}
