"""The commands that repeat recorded runs: all options that differ from the defaults, and what results depend on."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from nasbench1shot1.black_box_search.options import BlackBoxConfig, black_box_options, recorded_study
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.cell_training.group import TrainingGroup
from nasbench1shot1.cell_training.options import TrainingOptions
from nasbench1shot1.cell_training.record import Training
from nasbench1shot1.display.options import PICTURES
from nasbench1shot1.experiments.correlation.options import RankingOptions, ranking_options
from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.ground.errors import UserError, flag, shell_word
from nasbench1shot1.ground.text import typed
from nasbench1shot1.one_shot_search.group import SearchGroup
from nasbench1shot1.one_shot_search.options import SearchConfig, search_options
from nasbench1shot1.one_shot_search.record import Run
from nasbench1shot1.registry import SCRIPT, is_trusted, optimizer
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.runs.next_command import import_advice
from nasbench1shot1.runs.options import option_names, switch_names
from nasbench1shot1.tuning.options import TuningOptions, study_options
from nasbench1shot1.tuning.record import Study

OF_PICTURES = (*PICTURES, "spread")
SELECTING = ("optimizer", "space", "scale", "preset")
"""The options that select the defaults of others."""
MACHINE = ("device", "threads")
ALWAYS = ("seed", "table", *MACHINE)
"""Options that are always written: results depend on them, and their defaults depend on the machine."""
BY_PYTHON = "This run was started from Python with objects that a command cannot name."


class Repeated(NamedTuple):
    """How a run can be repeated.

    Attributes:
        commands: the commands, in order; none if the run was not started by one.
        note: a sentence about what they do not repeat, or why there are none; empty if there is nothing to say.
    """

    commands: Sequence[str]
    note: str = ""


def repeated(record: Any) -> Repeated:
    """Return how the run of a record is repeated: with the recorded options, into a folder of the same name."""
    if isinstance(record, SearchGroup):
        if not record.runs:
            return Repeated((), "Its options are recorded when its first search starts.")
        shared, seeds = {**record.runs[0].config, "seed": None}, seeds_text(record.seeds)
        return _searches(record.folder, shared, {"seeds": seeds})
    if isinstance(record, Run):
        return _searches(record.folder, record.config, {})
    if isinstance(record, BlackBoxStudy):
        return _black_box(record)
    if isinstance(record, Study):
        return _tuning(record)
    if isinstance(record, Ranking):
        return _ranking(record)
    if isinstance(record, Training):
        return _training(record)
    if isinstance(record, TrainingGroup):
        return Repeated(
            (), f"This group of trainings is repeated with train {flag('list')} and a file of its architectures."
        )
    return Repeated((), "nb.Recorder recorded this search: run its program again.")


def _searches(folder: Path, config: Mapping[str, Any], more: Mapping[str, Any]) -> Repeated:
    """Return the commands of a search or of a group of seeds, with one for each time that it was made longer."""
    if unknown := _unnamed(config):
        return Repeated((), unknown)
    lengths = [*(growth["from"] for growth in config["grown"]), config["epochs"]]
    own = optimizer(config["optimizer"]).Hyperparameters
    known = _known({**config, "epochs": lengths[0]}, SearchConfig, own)
    given = _given(known, lambda options: search_options(options).as_dict())
    first = _line("search", {**given, **more, "out": folder}, switch_names(SearchConfig) | switch_names(own))
    longer = [_line("search", {"resume": folder, "epochs": epochs}, set()) for epochs in lengths[1:]]
    return Repeated([first, *longer])


def seeds_text(seeds: Sequence[int]) -> str:
    """Return seeds as `--seeds` takes them, such as "0-5,8"."""
    parts = list[list[int]]()
    for seed in seeds:
        if parts and seed == parts[-1][-1] + 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    return ",".join(str(of[0]) if len(of) == 1 else f"{of[0]}-{of[-1]}" for of in parts)


def _black_box(study: BlackBoxStudy) -> Repeated:
    if study.is_trajectory:
        return Repeated((), "Another program ran these searches; nb.study_from read its record.")
    if study.is_outside:
        return Repeated(
            (), "An optimizer of another library ran these searches with nb.objective: run its program again."
        )
    if unknown := _unnamed(study.config, "black_box_optimizers"):
        return Repeated((), unknown)
    recorded = recorded_study(study.config, study.folder / CONFIG)
    own, unused = type(recorded.own), recorded.method.unused_options(recorded.own)
    switches = switch_names(BlackBoxConfig) | switch_names(own)
    known = {name: value for name, value in _known(study.config, BlackBoxConfig, own).items() if name not in unused}
    given = _given(known, lambda options: black_box_options(options).as_dict())
    return Repeated([_line("blackbox", {**given, "out": study.folder}, switches)])


def _tuning(study: Study) -> Repeated:
    if unknown := _unnamed(study.config):
        return Repeated((), unknown)
    own = optimizer(study.config["optimizer"]).Hyperparameters
    switches = switch_names(TuningOptions) | switch_names(SearchConfig) | switch_names(own)
    tuned = list(study.config_space)
    recorded = {**study.shared_options, **_known(study.config, TuningOptions)}

    def resolved(given: Mapping[str, Any]) -> dict[str, Any]:
        options = study_options(given, tuned=tuned)
        return {**options.shared(tuned), **options.as_dict()}

    given = _given({name: value for name, value in recorded.items() if name not in OF_PICTURES}, resolved)
    note = "Losses depend on the order in which parallel searches end." if study.config["tuner"] != "random" else ""
    return Repeated([_line("tune", {**given, "out": study.folder}, switches)], note)


def _ranking(ranking: Ranking) -> Repeated:
    try:
        search = repeated(ranking.run)
    except UserError:  # it was removed
        search = Repeated((), f"The search that was ranked, '{ranking.config['run']}', is not there.")
    given = _given(_known(ranking.config, RankingOptions), lambda options: ranking_options(options).as_dict())
    words = f"nb1shot1 correlate {shlex.quote(ranking.config['run'])}"
    line = f"{words} {_options({**given, 'out': ranking.folder}, switch_names(RankingOptions))}"
    return Repeated([*search.commands, line], search.note)


def _training(training: Training) -> Repeated:
    kind: type[TrainingOptions] = training.OPTIONS
    recorded = _known(training.config, kind)
    given = _given(recorded, lambda options: kind.from_options(options).as_dict())
    words = f"nb1shot1 train {shlex.quote(training.config.get('architecture') or training.network_id)}"
    return Repeated([f"{words} {_options({**given, 'out': training.folder}, switch_names(kind))}"])


# Options --------------------------------------------------------------------------------------------------------------


def _unnamed(config: Mapping[str, Any], group: str = "optimizers") -> str:
    """Return why a command cannot name the optimizer or the space of a run; empty if it can."""
    for name, kind in (("optimizer", group), ("space", "search_spaces")):
        value = str(config[name])
        if value.startswith(SCRIPT):
            return BY_PYTHON
        if not is_trusted(kind, value):
            return (
                f"The module of the {name} {value} is not imported, so the defaults of its options are unknown. "
                f"{import_advice('report', value)}"
            )
    return ""


def _known(config: Mapping[str, Any], *records: type) -> dict[str, Any]:
    """Return the recorded values of the options that some dataclasses define, without options of pictures."""
    names = [name for record in records for name in option_names(record) if name not in OF_PICTURES]
    return {name: config[name] for name in names if name in config}


def _given(recorded: Mapping[str, Any], resolved: Callable[[Mapping[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Return the options to write: those of `SELECTING` and `ALWAYS`, and those that differ from the defaults.

    Args:
        recorded: the resolved options of a run.
        resolved: returns all options from the given ones; raises UserError if a value is impossible.
    """
    known = {name: value for name, value in recorded.items() if value is not None}
    given = {name: known[name] for name in (*SELECTING, *ALWAYS) if name in known}
    for _ in range(3):  # defaults may depend on options that are not in SELECTING, such as epochs
        try:
            usual = resolved({name: value for name, value in given.items() if name not in MACHINE})
        except UserError:
            return dict(known)
        differing = {name: value for name, value in known.items() if usual.get(name) != value}
        if differing.keys() <= given.keys():
            break
        given |= differing
    return {name: value for name, value in known.items() if name in given}


def _line(name: str, given: Mapping[str, Any], switches: set[str]) -> str:
    return f"nb1shot1 {name} {_options(given, switches)}"


def _options(given: Mapping[str, Any], switches: set[str]) -> str:
    return " ".join(map(partial(_option, switches), given, given.values()))


def _option(switches: set[str], name: str, value: object) -> str:
    if isinstance(value, bool) and name in switches:
        return flag(name if value else f"no_{name}")
    if isinstance(value, tuple | list):
        return f"{flag(name)} {' '.join(shlex.quote(str(word)) for word in value)}"
    return f"{flag(name)} {shlex.quote(typed(value))}"


def report_command(folders: Sequence[Path], file: Path, options: Mapping[str, object]) -> str:
    """Return the command that writes a report of some runs, in place of an earlier one."""
    words = " ".join(map(shell_word, folders))
    return f"nb1shot1 report {words} {_options({'html': file, **options, 'overwrite': True}, {'overwrite'})}"
