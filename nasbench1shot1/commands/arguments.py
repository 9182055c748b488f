"""Arguments that several commands share: architectures, seeds, labels, and the optimizer that a command line means."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from nasbench1shot1.architecture import Architecture, likely_forms
from nasbench1shot1.ground.errors import InvalidInputError, UserError, option, quoted_option, shorten
from nasbench1shot1.ground.files import as_path

MOST_SEEDS = 10_000


def check_not_truncated(text: str | None, has_own_space: bool = False) -> None:
    """Raise InvalidInputError if a text is an architecture that the shell has cut at its first bar.

    The text may name a space that is not registered only if the command line names the space itself.
    """
    if text is None or not re.fullmatch(r"[\w-]+:[0-9,]*", text):
        return
    with suppress(InvalidInputError):
        Architecture.parse(text)
        return
    if not has_own_space:
        check_registered(text.partition(":")[0])
    if any("|" in form.SYNTAX for form in likely_forms(text)):
        raise InvalidInputError(
            f"'{text}' is an incomplete architecture: write it in quotes, because the shell interprets |"
        )


def check_registered(space: str) -> None:
    """Raise InvalidInputError if the name in an architecture's text is not the name of a registered space."""
    from nasbench1shot1.registry import names

    if space not in (known := names("search_spaces")):
        raise InvalidInputError(
            f"'{shorten(space)}' is not a registered search space (known: {', '.join(sorted(known))}): correct it, or "
            f"name your own space with {option('space', 'module:object')}"
        )


def optimizer_name(given: Mapping[str, Any], group: str, default: str) -> str:
    """Return the given optimizer, else the optimizer of the run to resume, else the default.

    Args:
        given: the options that are given, by name.
        group: the optimizer's group in the registry.
        default: the name if neither is there, or if the run cannot be read.

    Raises:
        InvalidInputError: using the recorded optimizer would import a module that is not allowed.
    """
    from nasbench1shot1.registry import check_trusted

    if named := given.get("optimizer"):
        return str(named)
    if recorded := _recorded_optimizer(given.get("resume")):
        check_trusted(group, "optimizer", recorded, given["resume"], given.get("allow_module"))
        return recorded
    return default


def _recorded_optimizer(resume: Path | None) -> str | None:
    """Return the optimizer of the run or group of runs that --resume names; None if unreadable or only a label."""
    if not resume:
        return None
    from nasbench1shot1.runs.folder import OUTSIDE, RECORDED, SEEDS, read_description, read_object

    folder = as_path(resume, "resume", is_option=True)
    with suppress(UserError, OSError, KeyError, TypeError):
        if (folder / SEEDS).is_file():
            return str(read_object(folder / SEEDS)["options"]["optimizer"])
        kind, recorded = read_description(folder)
        return None if kind == RECORDED or recorded.get(OUTSIDE) else str(recorded["optimizer"])
    return None


def parse_seeds(text: str) -> list[int]:
    """Read random seeds from "0-5" or "1,3,8" or both; raises InvalidInputError for anything else."""
    seeds: list[int] = []
    for part in text.split(","):
        if not (match := re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", part.strip())):
            raise InvalidInputError(
                f"{quoted_option('seeds', text)} is not a list of seeds: write them as 0-5 or 1,3,8"
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise InvalidInputError(
                f"{quoted_option('seeds', text)} selects no seed, because {last} is less than {first}: write the lower "
                "one first, as in 0-5"
            )
        if last - first >= MOST_SEEDS:
            raise InvalidInputError(f"{quoted_option('seeds', text)} names more than {MOST_SEEDS:,} seeds: give fewer")
        seeds.extend(range(first, last + 1))
    if len(set(seeds)) != len(seeds):
        raise InvalidInputError(f"{quoted_option('seeds', text)} repeats a seed: give each seed once")
    return seeds


def split_labels(labels: Sequence[str] | None) -> Sequence[str] | None:
    """Return the labels that are given as several words, or as one word with commas."""
    return labels[0].split(",") if labels and len(labels) == 1 else labels
