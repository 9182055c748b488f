"""The options of a ranking, each with its type, range, default and help, and the parsers of their values."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from nasbench1shot1.display.options import PictureOptions
from nasbench1shot1.ground.errors import InvalidInputError, alternatives, quoted_option, value_of
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.runs.machine import Device, resolve_device, resolve_threads
from nasbench1shot1.runs.options import Form, OptionRecord, Range, TableName, check_ranges, make_options
from nasbench1shot1.supernets.presets import PRESETS, BatchNormMode
from nasbench1shot1.tables.bounds import BoundOptions
from nasbench1shot1.tables.names import resolve_table_name

ALL, AUTO, CONTROLLER, EVERY = "all", "auto", "controller", "every:"
PRECISION = 0.95
"""Split-half correlation that `images="auto"` requires."""


@dataclass(frozen=True, kw_only=True)
class RankingOptions(PictureOptions, BoundOptions, OptionRecord):
    """The options of `nb.correlate`. `resolved` replaces None by a value that depends on the machine or the preset.

    With bounds, only architectures within them are ranked. By default, the bounds of the search apply.
    """

    epochs: Annotated[str, Form("all|every:N|LIST")] = ALL
    """Search epochs to evaluate: all saved epochs, every N-th, or a list such as 5,10."""
    architectures: Annotated[str, Form("all|N|FILE|controller")] = ALL
    """Architectures to evaluate: all without loose ends, a random sample of N, a text file with one per line, or 100
    samples from ENAS's controller."""
    copies: Literal["all", "one", "mean"] = "all"
    """How to count sub-networks with isomorphic cells: all of them, one per distinct cell, or their mean per cell."""
    images: Annotated[str, Form("N|all|auto|auto:R")] = "1000"
    """Number of images of the architecture half; the default uses all of them if there are fewer. auto:R: the
    smallest number whose split-half Spearman correlation reaches R. auto: R = 0.95."""
    batch_norm: BatchNormMode | None = None
    """Batch-norm statistics of the sub-networks."""
    budgets: Annotated[str | None, Form("LIST")] = None
    """Budgets of the true errors in epochs, such as 4,12,36,108. Default: all budgets of the table."""
    preset: Literal["corrected", "original"] = "corrected"
    """corrected, or original to evaluate sub-networks as the published script does, including the edge it drops."""
    resamples: Annotated[int, Range(2)] = 100
    """Number of bootstrap resamples for each confidence interval."""
    seed: Annotated[int, Range(0)] = 0
    """Random seed for the images, the sampled architectures and the bootstrap."""
    table: TableName | None = None
    """Folder or name of the table with the true errors. Default: $NB1SHOT1_TABLE on spaces without
    a table of their own, or else the table of the search."""
    device: Device = "auto"
    """Device to compute on; auto selects a GPU if there is one."""
    threads: Annotated[int | None, Range(1)] = None
    """Number of CPU threads; results are reproducible only with an equal number. Default: PyTorch's choice."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """float32, or bfloat16 to evaluate under autocast."""

    def resolved(self) -> "RankingOptions":
        """Fill in every None and check every value; raises InvalidInputError for an invalid value."""
        options = replace(
            self.with_checked_pictures(),
            architectures=_absolute(self.architectures),
            batch_norm=self.batch_norm or PRESETS[self.preset].evaluation_batch_norm,
            table=resolve_table_name(self.table),
            device=resolve_device(self.device),
            threads=resolve_threads(self.threads),
        )
        check_ranges(options)
        image_count(options.images)
        if options.budgets is not None:
            _integers("budgets", options.budgets)
        options.check_bounds()
        return options


def ranking_options(given: Mapping[str, Any]) -> RankingOptions:
    """Return resolved options; numbers, paths and sequences are converted to text, as on the command line.

    Raises InvalidInputError for an unknown option, or for a value that has a wrong type or is out of range.
    """
    if isinstance(given.get("architectures"), list | tuple):
        raise InvalidInputError(
            f"{value_of('architectures')} must be 'all', 'controller', a number or the path of a text file: write the "
            "architectures to a file, one per line"
        )
    texts = ("epochs", "architectures", "images", "budgets")
    written = {name: to_text(value) if name in texts else value for name, value in given.items()}
    return make_options(RankingOptions, written, {}).resolved()


def to_text(value: Any) -> Any:
    """Convert a number, a path or a sequence of numbers to text, as on the command line; return other values as is."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, Path):
        return str(value)
    plain = value.tolist() if hasattr(value, "tolist") else value  # of a NumPy scalar, a number
    return ",".join(map(str, plain)) if isinstance(plain, Sequence) else str(plain)


