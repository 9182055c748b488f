"""Texts in titles and captions of figures of searches: their scale, their table, and how far curves are measured."""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pandas

from nasbench1shot1.ground.errors import UserError, flag
from nasbench1shot1.ground.text import counted, typed
from nasbench1shot1.images.data_sets import OTHER
from nasbench1shot1.one_shot_search.options import ONE_SHOT_IMAGES, TRAINING, SearchConfig, non_default_options
from nasbench1shot1.one_shot_search.record import SELECTED_EPOCH, SearchRecord
from nasbench1shot1.registry import optimizer
from nasbench1shot1.runs.options import switch_names
from nasbench1shot1.tables.columns import source_text

if TYPE_CHECKING:
    from nasbench1shot1.tables.table import Table

LINE = 100
"""Number of characters that fit in one line of a title."""


def provenance(measured: "pandas.Series[float]") -> str:
    """Return in words which share of a curve's values is measured.

    Args:
        measured: the share of measured values at each point; NaN where there is no value.
    """
    return source_text(float(measured.mean()))


def source_elsewhere(table: "Table | None", dataset: str) -> str:
    """Return in brackets whether the test regrets on another data set are measured; empty if that is unknown."""
    with suppress(UserError):  # a table without this data set
        if table is not None:
            objective = table.objective(dataset)
            return f" ({table.about(objective.test_metric, objective.test).provenance})"
    return ""


def scale_text(configs: Sequence[Mapping[str, Any]]) -> str:
    """Return the size of searches, from their configurations, and the non-default options that all of them share."""
    config, *others = configs
    if "scale" not in config:
        return _notes_text(configs)
    size = (
        f"{config['scale']} scale: {counted(config['channels'], 'channel')} × {counted(config['cells'], 'cell')}, "
        f"{config['weight_images']:,} + {config['architecture_images']:,} images of {config['images']}"
        f"{shrunk_text(config)}, preset\N{NO-BREAK SPACE}{config['preset']}"
    )
    common = {
        name: value for name, value in non_default_options(config).items() if all(c.get(name) == value for c in others)
    }
    options = ", ".join(option_texts(config, common, "\N{NO-BREAK SPACE}"))
    return "\n".join([size, *textwrap.wrap(options, LINE, break_on_hyphens=False)])


def shrunk_text(config: Mapping[str, Any]) -> str:
    """Return the size to which a search shrinks images, such as " at 16 × 16 pixels"; empty if it shrinks none."""
    return f" at {side} × {side} pixels" if (side := config.get("image_side")) else ""


def option_texts(config: Mapping[str, Any], options: Mapping[str, object], space: str = " ") -> list[str]:
    """Return options as they are typed: "--epochs 3", "--nesterov no", or "--rejection" for a switch.

    Args:
        config: the configuration of the search, with its optimizer.
        options: the options by name.
        space: the character between an option and its value.
    """
    if not options:  # a record alone must not import an optimizer of another package
        return []
    switches = {*switch_names(SearchConfig), *switch_names(optimizer(config["optimizer"]).Hyperparameters)}

    def text(name: str, value: object) -> str:
        if isinstance(value, bool) and name in switches:
            return flag(name if value else f"no_{name}")
        return f"{flag(name)}{space}{typed(value)}"

    return [text(name, value) for name, value in options.items()]


def one_shot_error_text(configs: Sequence[Mapping[str, Any]]) -> str:
    """Return a label for axes with the field `one_shot_validation_error` of searches.

    The label mentions training images if all images train the weights, and no kind of images if searches differ.
    """
    found = {config.get(ONE_SHOT_IMAGES) for config in configs}
    if found == {TRAINING}:
        return "one-shot error on training images"
    return "one-shot error" if TRAINING in found else "one-shot validation error"


def _notes_text(configs: Sequence[Mapping[str, Any]]) -> str:
    """Return the notes that all recorded loops share."""
    notes, *others = [config.get("notes", {}) for config in configs]
    agreed = {name: value for name, value in notes.items() if all(other.get(name) == value for other in others)}
    common = [f"{name}\N{NO-BREAK SPACE}{value}" for name, value in agreed.items()]
    said = ", ".join(["own loop, recorded by nb.Recorder", *common])
    return "\n".join(textwrap.wrap(said, LINE, break_on_hyphens=False))


