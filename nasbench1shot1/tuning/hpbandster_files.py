"""A study in hpbandster's files, which hpbandster's tools and DeepCAVE open.

`configs.json` has one line per configuration and `results.json` one line per observation, as hpbandster's
`json_result_logger` writes them; `hpbandster.core.result.logged_results_to_HBS_result` reads both. DeepCAVE's converter
for BOHB also needs the ConfigSpace space as `configspace.json`, which every study has.

The files have no test errors or test regrets, because a tuner could be started from them.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nasbench1shot1.ground.files import atomic_write
from nasbench1shot1.proposers.configurations import parse_id
from nasbench1shot1.runs.folder import CONFIG_SPACE, read_lines
from nasbench1shot1.tuning.config_spaces import write_config_space
from nasbench1shot1.tuning.engine.logs import SUBMISSIONS
from nasbench1shot1.tuning.record import Study

CONFIGS, RESULTS = "configs.json", "results.json"
TIMES = ("submitted", "started", "finished")
SUCCESS = "SUCCESS"
"""State of a finished run in DeepCAVE, which reads it from `info`."""
TEST_VALUES = ("table_test_error", "test_regret")
_ELSEWHERE = ("number", "configuration_id", "budget", "model_based", "loss", "failure", *TIMES, *TEST_VALUES)

Line = Mapping[str, Any]


def config_line(submission: Line) -> list[Any]:
    """Return a line of submissions.jsonl as a line of configs.json: id, configuration, whether a model proposed it."""
    info = {"model_based_pick": submission["model_based"]}
    return [list(parse_id(submission["configuration_id"])), dict(submission["configuration"]), info]


def result_line(observation: Line) -> list[Any]:
    """Return an observation as a line of results.json: id, budget, times, result, exception.

    Times are in seconds since the study began. A diverged run has an exception instead of a result, as hpbandster
    records it.
    """
    times = {name: observation[name] for name in TIMES}
    start = [list(parse_id(observation["configuration_id"])), float(observation["budget"]), times]
    if observation["loss"] is None:
        return [*start, None, observation["failure"]]
    info = {name: value for name, value in observation.items() if name not in _ELSEWHERE}
    return [*start, {"loss": observation["loss"], "info": {"state": SUCCESS, **info}}, None]


def write_hpbandster_files(study: Study, folder: Path | None = None) -> None:
    """Write configs.json and results.json from a study's record, each atomically.

    Existing files are replaced. A configuration that was submitted at several budgets has one line in configs.json.

    Args:
        study: the study, finished or not.
        folder: where to write, with a copy of configspace.json. Default: the study's folder, which already has it.

    Raises:
        DamagedFileError: the record of the study is damaged.
        UserError: the files cannot be written.
    """
    target, first = folder or study.folder, dict[str, Line]()
    for submission in read_lines(study.folder / SUBMISSIONS):
        first.setdefault(submission["configuration_id"], submission)
    _write_lines(target / CONFIGS, map(config_line, first.values()))
    _write_lines(target / RESULTS, map(result_line, study.lines))
    if target != study.folder:
        write_config_space(study.config_space, target / CONFIG_SPACE)


def _write_lines(path: Path, lines: Iterable[list[Any]]) -> None:
    with atomic_write(path) as file:
        file.writelines((json.dumps(line, allow_nan=False) + "\n").encode() for line in lines)