def chosen_epochs(text: str, kept: Sequence[int], folder: Path) -> list[int]:
    """Return the selected epochs.

    Args:
        text: the option `epochs`.
        kept: the epochs whose weights the run saved.
        folder: the folder of the run.

    Raises:
        InvalidInputError: the weights of a listed epoch were not saved, or no epoch is selected.
    """
    if text == ALL:
        return list(kept)
    if text.startswith(EVERY):
        step = _integers("epochs", text.removeprefix(EVERY), most=1)[0]
        chosen = [epoch for epoch in kept if step and epoch % step == 0]
    else:
        chosen = sorted(set(_integers("epochs", text)))
    missing = [epoch for epoch in chosen if epoch not in kept]
    if missing or not chosen:
        raise InvalidInputError(
            f"'{folder}' has no weights for {quoted_option('epochs', text)}: choose {alternatives(kept)}"
        )
    return chosen


def default_images(available: int) -> str:
    """Return the default of the option `images` for an architecture half of `available` images."""
    return str(min(int(RankingOptions.images), available))


def image_count(text: str) -> int | None:
    """Return the number of images in the option `images`; None for "all" and "auto"."""
    if text == ALL or required_reliability(text) is not None:
        return None
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise InvalidInputError(
            f"{quoted_option('images', text)} is not a number of images: write 1000, all, auto or auto:0.9"
        )
    return int(text)


def required_reliability(text: str) -> float | None:
    """Return the split-half correlation that "auto" or "auto:0.9" requires; None for other values."""
    name, colon, number = text.partition(":")
    if name != AUTO:
        return None
    if not colon:
        return PRECISION
    if not re.fullmatch(r"0?\.\d+", number) or not 0 < float(number) < 1:
        raise InvalidInputError(f"{quoted_option('images', text)}: give a correlation between 0 and 1, as in auto:0.9")
    return float(number)


def chosen_budgets(text: str | None, available: Sequence[int]) -> list[int]:
    """Return the training budgets in the option `budgets`, ascending; all available budgets if it is None.

    Raises InvalidInputError for a budget that the table does not have.
    """
    if text is None:
        return list(available)
    wanted = sorted(set(_integers("budgets", text)))
    if missing := [budget for budget in wanted if budget not in available]:
        raise InvalidInputError(
            f"{quoted_option('budgets', text)}: the table has no budget of {missing[0]} epochs; choose "
            f"{alternatives(available)}"
        )
    return wanted


def is_list(architectures: str) -> bool:
    """Return whether `architectures` names a text file."""
    return architectures not in (ALL, CONTROLLER) and not architectures.isdecimal()


def _absolute(architectures: str) -> str:
    """Return the absolute path of a text file, so that a ranking can be resumed from anywhere; other texts stay."""
    return (
        str(as_path(architectures, "architectures", is_option=True).absolute())
        if is_list(architectures)
        else architectures
    )


def _integers(name: str, text: str, most: int | None = None) -> list[int]:
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", text) or (most is not None and text.count(",") >= most):
        raise InvalidInputError(f"{quoted_option(name, text)} is not a list of whole numbers: write, for example, 5,10")
    return [int(part) for part in text.split(",")]
