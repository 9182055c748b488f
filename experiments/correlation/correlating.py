"""Ranking a run's architectures and comparing the ranking with true errors, from options to a finished record."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nasbench1shot1.experiments.correlation.evaluation import check_preset, run_ranking
from nasbench1shot1.experiments.correlation.expectation import expected_seconds, images_to_evaluate
from nasbench1shot1.experiments.correlation.options import (
    RankingOptions,
    chosen_budgets,
    chosen_epochs,
    default_images,
    ranking_options,
)
from nasbench1shot1.experiments.correlation.outcome import write_outcome
from nasbench1shot1.experiments.correlation.record import AUTO_IMAGES, Ranking
from nasbench1shot1.experiments.correlation.state import RankingState, list_facts
from nasbench1shot1.experiments.correlation.truth import ALL, table_mask, table_of_ranking, true_errors
from nasbench1shot1.ground.arguments import options_by_keyword
from nasbench1shot1.ground.errors import InvalidInputError, UserError, option
from nasbench1shot1.ground.files import as_path, sha256
from nasbench1shot1.images.batches import batches, epoch_generator
from nasbench1shot1.one_shot_search.beginning import load_halves
from nasbench1shot1.one_shot_search.kept_weights import require_kept_epochs, supernet_of
from nasbench1shot1.one_shot_search.options import SearchConfig
from nasbench1shot1.one_shot_search.record import Run, open_search
from nasbench1shot1.registry import check_trusted, default_table, import_trusted, one_shot, search_space, with_names
from nasbench1shot1.runs import running
from nasbench1shot1.runs.folder import CONFIG, METRICS, SUMMARY, check_facts, weights_path
from nasbench1shot1.runs.kind import Begun, Kind
from nasbench1shot1.runs.next_command import resume_advice
from nasbench1shot1.runs.options import recorded_options, required
from nasbench1shot1.runs.writer import RunWriter
from nasbench1shot1.tables.bounds import NAMES
from nasbench1shot1.tables.table import Table, load_table

if TYPE_CHECKING:
    from rich.console import Console

MAIN = "spearman_error"
"""Criterion without which a ranking ends in an error."""


@options_by_keyword("nb.correlate(run, images=1000)")
def correlate(
    run: "Run | str | Path | None" = None,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    allow_module: str | None = None,
    console: "Console | None" = None,
    **options: Any,
) -> Ranking:
    """Rank a run's architectures by its shared weights, and correlate the ranking with the true errors of a table.

    If `out` holds a stopped ranking with equal options, the call continues it.

    Args:
        run: a search that used `keep_weights_every`, or its folder.
        out: the ranking's folder; `<run>/ranking` if not given.
        resume: the folder of a ranking to resume. Cannot be combined with other options.
        allow_module: a module that may be imported because the run's config.json names it.
        console: a rich console for the progress; a new one if not given. `Console(quiet=True)` is silent.
        options: the fields of `experiments.correlation.options.RankingOptions`: epochs=(5, 10), architectures="all",
            images=1000, batch_norm="recalibrated", budgets=(4, 12, 36, 108), seed=0, … The default of `images` is
            1,000, or all images of the architecture half if it has fewer.

    Returns:
        The finished ranking.

    Raises:
        UserError: an option is unknown or out of range, the run has no saved weights, the folder holds other files, or
            the disk is full. Also raised, after all files are written, if Spearman's ρ over all architectures is
            undefined at an epoch.
        RunStoppedError: Ctrl-C; the message names the folder to resume.
    """
    import_trusted(allow_module)
    ranking = rank(run, out=out, resume=resume, console=console, **options)
    _check_defined(ranking)
    return ranking


def rank(
    run: "Run | str | Path | None" = None,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    console: "Console | None" = None,
    **options: Any,
) -> Ranking:
    """Rank as `correlate` does, but do not raise an error if a correlation is undefined."""
    if resume is not None:
        if run is not None or out is not None or options:
            raise InvalidInputError(
                f"{option('resume')} continues a ranking with its recorded options: remove all other options"
            )
        return running.run(RankingKind(), {}, resume=resume, console=console)
    if run is None:
        raise InvalidInputError("no run is given: give the folder of a search")
    searched = run if isinstance(run, Run) else open_search(getattr(run, "folder", run))  # also refuses other records
    kind = RankingKind(searched)
    folder = as_path(out, "out", is_option=True) if out is not None else searched.folder / "ranking"
    wanted = kind.options(options)
    if (folder / CONFIG).is_file():
        _check_same(Ranking.open(folder), searched, wanted)
        return running.resume_run(kind, folder, {}, None, console)
    return running.start_run(kind, wanted, folder, console=console)


class RankingKind(Kind[RankingOptions, RankingState, Ranking, RunWriter[Ranking]]):
    """A ranking of a search's architectures by its shared weights.

    Args:
        run: the search. Default: the recorded one; needed on resuming only if its folder has moved.
    """

    RECORD, WRITER, WORD = Ranking, RunWriter[Ranking], "ranking"

    def __init__(self, run: Run | None = None) -> None:
        self.run = run

    def options(self, given: Mapping[str, Any]) -> RankingOptions:
        """Return resolved options; the search decides the defaults of the table and the images."""
        assert self.run is not None  # only a ranking that is resumed names none, and it keeps its options
        known = {name: value for name, value in with_names(given).items() if value is not None}
        usual = {
            "table": default_table(self.run.config),
            "images": default_images(self.run.config["architecture_images"]),
        }
        own = {name: self.run.config[name] for name in NAMES if name in self.run.config}
        usual |= {} if any(name in known for name in NAMES) else own
        wanted = ranking_options({**usual, **known})
        chosen_epochs(wanted.epochs, require_kept_epochs(self.run), self.run.folder)
        chosen_budgets(wanted.budgets, load_table(wanted.table).epochs)
        return wanted

    def recorded_options(self, run: Ranking) -> RankingOptions:
        """Return the recorded options."""
        return run.options.resolved()

    def begin(self, options: RankingOptions, resumed: Ranking | None) -> Begun[RankingState]:
        """Read the search, the images and the table, and select the architectures."""
        searched = self.run or required(resumed).run
        check_trusted("search_spaces", "space", searched.config["space"], searched.folder / CONFIG)
        table = table_of_ranking(searched, search_space(searched.config["space"]), options.table)
        state = _state(searched, options, table, resumed.config if resumed else None)
        if resumed is None:
            _check_table(state, table)
        labels: dict[str, Any] = {"run": str(searched.folder.absolute())}
        labels |= {AUTO_IMAGES: state.auto_images} if state.auto_images else {}
        return Begun(state, state.identity, labels, table)

    def changes(self, run: Ranking, options: RankingOptions, begun: Begun[RankingState]) -> dict[str, Any]:
        """Record the folder of the search, which may have moved."""
        return {"run": begun.labels["run"]}

    def loop(self, begun: Begun[RankingState], writer: RunWriter[Ranking], console: "Console") -> None:
        """Evaluate the remaining architectures, then compute and write the results."""
        from nasbench1shot1.experiments.correlation.screen import RankingProgress, announce

        state, table = begun.state, begun.table
        total, done = _sizes(state)
        if not console.quiet:  # the announcement times evaluations
            announce(state, table, writer.shown_folder, expected_seconds(state, table, total - done), console)
        with RankingProgress(total, done, console) as progress:
            run_ranking(state, writer, progress)
            (writer.folder / SUMMARY).unlink(missing_ok=True)  # the summary of an earlier call is replaced
            progress.statistics(len(state.epochs))
            state.summary = write_outcome(Ranking.open(writer.folder), table, writer.folder, progress.step)

    def summarise(self, run: Ranking, begun: Begun[RankingState]) -> dict[str, Any]:
        """Return the correlations at the end, and what they rest on."""
        return required(begun.state.summary)

    def present(self, run: Ranking, begun: Begun[RankingState], console: "Console") -> None:
        """Print the correlations."""
        from nasbench1shot1.experiments.correlation.screen import show

        show(run.summary, run.folder, console, run.options.format)


def _check_table(state: RankingState, table: Table) -> None:
    """Raise OutOfDomainError, before anything is evaluated, if a table lacks an architecture or all accuracies."""
    numbers = np.unique(np.concatenate([state.numbers(epoch) for epoch in state.epochs]))
    architectures = state.architectures(numbers[table_mask(table, state.space, numbers)])
    budgets = chosen_budgets(state.options.budgets, table.epochs)
    true_errors(table, architectures, budgets, state.run.config["dataset"])


def _check_same(ranking: Ranking, run: Run, options: RankingOptions) -> None:
    """Raise InvalidInputError if the ranking belongs to another run or has other options."""
    if ranking.config["run"] != str(run.folder.absolute()) and not _has_weights(run, ranking):
        raise InvalidInputError(
            f"'{ranking.folder}' holds the ranking of {ranking.config['run']}: choose another {option('out')}"
        )
    for name, wanted in options.as_dict().items():
        if (recorded := ranking.config.get(name)) != wanted:
            resume = "" if ranking.is_finished else f" continue its ranking with {resume_advice(ranking.folder)},"
            raise InvalidInputError(
                f"'{ranking.folder}' holds a ranking with {option(name, recorded)}, not {wanted}:{resume} choose "
                f"another {option('out')}, or delete this folder"
            )


def _has_weights(run: Run, ranking: Ranking) -> bool:
    """Return whether a run has the weights that were ranked, even if its folder has moved since."""
    recorded = ranking.config["weights_sha256"]
    return all(_weights_sha256(run, int(epoch)) == found for epoch, found in recorded.items())


def _weights_sha256(run: Run, epoch: int) -> str | None:
    path = weights_path(run.folder, epoch)
    return sha256(path) if path.is_file() else None


def _state(run: Run, options: RankingOptions, table: Table, recorded: Any) -> RankingState:
    """Set up a ranking; a resumed ranking takes its number of images from the recorded configuration."""
    space = one_shot(search_space(run.config["space"]))
    check_preset(space, options.preset)
    kept = recorded["evaluated_epochs"] if recorded else require_kept_epochs(run)
    epochs = kept if recorded else chosen_epochs(options.epochs, kept, run.folder)
    _check_recorded(run, epochs)
    config = recorded_options(SearchConfig, run.config, run.folder / CONFIG)
    images, split = load_halves(config)
    check_facts(run.folder, run.config, {"images_sha256": images.sha256})
    half = batches(split.architecture, len(split.architecture), epoch_generator(options.seed, "ranking", 0))
    if not recorded:  # a damaged file is found before anything is written; a resumed ranking compares the SHA-256
        for epoch in epochs:
            supernet_of(run, epoch)
    weights = {str(epoch): _weights_sha256(run, epoch) for epoch in epochs}
    bounds, dataset = options.bounds, run.config["dataset"]
    state = RankingState(
        constraint=None if bounds is None else table.covering(space, present=True).constraint(space, bounds, dataset),
        options=options,
        run=run,
        space=space,
        images=images.to(options.device),
        split=split,
        rows=next(half),
        epochs=epochs,
        identity={
            "run_seed": run.config["seed"],
            "optimizer": run.config["optimizer"],
            "space": run.config["space"],
            "space_id": space.id,
            "table_id": table.id,
            "images_sha256": images.sha256,
            "evaluated_epochs": epochs,
            "weights_sha256": weights,
            **list_facts(options.architectures),
        },
    )
    if recorded:
        count, state.auto_images = recorded["image_count"], recorded.get(AUTO_IMAGES)
    else:
        count, found = images_to_evaluate(state)
        state.auto_images = found.as_dict() if found else None
    state.rows, state.identity["image_count"] = state.rows[:count], count
    return state


def _check_recorded(run: Run, epochs: Sequence[int]) -> None:
    """Raise UserError, before anything is evaluated, if a search's lines are damaged or do not reach these epochs.

    A search that was killed after it saved an epoch's weights, and then resumed, records this epoch again.
    """
    last = len(run.shared_lines) - 1
    if missing := [epoch for epoch in epochs if epoch > last]:
        raise UserError(
            f"'{run.folder}' has weights of epoch {missing[0]}, but no line of this epoch in {METRICS}: resume the "
            f"search first, or choose other {option('epochs')}"
        )


def _check_defined(ranking: Ranking) -> None:
    """Raise UserError if Spearman's ρ of one-shot and true errors is undefined for all architectures at an epoch."""
    summary = ranking.summary
    for epoch, found in summary["epochs"].items():
        if MAIN not in found:
            place = [int(epoch), summary["budget"], summary["split"], MAIN, ALL]
            unknown = f"the table has no {summary['split']} errors after {summary['budget']} epochs for epoch {epoch}"
            cause = next((of["cause"] for of in summary["undefined"] if of["where"] == place), unknown)
            raise UserError(f"{cause}. All files are in {ranking.folder}; summary.json lists the undefined criteria")


def _sizes(state: RankingState) -> tuple[int, int]:
    """Return the total number of evaluations, and the number of finished evaluations."""
    sizes = [len(state.numbers(epoch)) for epoch in state.epochs]
    return sum(sizes), sum(sizes[: state.recorded]) + (state.current.done if state.current else 0)
