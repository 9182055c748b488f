"""Import of NATS-Bench's archives of the topology space, which only the package nats_bench unpickles."""

from importlib import import_module
from pathlib import Path
from typing import Any

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.ground.files import reason
from nasbench1shot1.table_import.nasbench201_trials import TrialAssembly
from nasbench1shot1.table_import.source import NATS_META, PBZ2, Progress, Source


def read_archive(source: Source, progress: Progress) -> TrialAssembly:
    """Read an unpacked archive's folder, with one file per architecture, or the single file of all architectures.

    Both are pickles. The package nats_bench unpickles them, which runs any code that they contain: only import files
    from a source that you trust.

    Raises:
        UserError: nats_bench is not installed.
        DamagedFileError: nats_bench cannot read a file.
        InvalidInputError: the file is not an archive of the topology space.
    """
    create = _package().create
    if not source.is_folder:
        source.hash_all(progress)
        progress("loading", None)
    try:
        api = create(str(source.path), "tss", fast_mode=source.is_folder, verbose=False)
    except Exception as error:  # unpickling can raise any error
        raise _unreadable(source.path / NATS_META if source.is_folder else source.path, error) from error
    assembly = TrialAssembly(source.path.name)
    indices = _indices(source.path) if source.is_folder else sorted(api.arch2infos_dict)
    for done, index in enumerate(indices):
        for trainings in _trainings(api, source, index):
            assembly.add(api.meta_archs[index], trainings)
        progress("reading", (done + 1) / len(indices))
    return assembly


def _trainings(api: Any, source: Source, index: int) -> list[dict[Any, dict[str, Any]]]:
    """Return the trainings of an architecture for each budget, and free their memory in the API."""
    if index >= len(api.meta_archs):
        raise InvalidInputError(
            f"{source.path.name} has results of an unknown index, {index}: give an official archive"
        )
    try:
        if source.is_folder:
            api.reload(str(source.path), index)
        results_by_budget = api.arch2infos_dict.pop(index)
        return [{key: vars(one) for key, one in of.all_results.items()} for of in results_by_budget.values()]
    except Exception as error:
        file = source.path / f"{index:06d}.pickle{PBZ2}" if source.is_folder else source.path
        raise _unreadable(file, error) from error


def _indices(folder: Path) -> list[int]:
    """Return the indices of the architectures that have a file, ascending."""
    names = (file.name.removesuffix(f".pickle{PBZ2}") for file in folder.glob(f"*.pickle{PBZ2}"))
    return sorted(int(name) for name in names if name.isdecimal())


def _package() -> Any:
    try:
        return import_module("nats_bench")
    except ImportError as error:
        raise UserError(
            "importing an archive of NATS-Bench needs the package nats_bench: in a checkout, run pip install '.[nats]'"
        ) from error


def _unreadable(file: Path, error: Exception) -> DamagedFileError:
    return DamagedFileError(
        f"nats_bench cannot read {file} ({type(error).__name__}: {reason(error)}): it is truncated or another file; "
        "copy or download it again"
    )
