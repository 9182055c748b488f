"""Searches as a kind of run: `nb.search`, and what a search gives to the life cycle of all runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.arguments import options_by_keyword
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.one_shot_search.callbacks import Callback, CallbackReporter, check_callbacks, tensorboard_callbacks
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.options import (
    ONE_SHOT_IMAGES,
    TRAINING,
    SearchOptions,
    data_facts,
    recorded_search,
    search_options,
    table_of_search,
)
from nasbench1shot1.one_shot_search.record import PARAMETERS, Run, open_search, read_parameters, summarise
from nasbench1shot1.one_shot_search.writer import SearchWriter
from nasbench1shot1.phases import USUAL, check_phases, first_moved_epoch, phase_at
from nasbench1shot1.registry import check_recorded_names, one_shot, search_space, with_names
from nasbench1shot1.runs.folder import CONFIG, check_facts
from nasbench1shot1.runs.kind import Begun, Kind
from nasbench1shot1.runs.machine import default_modes
from nasbench1shot1.runs.record import NOTE
from nasbench1shot1.runs.running import run

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.one_shot_search.state import SearchState
    from nasbench1shot1.optimizer import OneShotOptimizer


UNMOVED = (
    "Warning: no step of {optimizer} changed Λ, and all epochs have the same architecture, so the regret does not "
    "measure the search. Check that architecture_step changes the tensors in self.parameters, and that the learning "
    "rate of Λ is not 0."
)
DRAWS_GLOBALLY = (
    "Warning: {optimizer} draws random numbers from a global generator of PyTorch, NumPy or Python, so another search "
    "with the same seed may give another result. Draw them from self.generator, as in torch.randn(shape, "
    "generator=self.generator)."
)


@options_by_keyword('nb.search("darts", space="s1")')
def search(
    optimizer: "str | type[OneShotOptimizer] | None" = None,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    overwrite: bool = False,
    tensorboard: bool = False,
    allow_module: str | None = None,
    console: "Console | None" = None,
    callbacks: Sequence[Callback] = (),
    **options: Any,
) -> Run:
    """Search with a one-shot optimizer, or resume a search that was stopped.

    Args:
        optimizer: its name, its class, or "module:Class"; "darts" if not given.
        out: the run's folder, which must not exist; `runs/<optimizer>-<space>-<seed>` if not given.
        resume: the folder of a run to resume. Cannot be combined with other options, except `epochs`, which may only
            increase.
        overwrite: replace the search, or group of searches, that `out` holds. It is deleted, with its `report-…`
            folders, once the new search has recorded an epoch; if the new search fails before, it is put back. A folder
            that also holds other files, or what `nb.Recorder` recorded, is refused.
        tensorboard: write event files for TensorBoard into the run's folder (needs the extra `tensorboard`). It is not
            recorded: give it again on resuming.
        allow_module: on resuming, a module that may be imported because the run's config.json names it. Not needed for
            registered optimizers, for a module that is imported already, or where `optimizer` is given.
        console: a rich console for the progress; a new one if not given. `Console(quiet=True)` is silent.
        callbacks: functions that are called with an `Epoch` (`one_shot_search.callbacks`) after every recorded epoch.
            They cannot change the search. If one raises, the search stops, and can be resumed; config.json does not
            record them.
        options: the fields of `one_shot_search.options.SearchConfig`: space="s1", epochs=50, seed=0, scale="quick", …,
            and the fields of the optimizer's `Hyperparameters`. `space` may be an `nb.OneShotSpace` that a module has
            as an attribute, `table` an `nb.Table` that has a folder.

    Returns:
        The finished run.

    Raises:
        UserError: an unknown name or option, a value out of range, a folder in the way, images that are missing, a
            loss that is infinite or NaN, a full disk. What was recorded stays, and can be resumed.
        RunStoppedError: Ctrl-C; it names the folder to resume.
    """
    if "seeds" in options:
        raise InvalidInputError("nb.search runs one search: give several seeds to nb.search_seeds")
    given = with_names(options if optimizer is None else {"optimizer": optimizer, **options})
    check_callbacks(callbacks)
    with tensorboard_callbacks(tensorboard) as events:
        found = run(
            SearchKind([*callbacks, *events]),
            given,
            out=out,
            resume=resume,
            overwrite=overwrite,
            allow_module=allow_module,
            console=console,
        )
        for written in events:
            written.complete(found.folder)
        return found


class SearchKind(Kind[SearchOptions, "SearchState", Run, SearchWriter]):
    """A search with a one-shot optimizer.

    Args:
        callbacks: as in `search`.
    """

    RECORD, WRITER, MAY_GROW, WORD, REPLACES = Run, SearchWriter, ("epochs",), "search", (Run, SearchGroup)

    def __init__(self, callbacks: Sequence[Callback] = ()) -> None:
        self.callbacks = callbacks

    def options(self, given: Mapping[str, Any]) -> SearchOptions:
        """Return resolved options."""
        return search_options(given)

    def recorded_options(self, run: Run) -> SearchOptions:
        """Return the options of a recorded search."""
        return recorded_search(run.config, run.folder / CONFIG)

    def open(self, folder: Path) -> Run:
        """Open a search; the error for a group of seeds names one of its searches."""
        return open_search(folder)

    def check_trusted(self, run: Run, given: Mapping[str, Any], allow_module: str | None) -> None:
        """Check the recorded optimizer and space."""
        check_recorded_names("optimizers", run.config, given, run.folder / CONFIG, allow_module)

    def resumed_options(self, run: Run, given: Mapping[str, Any], allow_module: str | None) -> SearchOptions:
        """Return the options as other kinds do; the phases of trained epochs must not have changed."""
        options = super().resumed_options(run, given, allow_module)
        check_recorded_phases(run, options)
        return options

    def extended_options(self, kept: SearchOptions, given: Mapping[str, Any]) -> SearchOptions:
        """Return the recorded options, updated with the given ones."""
        return search_options(given, kept=kept.as_dict())

    def default_folder(self, options: SearchOptions) -> Path:
        """Return `runs/<optimizer>-<space>-<seed>`."""
        return default_folder(options, options.common.seed)

    def begin(self, options: SearchOptions, resumed: Run | None) -> "Begun[SearchState]":
        """Build the supernet, and read the images and the table."""
        from nasbench1shot1.one_shot_search.beginning import begin, check_scored, constrain

        table = table_of_search(options.common)
        state = begin(options)
        space = state.net.space
        labels: dict[str, Any] = {"grown": []}
        check_scored(state.images, table)
        constrain(state, table)
        if not state.holds_out_images:
            labels[ONE_SHOT_IMAGES] = TRAINING
        if (baseline := state.judge.baseline(space.name, table)) is not None:
            labels |= baseline.fields()
        return Begun(state, data_facts(space, table, state.images, state.split), labels, table)

    def loop(self, begun: "Begun[SearchState]", writer: SearchWriter, console: "Console") -> None:
        """Search to the last epoch."""
        from nasbench1shot1.one_shot_search.loop import run_search
        from nasbench1shot1.one_shot_search.screen import announce, progress

        announce(begun.state, begun.table, writer.shown_folder, console)
        with progress(begun.state, console) as bar:
            reporter = CallbackReporter(bar, begun.state, writer.folder, self.callbacks)
            run_search(begun.state, begun.table, writer, reporter)

    def summarise(self, run: Run, begun: "Begun[SearchState]") -> dict[str, Any]:
        """Return the result of the last epoch, or of the one to which the search went back."""
        lines = Run.read_lines(run.folder)
        notes = [note.format(optimizer=begun.state.config.optimizer) for note in _notes(run.folder, lines, begun.state)]
        return {**summarise(run.config, lines, begun.table.id), **({NOTE: " ".join(notes)} if notes else {})}

    def present(self, run: Run, begun: "Begun[SearchState]", console: "Console") -> None:
        """Draw the regret and the cells."""
        from nasbench1shot1.one_shot_search.pictures import save_pictures
        from nasbench1shot1.one_shot_search.screen import show_result

        save_pictures(run, begun.table)
        show_result(run, begun.table, console)

    def changes(self, run: Run, options: SearchOptions, begun: "Begun[SearchState]") -> dict[str, Any]:
        """Record that the first epochs followed the schedules of a shorter search."""
        if not (grown := super().changes(run, options, begun)):
            return {}
        growth = {"from": run.config["epochs"], "to": options.common.epochs, "after_epoch": begun.state.epoch}
        return {**grown, "grown": [*run.config["grown"], growth]}


def _notes(folder: Path, lines: Sequence[Mapping[str, Any]], state: "SearchState") -> Iterator[str]:
    """Yield the warnings that apply to a search."""
    if _is_unmoved(folder, lines, state):
        yield UNMOVED
    if state.draws_globally:
        yield DRAWS_GLOBALLY


def _is_unmoved(folder: Path, lines: Sequence[Mapping[str, Any]], state: "SearchState") -> bool:
    """Return whether all epochs have the Λ and the architecture of epoch 0, although the search learns Λ."""
    if not (state.method.learns_parameters and any(phase.moves_parameters for phase in state.phases)):
        return False
    is_moved = any((values != values[0]).any() for values in read_parameters(folder / PARAMETERS).values())
    return not is_moved and len({line["architecture"] for line in lines}) == 1


def default_folder(options: SearchOptions, last: int | str) -> Path:
    """Return the folder of a search, or of a group of them, that names no other."""
    common = options.common
    return Path("runs") / f"{common.optimizer.rpartition(':')[2]}-{search_space(common.space).name}-{last}"


@default_modes()
def check_recorded_phases(run: Run, options: SearchOptions) -> None:
    """Raise InvalidInputError if epochs that a search has trained would now be in other phases.

    More epochs can change the phases, and so can another version of the method's code.

    Args:
        run: the search.
        options: its options, perhaps with more epochs.
    """
    import torch

    epochs, recorded = options.common.epochs, run.config["epochs"]
    space, generator = one_shot(search_space(options.common.space)), torch.Generator().manual_seed(0)
    method = options.create_method(space, generator, torch.device("cpu"))
    before, after = (method.phases(number, options.common.warm_start_epochs) for number in (recorded, epochs))
    check_phases(after, epochs)
    trained = Run.read_lines(run.folder)[1:]
    if epochs != recorded and (epoch := first_moved_epoch(before, after, len(trained))) is not None:
        raise InvalidInputError(
            f"'{run.folder}' cannot continue with {option('epochs', epochs)}: its epoch {epoch} was in the phase "
            f"{phase_at(before, epoch)[0].name}, but would be in {phase_at(after, epoch)[0].name}; start a new search "
            "of that length"
        )
    for epoch, line in enumerate(trained, start=1):
        name, now = line.get("phase"), phase_at(after, epoch)[0].name
        if now != name and not (name is None and now in USUAL):
            raise InvalidInputError(
                f"'{run.folder}' cannot continue: its epoch {epoch} was in the phase {name or USUAL[1]}, but "
                f"{options.common.optimizer} now assigns it to {now}; start a new search, or restore the method's code"
            )


def check_data(options: SearchOptions, resumed: Run | None = None) -> None:
    """Raise the UserError that a search would raise before it writes anything, such as for missing images.

    Args:
        options: the options of the search.
        resumed: the search that is resumed, whose images and table must be the recorded ones; None for a new one.
    """
    begun = SearchKind().begin(replace(options, common=replace(options.common, device="cpu")), resumed)
    if resumed is not None:
        check_facts(resumed.folder, resumed.config, begun.facts)
