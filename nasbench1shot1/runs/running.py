"""One function that takes every kind of run (`runs.kind`) from its options to the finished record, new or resumed."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nasbench1shot1.ground.errors import InvalidInputError, option, switch
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.ground.notebooks import console_or_new
from nasbench1shot1.runs.folder import CONFIG, check_facts, description
from nasbench1shot1.runs.kind import Begun, Kind
from nasbench1shot1.runs.lifecycle import check_is_new, existing_run, new_run
from nasbench1shot1.runs.machine import check_recorded_device, check_threads, computing, environment
from nasbench1shot1.runs.overwriting import moved_aside, replace_advice
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.runs.writer import RunWriter

if TYPE_CHECKING:
    from rich.console import Console

Record = TypeVar("Record", bound=RunRecord)


def run(
    kind: "Kind[Any, Any, Record, Any]",
    given: Mapping[str, Any],
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    overwrite: bool = False,
    allow_module: str | None = None,
    console: "Console | None" = None,
) -> Record:
    """Run from named options to the finished record, or resume a run that was stopped.

    Args:
        kind: the kind of run.
        given: options by name; on resuming, they must equal the recorded ones, except those that may grow.
        out: folder of a new run; it must not exist. Default: `kind.default_folder`.
        resume: folder of the run to resume. Cannot be combined with `out` and `overwrite`.
        overwrite: replace the run in `out`, if the kind supports it (`runs.overwriting`).
        allow_module: on resuming, a module that may be imported because the run's config.json names it.
        console: a rich console. Default: a new one.

    Raises:
        UserError: an option is invalid, the folder holds something else, data is missing or differs from the recorded
            data, the disk is full, or the loop fails. What was recorded stays, and can be resumed.
        RunStoppedError: Ctrl-C after the options are written.
    """
    if resume is not None:
        check_resumed(kind.WORD, out, overwrite)
        known = {name: value for name, value in given.items() if value is not None}
        return resume_run(kind, as_path(resume, "resume", is_option=True), known, allow_module, console)
    options = kind.options(given)
    folder = as_path(out, "out", is_option=True) if out is not None else kind.default_folder(options)
    return start_run(kind, options, folder, overwrite, console)


def check_resumed(word: str, out: str | Path | None, overwrite: bool) -> None:
    """Raise InvalidInputError for arguments of a new run that are given together with `resume`."""
    if out is not None:
        raise InvalidInputError(f"{option('resume')} continues in the {word}'s own folder: remove {option('out')}")
    if overwrite:
        raise InvalidInputError(f"{option('resume')} continues the {word}: remove {switch('overwrite')}")


def start_run(
    kind: "Kind[Any, Any, Record, Any]",
    options: Any,
    folder: Path,
    overwrite: bool = False,
    console: "Console | None" = None,
) -> Record:
    """Run with resolved options in a new folder; arguments and errors as for `run`."""
    check_threads(options.threads)
    with _computing(options.threads):
        begun = kind.begin(options, None)  # first, because errors in options come before errors about the folder
        with moved_aside(folder, overwrite, kind.REPLACES) as recorded:
            _check_is_no_other(kind, folder, options)
            check_is_new(folder, partial(replace_advice, folder, kind.REPLACES))
            record = kind.record_class(options)
            with new_run(folder, kind.WRITER, record, kind.unrecorded) as writer:
                writer.after_record = recorded
                kind.prepare(begun, writer.folder)
                config = description(record.KIND, options.sections(), {**begun.facts, **begun.labels})
                writer.describe(config, environment(options.device, kind.PACKAGES))
                return _finish(kind, begun, writer, console)


def resume_run(
    kind: "Kind[Any, Any, Record, Any]",
    folder: Path,
    given: Mapping[str, Any],
    allow_module: str | None = None,
    console: "Console | None" = None,
) -> Record:
    """Continue the run in a folder; arguments and errors as for `run`."""
    with moved_aside(folder, overwrite=False) as recorded:
        record = type(kind.open(folder))
        with existing_run(folder, kind.WRITER, record, kind.unrecorded) as writer:
            writer.after_record = recorded
            found = kind.open(folder)
            check_recorded_device(folder, found.config.get("device"))
            options = kind.resumed_options(found, given, allow_module)
            with _computing(options.threads):
                begun = kind.begin(options, found)
                check_facts(folder, found.config, begun.facts)
                if not found.HAS_CHECKPOINTS and found.is_finished:
                    _ = found.lines  # raises if they were changed after the run had finished
                writer.restore(begun.state)
                writer.update(kind.changes(found, options, begun))
                return _finish(kind, begun, writer, console)


def _computing(threads: int | None) -> AbstractContextManager[None]:
    """Return a context in which PyTorch computes a run; without a number of CPU threads, PyTorch is not needed."""
    return nullcontext() if threads is None else computing(threads)


def _finish(
    kind: "Kind[Any, Any, Record, Any]", begun: Begun[Any], writer: RunWriter[Any], console: "Console | None"
) -> Record:
    """Run the loop to its end, then write the summary and show the result."""
    console = console_or_new(console)
    kind.loop(begun, writer, console)
    writer.finish(kind.summarise(kind.open(writer.folder), begun))
    found: Record = kind.open(writer.shown_folder)
    kind.present(found, begun, console)
    return found


def _check_is_no_other(kind: "Kind[Any, Any, Any, Any]", folder: Path, options: Any) -> None:
    """Raise InvalidInputError if a folder holds a run with other options, and name one of these options."""
    found = None
    with suppress(InvalidInputError):  # another kind of run
        found = kind.open(folder) if (folder / CONFIG).is_file() else None
    if found is not None:
        advice = partial(replace_advice, folder, kind.REPLACES)
        check_equal_options(folder, found.config, options.as_dict(), kind.WORD, advice)


def check_equal_options(
    folder: Path,
    recorded: Mapping[str, Any],
    options: Mapping[str, Any],
    word: str,
    replace: Callable[[], str] = str,
) -> None:
    """Raise InvalidInputError if the run, or the group of runs, in a folder has another value of an option.

    `replace` is as in `check_is_new`.
    """
    for name, ours in options.items():
        if name in recorded and recorded[name] != ours:
            was = f"without {option(name)}" if recorded[name] is None else option(name, recorded[name])
            now = "without it" if ours is None else f"with {ours}" if recorded[name] is None else ours
            raise InvalidInputError(
                f"'{folder}' holds another {word} ({was}, not {now}): {replace()}choose another {option('out')}"
            )