def table_text(frames: Sequence[pandas.DataFrame], table_id: str, fidelity: str = "") -> str:
    """Return the table and how far its values are measured, for captions.

    Args:
        frames: metrics of runs.
        table_id: the table behind `frames`.
        fidelity: the result of `Table.fidelity`.
    """
    known = list(map(_rows_in_table, frames))
    measured = all(map(_is_measured, known))
    said = f"table {table_id}" + ("" if measured else "; values called predicted are estimates, not measurements")
    if missing := sum(map(len, frames)) - sum(map(len, known)):
        verb = "is" if missing == 1 else "are"
        said += f"; {missing:,} of {counted(sum(map(len, frames)), 'architecture')} {verb} not in it"
    return f"{said}\n{fidelity}" if fidelity else said  # in one line, both would be wider than the figure


def selection_text(lines: Sequence[Mapping[Any, Any]]) -> str:
    """Return a sentence about the epochs of the last architectures; empty if no method selected an epoch.

    Args:
        lines: the last line of each search that a figure shows, or the last row of its metrics.
    """
    found = sorted({int(of) for line in lines if (of := line.get(SELECTED_EPOCH)) is not None and not math.isnan(of)})
    if not found:
        return ""
    if len(lines) == 1:
        return f"The last architecture is that of epoch {found[0]}, which the search selected."
    return f"The last architectures are those of epochs {', '.join(map(str, found))}, which the searches selected."


def _rows_in_table(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the epochs whose architecture has at least one error in the table."""
    errors = frame.columns.intersection(["table_validation_error", "table_test_error"])
    return frame[frame[errors].notna().any(axis=1)] if len(errors) else frame


def _is_measured(frame: pandas.DataFrame) -> bool:
    """Return whether all test values of architectures are measured, or all validation values if none is tested."""
    for split in ("test", "validation"):
        if f"table_{split}_error" in frame and (known := frame[f"table_{split}_error"].notna()).any():
            return bool(frame.loc[known, f"{split}_measured"].all())
    return bool(frame["test_measured"].all())


# Figures of regrets ---------------------------------------------------------------------------------------------------


def regret_title(runs: Sequence[SearchRecord], frames: Sequence[pandas.DataFrame], epochs: int, note: str = "") -> str:
    """Return the title of a figure of one run or of several seeds of one configuration.

    Args:
        runs: the runs.
        frames: their metrics.
        epochs: the number of shown epochs, which all runs have.
        note: a further note.
    """
    config, last = runs[0].config, int(frames[0]["epoch"].iloc[epochs - 1])
    seeds = f"seed {config['seed']}" if len(runs) == 1 else f"{len(runs)} seeds"
    seeds += f"; {note}" if note else ""
    if any(len(frame) > epochs for frame in frames):
        shortest = [run for run, frame in zip(runs, frames, strict=True) if len(frame) == epochs]
        why = "where the first search ended" if all(run.is_finished for run in shortest) else "as some are unfinished"
        seeds += f"\nonly up to epoch {last}, {why}"
    elif not config.get("early_stopping") and last < config.get("epochs", 0):
        seeds += f", unfinished: epoch {last} of {config['epochs']}"
    return f"{config['optimizer']} on {config['space']}, {seeds}\n{scale_text([config])}"


def regret_caption(
    runs: Sequence[SearchRecord],
    frames: Sequence[pandas.DataFrame],
    epochs: int,
    table: "Table | None",
    sentences: Iterable[str] = (),
) -> str:
    """Return the text below a figure of regrets: their table, further sentences, and selected epochs.

    Args:
        runs, frames, epochs: as in `regret_title`.
        table: the table behind `frames`. None: the recorded table, which is not available.
        sentences: further sentences; empty ones are left out.
    """
    named = (runs[0].config["table_id"], "") if table is None else (table.id, table.fidelity())
    last_rows = [frame.iloc[epochs - 1].to_dict() for frame in frames]
    notes = [_dataset_text(runs[0].config), "" if table is None else table.partial_note]
    return "\n".join(filter(None, [table_text(frames, *named), *notes, *sentences, selection_text(last_rows)]))


def _dataset_text(config: Mapping[str, Any]) -> str:
    """Return the data set of regrets; empty if the name of the images, which the title has, begins with it."""
    images, dataset = config.get("images"), config.get("dataset")
    if images is None or dataset in (None, OTHER) or images == dataset or images.startswith(f"{dataset}-"):
        return ""
    return f"Regrets are on {dataset}."
