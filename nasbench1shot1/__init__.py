"""One-shot neural architecture search, benchmarked on NAS-Bench-101, NAS-Bench-201 and NATS-Bench.

Importing this package is light: torch, pandas and matplotlib are imported only when what needs them is used.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

__version__ = "0.1.0"

# In a checkout the sub-packages search_spaces, optimizers and experiments lie beside this folder, not in it.
if (Path(__file__).parent.parent / "setup.py").is_file() and not (Path(__file__).parent / "search_spaces").is_dir():
    __path__.append(str(Path(__file__).parent.parent))

if TYPE_CHECKING:
    from nasbench1shot1.architecture import Architecture as Architecture
    from nasbench1shot1.benchmark import Benchmark as Benchmark
    from nasbench1shot1.black_box_optimizer import BlackBoxOptimizer as BlackBoxOptimizer
    from nasbench1shot1.black_box_search.record import BlackBoxStudy as BlackBoxStudy
    from nasbench1shot1.black_box_search.studying import black_box as black_box
    from nasbench1shot1.cell_training.group import TrainingGroup as TrainingGroup
    from nasbench1shot1.cell_training.several import train_cells as train_cells
    from nasbench1shot1.cell_training.training import train_cell as train_cell
    from nasbench1shot1.display.axes import save_figure as save_figure
    from nasbench1shot1.display.cells import draw_cell as draw_cell
    from nasbench1shot1.display.style import FigureStyle as FigureStyle
    from nasbench1shot1.evaluator import score as score
    from nasbench1shot1.experiments.comparison.comparing import compare as compare
    from nasbench1shot1.experiments.comparison.comparing import compare_tasks as compare_tasks
    from nasbench1shot1.experiments.correlation.correlating import correlate as correlate
    from nasbench1shot1.experiments.correlation.drawing import draw_ranking as draw_ranking
    from nasbench1shot1.experiments.plans import plan as plan
    from nasbench1shot1.experiments.report_page.writing import write_report_page as write_report_page
    from nasbench1shot1.experiments.run_drawing import draw_regret as draw_regret
    from nasbench1shot1.experiments.space_statistics.catalogue import draw_statistics as draw_statistics
    from nasbench1shot1.ground.errors import DamagedFileError as DamagedFileError
    from nasbench1shot1.ground.errors import InvalidInputError as InvalidInputError
    from nasbench1shot1.ground.errors import OutOfDomainError as OutOfDomainError
    from nasbench1shot1.ground.errors import UserError as UserError
    from nasbench1shot1.images.augment import Augmentation as Augmentation
    from nasbench1shot1.images.batches import image_batches as image_batches
    from nasbench1shot1.images.image_set import ImageSet as ImageSet
    from nasbench1shot1.images.image_set import load_images as load_images
    from nasbench1shot1.images.splits import split_images as split_images
    from nasbench1shot1.nasbench101.architecture import CellArchitecture as CellArchitecture
    from nasbench1shot1.nasbench101.cell import Cell as Cell
    from nasbench1shot1.nasbench101.official_files import table_from_nasbench as table_from_nasbench
    from nasbench1shot1.nasbench201.architecture import EdgeArchitecture as EdgeArchitecture
    from nasbench1shot1.nats_size.architecture import WidthArchitecture as WidthArchitecture
    from nasbench1shot1.networks import build_network as build_network
    from nasbench1shot1.objectives.answers import BudgetSpent as BudgetSpent
    from nasbench1shot1.objectives.answers import Evaluation as Evaluation
    from nasbench1shot1.objectives.objective import Objective as Objective
    from nasbench1shot1.objectives.optuna import optuna_objective as optuna_objective
    from nasbench1shot1.objectives.pymoo import pymoo_problem as pymoo_problem
    from nasbench1shot1.objectives.starting import objective as objective
    from nasbench1shot1.objectives.syne_tune import syne_tune_blackbox as syne_tune_blackbox
    from nasbench1shot1.objectives.target_functions import smac_callback as smac_callback
    from nasbench1shot1.objectives.target_functions import target_function as target_function
    from nasbench1shot1.one_shot_search.group import SearchGroup as SearchGroup
    from nasbench1shot1.one_shot_search.group import load_run as load_run
    from nasbench1shot1.one_shot_search.pictures import draw_cells as draw_cells
    from nasbench1shot1.one_shot_search.record import Run as Run
    from nasbench1shot1.one_shot_search.searching import search as search
    from nasbench1shot1.one_shot_search.seeds import search_seeds as search_seeds
    from nasbench1shot1.optimizer import OneShotOptimizer as OneShotOptimizer
    from nasbench1shot1.optimizers.black_box.ask_tell import AskTell as AskTell
    from nasbench1shot1.recording.recorder import Recorder as Recorder
    from nasbench1shot1.runs.opening import open_run as open_run
    from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace as _ChoiceBlockSpace
    from nasbench1shot1.search_spaces.nasbench101 import NASBench101Space as _NASBench101Space
    from nasbench1shot1.search_spaces.nasbench201 import NASBench201Space as _NASBench201Space
    from nasbench1shot1.search_spaces.nats_size import NATSSizeSpace as _NATSSizeSpace
    from nasbench1shot1.space import OneShotSpace as OneShotSpace
    from nasbench1shot1.space import SearchSpace as SearchSpace
    from nasbench1shot1.supernets.supernet import Supernet as Supernet
    from nasbench1shot1.tables.bounds import Bounds as Bounds
    from nasbench1shot1.tables.columns import Column as Column
    from nasbench1shot1.tables.from_frame import table_from_frame as table_from_frame
    from nasbench1shot1.tables.index_keys import space_keys as space_keys
    from nasbench1shot1.tables.table import Metrics as Metrics
    from nasbench1shot1.tables.table import Table as Table
    from nasbench1shot1.tables.table import load_table as load_table
    from nasbench1shot1.trajectories.files import study_from as study_from
    from nasbench1shot1.trajectories.from_frame import study_from_frame as study_from_frame
    from nasbench1shot1.tuning.tuning import tune as tune

    # The types of `registry.search_space`: built-in names have the classes of their spaces, which know Λ, for example.
    @overload
    def search_space(name: Literal["s1", "s2", "s3"]) -> _ChoiceBlockSpace: ...
    @overload
    def search_space(name: Literal["nb101", "nb101-mini", "nb101-5v"]) -> _NASBench101Space: ...
    @overload
    def search_space(name: Literal["nb201"]) -> _NASBench201Space: ...
    @overload
    def search_space(name: Literal["nats-size"]) -> _NATSSizeSpace: ...
    @overload
    def search_space(name: str) -> SearchSpace: ...
    def search_space(name: str) -> SearchSpace:
        """Return the search space with a name, such as "s1", or a versioned id, such as "nb101-s1-v1"."""
        raise NotImplementedError


# No module has the name of something below: importing that module would put itself in the name's place.
_HOME = {
    "Architecture": "architecture",
    "AskTell": "optimizers.black_box.ask_tell",
    "Augmentation": "images.augment",
    "Benchmark": "benchmark",
    "BlackBoxOptimizer": "black_box_optimizer",
    "BlackBoxStudy": "black_box_search.record",
    "black_box": "black_box_search.studying",
    "Bounds": "tables.bounds",
    "BudgetSpent": "objectives.answers",
    "Cell": "nasbench101.cell",
    "CellArchitecture": "nasbench101.architecture",
    "Column": "tables.columns",
    "DamagedFileError": "ground.errors",
    "EdgeArchitecture": "nasbench201.architecture",
    "Evaluation": "objectives.answers",
    "FigureStyle": "display.style",
    "ImageSet": "images.image_set",
    "InvalidInputError": "ground.errors",
    "Metrics": "tables.table",
    "Objective": "objectives.objective",
    "OneShotOptimizer": "optimizer",
    "OneShotSpace": "space",
    "OutOfDomainError": "ground.errors",
    "Recorder": "recording.recorder",
    "Run": "one_shot_search.record",
    "SearchGroup": "one_shot_search.group",
    "SearchSpace": "space",
    "Supernet": "supernets.supernet",
    "Table": "tables.table",
    "TrainingGroup": "cell_training.group",
    "UserError": "ground.errors",
    "WidthArchitecture": "nats_size.architecture",
    "compare": "experiments.comparison.comparing",
    "compare_tasks": "experiments.comparison.comparing",
    "correlate": "experiments.correlation.correlating",
    "build_network": "networks",
    "draw_cell": "display.cells",
    "draw_cells": "one_shot_search.pictures",
    "draw_ranking": "experiments.correlation.drawing",
    "draw_regret": "experiments.run_drawing",
    "draw_statistics": "experiments.space_statistics.catalogue",
    "image_batches": "images.batches",
    "load_images": "images.image_set",
    "load_run": "one_shot_search.group",
    "load_table": "tables.table",
    "objective": "objectives.starting",
    "open_run": "runs.opening",
    "optuna_objective": "objectives.optuna",
    "plan": "experiments.plans",
    "pymoo_problem": "objectives.pymoo",
    "save_figure": "display.axes",
    "score": "evaluator",
    "search": "one_shot_search.searching",
    "search_seeds": "one_shot_search.seeds",
    "search_space": "registry",
    "smac_callback": "objectives.target_functions",
    "split_images": "images.splits",
    "space_keys": "tables.index_keys",
    "syne_tune_blackbox": "objectives.syne_tune",
    "table_from_frame": "tables.from_frame",
    "study_from": "trajectories.files",
    "study_from_frame": "trajectories.from_frame",
    "table_from_nasbench": "nasbench101.official_files",
    "target_function": "objectives.target_functions",
    "train_cell": "cell_training.training",
    "train_cells": "cell_training.several",
    "tune": "tuning.tuning",
    "write_report_page": "experiments.report_page.writing",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nasbench1shot1' has no attribute '{name}'")
    value = getattr(import_module(f"nasbench1shot1.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])
