"""The config.json of a run: its kind, its options in sections, and facts about its data."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.folder_swap import is_abandoned
from nasbench1shot1.runs.folder import CONFIG, damaged_file_error, read_object

KIND, COMMON, OWN = "kind", "options", "optimizer_options"
SECTIONS = (COMMON, OWN)
"""Sections of options: the common options of a kind of run and, in a search, the options of its optimizer."""
SEARCH = "search"
"""The kind of a folder whose config.json was written before every kind of run had a name."""
RECORDED = "recorded search"
"""The kind of a folder that `nb.Recorder` wrote; its `optimizer` is only a label."""


def description(kind: str, sections: Mapping[str, Mapping[str, Any]], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of config.json.

    Args:
        kind: kind of the run.
        sections: options by the names in `SECTIONS`.
        facts: other fields, such as the data of the run.
    """
    return {KIND: kind, **sections, **facts}


def read_description(folder: Path) -> tuple[str, dict[str, Any]]:
    """Read the kind of a run, and all other fields of its config.json, flat, with or without sections.

    Raises:
        InvalidInputError: the folder is not a run folder.
        DamagedFileError: config.json is damaged.
    """
    path = folder / CONFIG
    if not path.is_file():
        raise InvalidInputError(f"'{folder}' is not a run folder: {_missing(folder)}")
    content = read_object(path)
    kind = content.pop(KIND, SEARCH)
    sections = [content.pop(name) for name in SECTIONS if name in content]
    if not isinstance(kind, str) or not all(isinstance(section, dict) for section in sections):
        raise damaged_file_error(path, "its kind or a section is missing")
    return kind, {name: value for section in [*sections, content] for name, value in section.items()}


def updated_description(folder: Path, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a run's config.json with changed options or facts, in its recorded form.

    Raises DamagedFileError if config.json is damaged.
    """
    content = read_object(folder / CONFIG)
    for name, value in changes.items():
        holder = next((content[s] for s in SECTIONS if name in content.get(s, {})), content)
        holder[name] = value
    return content


def _missing(folder: Path) -> str:
    """Return in words what is missing from a folder that should hold a run."""
    if is_abandoned(folder):
        return (
            "a search with --overwrite was killed before it began; nb1shot1 search --resume "
            f"{shlex.quote(str(folder))} restores the old search"
        )
    if not folder.is_dir():
        return "there is no such folder"
    if groups := sorted(path.parent.name for path in folder.glob(f"*/{CONFIG}"))[:1]:
        return f"{CONFIG} is missing; it holds several runs, so name one of them, such as {folder / groups[0]}"
    return f"{CONFIG} is missing"
