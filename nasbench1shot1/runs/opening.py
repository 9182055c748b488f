"""Opening the folder of any kind of run."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from nasbench1shot1.ground.errors import InvalidInputError, UserError
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.ground.plugins import Group, imported
from nasbench1shot1.runs.folder import SEEDS, read_description
from nasbench1shot1.runs.folder import TRAININGS as TRAINING_GROUP
from nasbench1shot1.runs.next_command import resume_command
from nasbench1shot1.runs.record import kind_in_words

KINDS = {
    "black-box study": "nasbench1shot1.black_box_search.record:BlackBoxStudy",
    "search": "nasbench1shot1.one_shot_search.record:Run",
    "recorded search": "nasbench1shot1.recording.record:RecordedSearch",
    "proxy training": "nasbench1shot1.proxy_training.record:ProxyTrainings",
    "ranking": "nasbench1shot1.experiments.correlation.record:Ranking",
    "tuning": "nasbench1shot1.tuning.record:Study",
}
"""The record class of every kind of run, as module:class; imported when a run of the kind is opened. Other packages add
kinds through the entry-point group `nasbench1shot1.kinds`."""
TRAININGS = "nasbench1shot1.cell_training.record:record_class"
"""A function that returns the record class of a kind of training, or None: each benchmark has its own kind."""
GROUPS = {
    SEEDS: "nasbench1shot1.one_shot_search.group:SearchGroup",
    TRAINING_GROUP: "nasbench1shot1.cell_training.group:TrainingGroup",
}
"""The record classes of groups of runs, by the file that identifies their folder, which has no config.json."""


def open_run(folder: str | Path) -> Any:
    """Open the folder of any kind of run for reading.

    Args:
        folder: folder of a search, a group of seeds, a training, proxy trainings, a ranking or a study.

    Returns:
        The run's record: `nb.Run` for a search, `recording.record.RecordedSearch` for what `nb.Recorder` recorded,
        `nb.SearchGroup` for a group of seeds, `cell_training.record.Training` for a training,
        `cell_training.group.TrainingGroup` for a group of trainings, `proxy_training.record.ProxyTrainings`
        for proxy trainings, `experiments.correlation.record.Ranking` for a ranking, `tuning.record.Study` for a tuning
        study, `nb.BlackBoxStudy` for a black-box study.

    Raises:
        InvalidInputError: the folder is not a run folder, or this version does not support the kind of run.
        DamagedFileError: config.json is damaged.
    """
    path = as_path(folder, "folder")
    for name, group in GROUPS.items():
        if (path / name).is_file():
            return imported(group).open(path)
    kind, _ = read_description(path)
    if (record := _record_class(kind)) is None:
        raise InvalidInputError(
            f"'{path}' holds a run of the kind '{kind}', which this version does not support: update nasbench1shot1"
        )
    return record.open(path)


def check_resumable(folder: str | Path, command: str) -> None:
    """Raise InvalidInputError if a folder holds a run that another command resumes; the message names that command.

    Only the kind is checked: a folder that cannot be read, or whose kind is unknown, is valid.
    """
    path = as_path(folder, "resume", is_option=True)
    kind, owner = _kind_and_command(path)
    if owner and owner != command and " " not in owner:  # `reproduce` does not have --resume
        raise InvalidInputError(f"'{path}' is {kind}: resume it with {resume_command(owner, path)}")


def _kind_and_command(folder: Path) -> tuple[str, str]:
    """Return the kind of a run in words, with an article, and the command that resumes it; empty strings if unknown."""
    if (folder / SEEDS).is_file():
        return "a group of searches", "search"
    with suppress(UserError, OSError):
        kind, _ = read_description(folder)
        if (record := _record_class(kind)) is not None:
            return kind_in_words(kind), str(record.COMMAND)
    return "", ""


def _record_class(kind: str) -> Any:
    """Return the record class of a kind of run; None if the kind is unknown."""
    if kind in KINDS:
        return imported(KINDS[kind])
    kinds = Group("kind of run", "nasbench1shot1.kinds", {})
    return imported(TRAININGS)(kind) or (kinds.load(kind) if kind in kinds.names() else None)
