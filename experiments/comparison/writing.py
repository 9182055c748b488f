"""Writing the files of a comparison: figure, table and rank tests, all in one folder or none."""

from pathlib import Path

from nasbench1shot1.display.axes import save_figure
from nasbench1shot1.experiments.comparison.drawing import comparison_figure
from nasbench1shot1.experiments.comparison.statistics import Comparison
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import FORMATS, PictureFormat, atomic_folder, check_writable

FIGURE, RESULTS, RANK_TESTS = "comparison", "comparison.csv", "rank_tests.csv"
FILES = {RESULTS, RANK_TESTS, *(f"{FIGURE}.{suffix}" for suffix in FORMATS)}


def check_out(out: Path) -> None:
    """Raise UserError if a folder cannot be written or contains anything other than a comparison."""
    check_writable(out)
    if out.exists() and not out.is_dir():
        raise InvalidInputError(f"'{out}' is a file: choose another --out")
    if out.exists() and not all(path.name in FILES and path.is_file() for path in out.iterdir()):
        raise InvalidInputError(f"'{out}' contains files other than a comparison: choose another --out")


def write_comparison(comparison: Comparison, out: Path, suffix: PictureFormat = "png") -> list[Path]:
    """Write comparison.png (or .svg, .pdf), comparison.csv and rank_tests.csv into a folder; return their paths.

    Either all files are written or none. An earlier comparison in the folder is replaced.

    Raises:
        InvalidInputError: the folder contains other files.
        UserError: the folder cannot be written, or the disk is full.
    """
    check_out(out)
    with atomic_folder(out) as folder:
        save_figure(comparison_figure(comparison), folder / f"{FIGURE}.{suffix}")
        comparison.results.to_csv(folder / RESULTS, index=False)
        comparison.rank_tests.to_csv(folder / RANK_TESTS, index=False)
    return [out / name for name in (f"{FIGURE}.{suffix}", RESULTS, RANK_TESTS)]
