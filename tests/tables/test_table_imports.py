"""Tables are below the benchmarks in the layers; lazy and type-only imports count."""

import ast
from pathlib import Path

import numpy as np
import pytest

import nasbench1shot1
import nasbench1shot1 as nb
from nasbench1shot1.ground.files import read_npz
from nasbench1shot1.nasbench101.sample import read_sample

PACKAGE = Path(nasbench1shot1.__file__).parent
BELOW = {"architecture", "benchmark", "ground", "space", "tables"}


def imported(file: Path) -> set[str]:
    """Parts of this package that a file imports anywhere."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    names = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    names |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("nasbench1shot1.")}


def test_tables_import_no_benchmark() -> None:
    against = {file.name: imported(file) - BELOW for file in (PACKAGE / "tables").glob("*.py")}
    assert {name: found for name, found in against.items() if found} == {}


def test_a_space_that_is_not_complete_in_the_table_is_not_a_reference() -> None:
    sample = nb.load_table("nb101-sample")
    with pytest.raises(nb.InvalidInputError, match=r"'s1'.*nb101.*'nb101'"):
        sample.best("s1")


def test_a_sample_with_a_missing_array_is_refused(tmp_path: Path, real_cells: Path) -> None:
    arrays = read_npz(real_cells)
    np.savez(tmp_path / real_cells.name, **{name: array for name, array in arrays.items() if name != "params"})
    with pytest.raises(nb.DamagedFileError, match="reinstall"):
        read_sample(tmp_path)
