"""docs/recipes: every recipe runs in an empty folder, with the smaller numbers that its last sentence states."""

import re
import shlex
from pathlib import Path

import pytest
import warm_process
from command_line import CODE
from conftest import CHECKOUT
from pages import blocks_of, broken_links
from refusals import missing

import nasbench1shot1 as nb
from nasbench1shot1.experiments.comparison.statistics import MEASURES
from nasbench1shot1.registry import GROUPS

FOLDER = CHECKOUT / "docs" / "recipes"
SCRIPT = "import runpy, sys; sys.path.insert(0, ''); runpy.run_path(sys.argv[1], run_name='__main__')"


class Recipe:
    """A recipe that is followed in an empty folder, line by line."""

    def __init__(self, name: str, folder: Path) -> None:
        self.page, self.folder = FOLDER / f"{name}.md", folder
        self.constants: dict[str, str] = {}
        self.options: dict[str, list[str]] = {}
        stated = re.findall(r"^The tests use (.*)\.$", self.page.read_text(), re.MULTILINE)
        for item in re.findall(r"`([^`]+)`", " ".join(stated)):
            if command := re.fullmatch(r"nb1shot1 (\w+) … (.+)", item):
                self.options[command[1]] = shlex.split(command[2])
            else:
                constant, _, value = item.partition(" = ")
                self.constants[constant] = value

    def save(self) -> None:
        """Save the scripts under the names that the page gives them, with smaller numbers."""
        page = self.page.read_text()
        scripts = re.findall(r"`(\w+\.py)`[^`]*\n```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        assert [script for _, script in scripts] == blocks_of(self.page, "python")
        replaced = set()
        for name, script in scripts:
            for constant, value in self.constants.items():
                script, count = re.subn(rf"^{constant} = .*$", f"{constant} = {value}", script, flags=re.MULTILINE)
                replaced |= {constant} if count == 1 else set()
            (self.folder / name).write_text(script)
        assert replaced == set(self.constants)

    def follow(self) -> str:
        """Run the commands of the page; return what they print."""
        self.save()
        lines = [
            shlex.split(line, comments=True) for block in blocks_of(self.page, "bash") for line in block.splitlines()
        ]
        assert lines and set(self.options) <= {words[1] for words in lines}
        said = ""
        for program, *words in lines:
            assert program in ("python", "nb1shot1")
            smaller = self.options.get(words[0], []) if program == "nb1shot1" else []
            code = CODE if program == "nb1shot1" else SCRIPT
            done = warm_process.python(code, *words, *smaller, cwd=self.folder)
            assert done.returncode == 0, (words, done.stderr)
            said += done.stdout
        return said


def followed(name: str, tmp_path: Path) -> tuple[str, Path]:
    """Follow a recipe in an empty folder; return what its commands print, and the folder."""
    folder = tmp_path / name
    folder.mkdir()
    return Recipe(name, folder).follow(), folder


def is_picture(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG")


def rows(said: str, labels: set[str], length: int) -> dict[str, list[str]]:
    """Words of the printed rows that begin with a label and have this many words."""
    words = [line.split() for line in said.splitlines()]
    return {row[0]: row[1:] for row in words if len(row) == length and row[0] in labels}


@pytest.mark.usefixtures("home")
def test_an_optimizer_is_compared_with_all_built_in_ones(tmp_path: Path) -> None:
    said, folder = followed("my_optimizer", tmp_path)
    labels = {"mine", *GROUPS["black_box_optimizers"].built_in}
    assert {path.name for path in (folder / "runs").iterdir()} == labels
    printed = {label: float(row[1]) for label, row in rows(said, labels, 4).items()}
    assert list(printed.values()) == sorted(printed.values())
    regrets = {label: nb.open_run(folder / "runs" / label).final["test_regret"].mean() for label in labels}
    assert printed == pytest.approx(regrets, abs=1e-6)
    assert nb.open_run(folder / "runs" / "mine").config["optimizer"].endswith(":Mine")
    assert is_picture(folder / "regret.png")


@pytest.mark.usefixtures("home")
def test_optuna_searches_for_two_objectives(tmp_path: Path) -> None:
    said, folder = followed("two_objectives", tmp_path)
    printed = re.findall(r"validation error (\S+), (\S+) ms", said)
    fronts = [
        line["front"] for name in ("NSGA-II", "random-search") for line in nb.open_run(folder / "runs" / name).lines
    ]
    recorded = [tuple(network[-1]) for front in fronts for network in front]
    assert len(printed) >= 2
    assert {(float(error), float(latency)) for error, latency in printed} <= {
        (round(error, 4), round(latency, 2)) for error, latency in recorded
    }
    assert said.count("after 60 trainings") == 2
    assert is_picture(folder / "front.png")


@pytest.mark.usefixtures("home")
def test_a_file_of_another_program_is_compared_with_evolution(tmp_path: Path) -> None:
    said, folder = followed("my_trajectory", tmp_path)
    study = nb.open_run(folder / "runs" / "mine")
    written = [line.split(",") for line in (folder / "mine.csv").read_text().splitlines()[1:]]
    trainings = [sum(row[0] == str(run) for row in written) for run in range(5)]
    assert study.final["evaluations"].tolist() == trainings
    assert not missing(said, "My program", f"{100 * study.final['test_regret'].mean():.3f}")
    assert is_picture(folder / "comparison" / "comparison.png")
    assert is_picture(folder / "regret.png")


@pytest.mark.usefixtures("home")
def test_a_csv_file_is_the_same_benchmark_in_python_and_on_the_command_line(tmp_path: Path) -> None:
    said, folder = followed("my_csv", tmp_path)
    saved, imported = nb.load_table(folder / "my-table"), nb.load_table("trained")
    for metric in ("validation_accuracy", "test_accuracy", "training_time", "latency_phone"):
        assert saved.values(metric).tolist() == imported.values(metric).tolist()
    best = imported.best("nb101-5v", split="test")[0]
    assert best.hash in said
    assert f"{imported.query(nb.search_space('nb101-5v')[0])['latency_phone']:.4g}" in said
    fast = nb.open_run(folder / "runs" / "fast")
    assert (len(fast.final), fast.config["table_id"]) == (2, imported.id)
    latencies = [imported.query(nb.Architecture.parse(arch))["latency_phone"] for arch in fast.final["architecture"]]
    assert max(latencies) <= 4
    assert is_picture(folder / "regret.png")


@pytest.mark.usefixtures("home")
def test_networks_of_a_list_are_trained_into_a_table(tmp_path: Path) -> None:
    said, folder = followed("fifty_networks", tmp_path)
    table, lines = nb.load_table(folder / "my-table"), (folder / "architectures.txt").read_text().split()
    assert len(table) == len(lines) == 2
    group = nb.open_run(folder / "runs" / "architectures").to_frame()
    answers = [table.query(nb.Architecture.parse(line), epochs=1).validation_accuracy for line in lines]
    assert answers == pytest.approx(group["validation_accuracy"].tolist())
    assert "published" in said
    assert is_picture(folder / "accuracies.png")


@pytest.mark.usefixtures("home")
def test_a_change_of_darts_is_tested_against_darts(tmp_path: Path) -> None:
    said, folder = followed("my_method", tmp_path)
    mine, darts = (nb.open_run(folder / "runs" / label) for label in ("mine", "DARTS"))
    assert [run.config["optimizer"] for run in (mine[0], darts[0])] == ["my_method:Decisive", "darts"]
    first, second = (run[0].architecture_parameters["operations"] for run in (mine, darts))
    assert (first[0] == second[0]).all() and (first[-1] != second[-1]).any()
    printed = {label: float(row[1]) for label, row in rows(said, {"mine", "DARTS"}, 4).items()}
    final = {
        label: [run.metrics["test_regret"].iloc[-1] for run in group]
        for label, group in (("mine", mine), ("DARTS", darts))
    }
    assert printed == pytest.approx({label: sum(regrets) / len(regrets) for label, regrets in final.items()}, abs=1e-6)
    assert is_picture(folder / "regret.png")


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.md")), ids=lambda page: page.stem)
def test_the_links_of_recipes_resolve(page: Path) -> None:
    assert broken_links(page) == []


def test_the_index_lists_every_recipe_and_recipes_fit_on_a_screen() -> None:
    listed = re.findall(r"\]\((\w+)\.md\)", (FOLDER / "index.md").read_text())
    pages = {path.stem: path for path in FOLDER.glob("*.md") if path.stem != "index"}
    assert sorted(listed) == sorted(pages)
    scripts = [block for path in pages.values() for block in blocks_of(path, "python")]
    assert max(len(script.splitlines()) for script in scripts) <= 42


def test_recipes_select_rank_tests_of_measures_that_comparisons_have() -> None:
    """With the few searches of these tests, a wrong measure would print an empty table, as a right one does."""
    scripts = "".join(block for path in FOLDER.glob("*.md") for block in blocks_of(path, "python"))
    selected = re.findall(r"""\bmoment(?:"\])? == ["'](\w+)["']""", scripts)
    assert len(selected) == 2
    assert set(selected) <= set(MEASURES)
