"""What the runs of figures cost, by kind: seconds of a unit on this machine, and work that depends on no machine."""

import time
from dataclasses import replace
from typing import Protocol

from nasbench1shot1.black_box_search.options import black_box_options
from nasbench1shot1.black_box_search.repeats import Repeats, table_of_study
from nasbench1shot1.experiments.correlation.options import CONTROLLER
from nasbench1shot1.experiments.correlation.state import CONTROLLER_DRAWS
from nasbench1shot1.experiments.reproduction.figures.parts import Options
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.one_shot_search.options import SearchOptions, search_options
from nasbench1shot1.proxy_training.record import proxy_config
from nasbench1shot1.registry import search_space
from nasbench1shot1.runs.folder import as_json_line
from nasbench1shot1.runs.options import option_names
from nasbench1shot1.runs.work import Work
from nasbench1shot1.tuning.options import TuningOptions, study_options

TRIAL = 1.0
"""Seconds of a trial of a study besides its epochs."""
PICTURES = 200_000
"""Bytes of a run's pictures, options and summary."""
LOOK_UPS = 0.25e9
"""Bytes of a process that only looks up a table, without PyTorch."""
TIMED_TRAININGS = 300
"""Trainings of a black-box search that a plan simulates: with SMAC, a whole search at the full scale takes hours."""
RECORD_OF_SEARCH = 4_000
SCORED = 40
"""Bytes that a ranking stores for each architecture."""


class Costed(Protocol):
    """What costs depend on: attributes of `kinds.FigureJob`."""

    @property
    def options(self) -> Options:
        """Resolved options of the run."""

    @property
    def search(self) -> Options:
        """Resolved options of the search that a ranking evaluates."""

    @property
    def units(self) -> int:
        """Number of units of the whole run."""


# Searches -------------------------------------------------------------------------------------------------------------


def search_seconds(job: Costed) -> float:
    """Return the expected seconds of an epoch of a search."""
    from nasbench1shot1.one_shot_search.estimate import seconds_per_epoch

    return seconds_per_epoch(_search(job))


def search_work(job: Costed) -> Work:
    """Return the work of a search."""
    from nasbench1shot1.one_shot_search.work import work_of_search

    return work_of_search(_search(job))


def _search(job: Costed) -> SearchOptions:
    """Return the options of a search; "best" only names a study whose best configuration it has."""
    return search_options({name: value for name, value in job.options.items() if name != "best"})


# Rankings of searches -------------------------------------------------------------------------------------------------


def ranking_seconds(job: Costed) -> float:
    """Return the expected seconds to evaluate all architectures at an epoch."""
    from nasbench1shot1.one_shot_search.estimate import seconds_to_score

    return seconds_to_score(search_options(dict(job.search)), ranked_architectures(job), _images(job))


def ranking_work(job: Costed) -> Work:
    """Return the work of a ranking at all its epochs."""
    from nasbench1shot1.one_shot_search.work import work_to_score

    architectures = ranked_architectures(job)
    of_epoch = work_to_score(search_options(dict(job.search)), architectures, _images(job))
    every = of_epoch.repeated(job.units)
    return every.followed_by(Work(disk=PICTURES + SCORED * architectures * job.units))


def ranked_architectures(job: Costed) -> int:
    """Return the number of architectures that a ranking evaluates at an epoch."""
    wanted = job.options["architectures"]
    if wanted == CONTROLLER:
        return CONTROLLER_DRAWS
    if wanted != "all":
        return int(wanted)
    found = search_space(str(job.search["space"]))
    return found.count("no_loose_ends" if "no_loose_ends" in found.kinds else "all")


def _images(job: Costed) -> int:
    return int(job.options["images"])


# Studies of tuned optimizers ------------------------------------------------------------------------------------------


def tuning_options(options: Options) -> TuningOptions:
    """Return the options of a study itself, without the options of its searches."""
    names = option_names(TuningOptions)
    return TuningOptions(**{name: value for name, value in options.items() if name in names})


def study_seconds(job: Costed) -> float:
    """Return the expected seconds of an epoch of a study's searches."""
    from nasbench1shot1.one_shot_search.estimate import seconds_per_epoch

    each = seconds_per_epoch(study_options(job.options).search)
    return each + TRIAL * tuning_options(job.options).brackets.planned / job.units


def study_work(job: Costed) -> Work:
    """Return the work of a study, all of whose searches start from scratch and have the default hyperparameters."""
    from nasbench1shot1.one_shot_search.work import work_of_search

    shortest, total = study_options(job.options).search, Work(disk=PICTURES)
    for epochs, count in tuning_options(job.options).brackets.searches.items():
        search = replace(shortest, common=replace(shortest.common, epochs=epochs))
        total = total.followed_by(work_of_search(search).repeated(count))
    return total


# Trainings of proxies -------------------------------------------------------------------------------------------------


def proxy_seconds(job: Costed) -> float:
    """Return the expected seconds of a training."""
    from nasbench1shot1.proxy_training.loop import seconds_per_architecture

    return seconds_per_architecture(proxy_config(job.options))


def proxy_work(job: Costed) -> Work:
    """Return the work of all trainings of a size of the proxy."""
    from nasbench1shot1.proxy_training.work import work_of_proxies

    return work_of_proxies(proxy_config(job.options))


# Black-box studies ----------------------------------------------------------------------------------------------------


def black_box_seconds(job: Costed) -> float:
    """Return the expected seconds of a search of a study, from at most `TIMED_TRAININGS` trainings of the second one.

    The first search opens the table's columns. A search with more trainings is expected to take proportionally longer.
    Optimizers whose proposals take longer the more trainings they know take longer than that.
    """
    repeats = _repeats(job)
    repeats.search(0, TIMED_TRAININGS)
    started = time.perf_counter()
    found = repeats.search(1, TIMED_TRAININGS)
    taken, limits = time.perf_counter() - started, repeats.limits
    if found.evaluations < TIMED_TRAININGS:  # the whole search
        return taken
    return taken / min(max(found.seconds / limits.seconds, found.evaluations / limits.evaluations), 1)


def black_box_work(job: Costed) -> Work:
    """Return the work of a study, which looks up trainings and computes no network; its record needs disk space.

    If the table does not cover the space, the record of a search counts as `RECORD_OF_SEARCH` bytes.
    """
    try:
        repeats = _repeats(job)
        size = len(as_json_line(repeats.line_of(0, repeats.search(0, TIMED_TRAININGS))))
    except UserError:
        size = RECORD_OF_SEARCH
    return Work(memory=LOOK_UPS, disk=PICTURES + job.units * size)


def _repeats(job: Costed) -> Repeats:
    options = black_box_options(job.options)
    found = Repeats(options, table_of_study(options))
    found.check_objective()
    return found
