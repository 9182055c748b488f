"""Tuning an optimizer's hyperparameters, from options to a finished study: a new one, or one that is resumed."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.arguments import options_by_keyword
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import as_path, write_json
from nasbench1shot1.named_data import check_importable, with_names
from nasbench1shot1.one_shot_search.config import data_facts
from nasbench1shot1.one_shot_search.memory import check_fits
from nasbench1shot1.one_shot_search.options import SearchOptions
from nasbench1shot1.one_shot_search.searching import table_of_search
from nasbench1shot1.proposers.configurations import require_extra
from nasbench1shot1.registry import one_shot, search_space
from nasbench1shot1.runs.description import COMMON, description, updated_description
from nasbench1shot1.runs.folder import CONFIG, CONFIG_SPACE, SUMMARY
from nasbench1shot1.runs.lifecycle import check_is_new, existing_run, new_run
from nasbench1shot1.runs.options import check_ranges, check_unchanged, flag, option_names, typed_options
from nasbench1shot1.tuning.config_spaces import check_searches, config_space, write_config_space
from nasbench1shot1.tuning.evaluation import check_has_objective
from nasbench1shot1.tuning.options import (
    PER_SESSION,
    StudyOptions,
    TuningOptions,
    check_not_set,
    study_options,
)
from nasbench1shot1.tuning.record import SEARCH_OPTIONS, Study, StudyWriter
from nasbench1shot1.tuning.running import run_session

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.images.image_set import ImageSet
    from nasbench1shot1.images.splits import Split
    from nasbench1shot1.optimizer import OneShotOptimizer

MAY_GROW = ("iterations",)


@options_by_keyword('nb.tune("darts", space="s1")')
def tune(
    optimizer: "str | type[OneShotOptimizer] | None" = None,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    allow_module: str | None = None,
    console: "Console | None" = None,
    **options: Any,
) -> Study:
    """Tune the hyperparameters of a one-shot optimizer, or resume a study that was stopped.

    Args:
        optimizer: its name, its class in an importable module, or "module:Class"; "darts" if not given.
        out: the study's folder, which must not exist; `runs/tune-<optimizer>-<space>-<tuner>-<seed>` if not given.
        resume: the folder of a study to resume. Of the other options, only `iterations` may increase, and `workers`,
            `host`, `port` and `wait_for_workers` may change.
        allow_module: on resuming, a module that may be imported because the study's config.json names it.
        console: a rich console for the progress; a new one if not given. `Console(quiet=True)` is silent.
        options: the fields of `tuning.options.TuningOptions`: space="s1", config_space="cs2", workers=2, …, and
            options of every search, such as scale="quick", except those that the study sets.

    Returns:
        The finished study.

    Raises:
        UserError: hpbandster is not installed, a name or option is unknown, a value is out of range, the folder exists,
            no worker connects, or a search fails for another reason than divergence. Recorded observations are kept,
            and the study can be resumed.
        RunStoppedError: Ctrl-C; it names the folder to resume.
    """
    require_extra("hpbandster")
    options = with_names(options)
    check_importable(str(options.get("space")), "space")
    given = options if optimizer is None else {"optimizer": optimizer_name(optimizer), **options}
    if resume is None:
        return _start(study_options(given), out, console)
    if out is not None:
        raise InvalidInputError("--resume continues in the study's own folder: remove --out")
    folder = as_path(resume, "--resume")
    _update(folder, {name: value for name, value in given.items() if value is not None}, allow_module)
    return run_session(folder, console)


def optimizer_name(optimizer: Any) -> Any:
    """Return the name of an optimizer; raises InvalidInputError for a class that worker processes cannot import."""
    name = f"{optimizer.__module__}:{optimizer.__qualname__}" if isinstance(optimizer, type) else optimizer
    if isinstance(name, str) and name.startswith("__main__:"):
        raise InvalidInputError(
            f"the workers of a study cannot import '{name}' from a script or a notebook: move it into a module"
        )
    return name


def _start(options: StudyOptions, out: str | Path | None, console: "Console | None") -> Study:
    """Check everything and write the description of a new study, then run it."""
    from importlib.metadata import version

    from nasbench1shot1.one_shot_search.state import load_halves
    from nasbench1shot1.runs.environment import environment
    from nasbench1shot1.tuning.engine.master import make_proposer

    tuning, common = options.tuning, options.search.common
    space = config_space(tuning.config_space, options.fixed)
    table = table_of_search(common)
    images, halves = load_halves(common)
    check_has_objective(table, tuning.space, images.dataset)
    check_searches(tuning.config_space, space, options.fixed, lambda found: _check_search(found, images, halves))
    make_proposer(tuning.tuner, space, tuning.brackets, tuning.seed)  # refuses what the tuner does not support
    folder = as_path(out, "--out") if out is not None else _default_folder(tuning)
    check_is_new(folder)
    with new_run(folder, StudyWriter, Study) as writer:
        sections = {COMMON: vars(tuning), SEARCH_OPTIONS: options.shared(space)}
        facts = data_facts(search_space(tuning.space), table, images, halves)
        write_config_space(space, folder / CONFIG_SPACE)
        packages = ("hpbandster", "Pyro4", *(["scikit-learn", "smac"] if tuning.tuner == "smac" else []))
        versions = {package: version(package) for package in packages}
        writer.describe(description(Study.KIND, sections, facts), {**environment(common.device), **versions})
    return run_session(folder, console)


def _check_search(options: SearchOptions, images: "ImageSet", halves: "Split") -> None:
    """Raise UserError for a search that needs more memory than this machine has, or more images than a half has."""
    from nasbench1shot1.one_shot_search.state import check_batch

    check_fits(options.common, one_shot(search_space(options.common.space)), images.classes, images.side)
    check_batch(options.common, halves)


def _default_folder(tuning: TuningOptions) -> Path:
    space = search_space(tuning.space).name
    return Path("runs") / f"tune-{tuning.optimizer.rpartition(':')[2]}-{space}-{tuning.tuner}-{tuning.seed}"


def _update(folder: Path, given: Mapping[str, Any], allow_module: str | None) -> None:
    """Check the options that are given on resuming, and record those that may change.

    Raises InvalidInputError if an option differs from the recorded one and may not change.
    """
    study = Study.open(folder)
    study.check_trusted(allow_module, given)
    own = {name: value for name, value in given.items() if name in option_names(TuningOptions)}
    _check_shared(study, {name: value for name, value in given.items() if name not in own})
    typed = typed_options(TuningOptions, own)
    check_unchanged(folder, study.config, {n: v for n, v in typed.items() if n not in PER_SESSION}, MAY_GROW)
    changed = {name: value for name, value in typed.items() if study.config[name] != value}
    check_ranges(replace(study.options, **changed))
    if not changed:
        return
    with existing_run(folder, StudyWriter, Study):
        if "iterations" in changed:
            (folder / SUMMARY).unlink(missing_ok=True)  # of the shorter study
        write_json(folder / CONFIG, updated_description(folder, changed))


def _check_shared(study: Study, given: Mapping[str, Any]) -> None:
    """Raise InvalidInputError for an option of every search that is not recorded, or differs from the record."""
    check_not_set(given)
    for name in given:
        if name not in study.shared_options:
            raise InvalidInputError(f"{flag(name)} is not an option of '{study.folder}': remove it")
    check_unchanged(study.folder, study.shared_options, given, ())
