"""Guarantees of `import nasbench1shot1`: lightweight, complete, layered."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from refusals import refuses

import nasbench1shot1 as nb

ROOT = Path(nb.__file__).parent
CHECKOUT = Path(__file__).resolve().parents[1]
FOLDERS = ("search_spaces", "optimizers", "experiments")
# The registry names modules of the folders as strings; these two modules combine parts and may import them lazily.
FACES = ("__init__", "searching", "cli", "commands")


def modules(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*.py")) if "data" not in path.parts]


def imported(path: Path, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module for node in nodes if isinstance(node, ast.ImportFrom) if node.module}


def test_importing_the_package_imports_nothing_heavy():
    code = (
        "import sys, nasbench1shot1 as nb; nb.search_space('s1').count('loose_ends'); nb.Architecture; nb.load_table();"
        "heavy = {'torch', 'pandas', 'matplotlib', 'ConfigSpace', 'networkx', 'scipy', 'lightgbm', 'rich', 'cyclopts'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_every_public_name_exists_and_no_module_shares_it():
    modules_by_name = {path.stem for path in ROOT.iterdir()}
    for name in nb.__all__:
        assert getattr(nb, name) is not None
        assert name in dir(nb)
        assert name not in modules_by_name
    with pytest.raises(AttributeError, match="'serach'"):
        _ = nb.serach


def test_importing_a_module_does_not_shadow_a_public_function():
    imported = "nasbench1shot1.one_shot_search.searching, nasbench1shot1.space, nasbench1shot1.tables.table"
    code = f"import {imported}, nasbench1shot1 as nb; print(callable(nb.search) and callable(nb.load_table))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "True"


def test_the_shared_core_does_not_import_the_three_folders():
    core = [
        path for path in modules(CHECKOUT / "nasbench1shot1") if path.stem not in FACES and "commands" not in path.parts
    ]
    assert len(core) > 30
    for path in core:
        found = {name for name in imported(path) if name.split(".")[:2][-1] in FOLDERS and "nasbench1shot1" in name}
        assert not found, f"{path.name} imports {found}"


def test_public_modules_import_the_folders_only_inside_functions():
    for path in modules(CHECKOUT / "nasbench1shot1"):
        if path.stem in FACES or "commands" in path.parts:
            assert not {n for n in imported(path, top_level_only=True) if n.split(".")[:2][-1] in FOLDERS}, path


def test_spaces_optimizers_and_tables_keep_to_their_layers():
    for path in modules(CHECKOUT / "search_spaces"):
        assert not {name for name in imported(path) if "optimizer" in name or "table" in name or name == "torch"}, path
    for path in modules(CHECKOUT / "optimizers"):
        assert not {name for name in imported(path) if "table" in name or "evaluator" in name}, path
    core = CHECKOUT / "nasbench1shot1"
    others = [core / f"{name}.py" for name in ("nasbench101/encoding", "nasbench101/cell", "architecture", "evaluator")]
    for path in [*modules(core / "tables"), *others]:
        assert not {name for name in imported(path) if name.split(".")[0] == "torch"}, path


def test_no_pickle_is_loaded_and_no_global_generator_is_seeded():
    forbidden = (
        "pickle.load",
        "allow_pickle=True",
        "weights_only=False",
        "np.random.seed",
        "torch.manual_seed",
        ".cuda(",
    )
    for folder in ("nasbench1shot1", *FOLDERS):
        for path in modules(CHECKOUT / folder):
            # The PyTorch model compared with LightGBM has layers without a generator argument: it seeds in fork_rng.
            text = path.read_text().replace("fork_rng(devices=[]):\n        torch.manual_seed", "")
            assert not [word for word in forbidden if word in text], path


def test_unknown_names_are_refused_with_a_suggestion():
    with refuses(nb.InvalidInputError, "s9", "s3"):
        nb.search_space("s9")


def documented_folders(heading: str) -> list[str]:
    """The folders in the first column of a table of CONTRIBUTING.md."""
    table = (CHECKOUT / "CONTRIBUTING.md").read_text().partition(heading)[2].partition("\n\n")[0]
    return re.findall(r"^\| `(\w+)/` \|", table, re.MULTILINE)


def folders_with(suffix: str, parent: Path) -> set[str]:
    return {path.name for path in parent.iterdir() if path.is_dir() and any(path.rglob(f"*{suffix}"))}


def test_contributing_lists_exactly_the_existing_folders():
    hidden = {path.name for path in CHECKOUT.iterdir() if path.name.startswith((".", "build")) or ".egg" in path.name}
    top = set.union(*(folders_with(suffix, CHECKOUT) for suffix in (".py", ".md", ".ipynb"))) - hidden - {"runs"}
    assert set(documented_folders("| folder | contents |")) == top
    rooms = documented_rooms()
    assert len(rooms) == len(set(rooms))
    inside = {room.rstrip("/") for room in rooms if room.endswith("/")} - {"search_spaces", "optimizers", "experiments"}
    assert inside == folders_with("", CHECKOUT / "nasbench1shot1") - {"__pycache__", "data"}


def documented_rooms() -> list[str]:
    """The rooms in the first column of a table of CONTRIBUTING.md; folders end with a slash."""
    table = (CHECKOUT / "CONTRIBUTING.md").read_text().partition("| room | what it knows |")[2].partition("\n\n")[0]
    return [
        room
        for line in table.splitlines()
        for room in re.findall(r"`([\w/]+)`", line.split("|")[1:2][0] if "|" in line else "")
    ]


def test_the_root_package_contains_only_the_listed_modules():
    root = {path.stem for path in (CHECKOUT / "nasbench1shot1").glob("*.py")} - {"__init__"}
    assert {room for room in documented_rooms() if not room.endswith("/")} == root


def test_tests_mirror_the_tree():
    parts = folders_with(".py", CHECKOUT / "nasbench1shot1") | {
        "search_spaces",
        "optimizers",
        "experiments",
        "benchmarks",
    }
    assert folders_with(".py", CHECKOUT / "tests") - {"helpers", "__pycache__"} <= parts
