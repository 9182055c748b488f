"""Packaging: the three top-level folders become sub-packages of nasbench1shot1."""

from setuptools import setup

CORE = [
    "ConfigSpace>=1.2",
    "cyclopts>=5",
    "docstring-parser>=0.16",
    "filelock>=3.30",
    "google-crc32c>=1.5",
    "matplotlib>=3.8",
    "networkx>=2.8.8",
    "numpy>=1.26",
    "pandas>=2.1",
    "pillow>=10",
    "platformdirs>=4",
    "pooch>=1.8",
    "protobuf>=4.25",
    "rich>=13",
    "scipy>=1.12",
    "torch>=2.1",
]
# Fits the embedded table. Only `nb1shot1 table build` needs it.
TABLE = ["lightgbm>=4.5"]
# Runs many jobs on the workers of a dask scheduler (docs/jobs.md).
CLUSTER = ["distributed>=2025.7"]
# Tunes one-shot optimizers; building hpbandster needs a C compiler and the Python headers.
TUNE = ["hpbandster==0.7.4", "optuna>=5", "PyYAML>=6", "scikit-learn>=1.4", "smac>=2.4"]
# Computes pairwise interactions of hyperparameters (experiments/tuning/importance.py).
INTERACTIONS = ["hypershap>=0.0.6"]
# Only for tests: writes archives of NATS-Bench, and answers as the published package does.
NATS = ["nats-bench>=1.8"]
# Writes event files of searches for TensorBoard (docs/callbacks.md).
TENSORBOARD = ["tensorboard>=2.15"]
# Only for tests that compare this package with TensorFlow.
TENSORFLOW = ["tensorflow-cpu>=2.16"]
# Builds the site of docs/ (mkdocs.yml).
DOCS = ["mkdocs-material>=9.5", "mkdocstrings[python]>=0.26"]
# Only for tests of adapters and examples (docs/adapters.md, docs/jobs.md).
OUTSIDE = ["dask-jobqueue>=0.9", "nevergrad>=1.0.12", "optunahub>=0.5", "pymoo>=0.6.1"]
DEV = [
    "hypothesis>=6.100",
    "import-linter>=2.6",
    "ipykernel>=6.29",
    "mypy>=1.11",
    "nbclient>=0.10",
    "pandas-stubs",
    "playwright>=1.50",  # drives Debian's chromium in tests of HTML pages
    "pytest>=8",
    "pytest-xdist>=3.5",
    "ruff>=0.6",
    "scikit-posthocs>=0.11",
    "setuptools>=77",
]

_FOLDERS = (
    "config_spaces",
    "nats_size",
    "nats_size.table",
    "nb101_5v",
    "nb101_5v.table",
    "nb201",
    "nb201.table",
    "sources",
    "splits",
    "table",
)
# setuptools treats data folders as packages.
DATA = ["data", *(f"data.{folder}" for folder in _FOLDERS)]

setup(
    packages=[
        "nasbench1shot1",
        "nasbench1shot1.conformance",
        "nasbench1shot1.search_spaces",
        "nasbench1shot1.optimizers",
        "nasbench1shot1.optimizers.black_box",
        "nasbench1shot1.optimizers.components",
        "nasbench1shot1.experiments",
        "nasbench1shot1.experiments.claims",
        "nasbench1shot1.experiments.comparison",
        "nasbench1shot1.experiments.correlation",
        "nasbench1shot1.experiments.planning",
        "nasbench1shot1.experiments.report_page",
        "nasbench1shot1.experiments.reproduction",
        "nasbench1shot1.experiments.reproduction.figures",
        "nasbench1shot1.experiments.reproduction.results",
        "nasbench1shot1.experiments.space_statistics",
        "nasbench1shot1.experiments.space_statistics.nats_bench",
        "nasbench1shot1.experiments.tuning",
        "nasbench1shot1.api",
        "nasbench1shot1.black_box_search",
        "nasbench1shot1.cell_training",
        "nasbench1shot1.commands",
        "nasbench1shot1.display",
        "nasbench1shot1.ground",
        "nasbench1shot1.images",
        "nasbench1shot1.jobs",
        "nasbench1shot1.nasbench101",
        "nasbench1shot1.nasbench101.estimates",
        "nasbench1shot1.nasbench201",
        "nasbench1shot1.nats_size",
        "nasbench1shot1.objectives",
        "nasbench1shot1.one_shot_search",
        "nasbench1shot1.proposers",
        "nasbench1shot1.proxy_training",
        "nasbench1shot1.recording",
        "nasbench1shot1.runs",
        "nasbench1shot1.supernets",
        "nasbench1shot1.tables",
        "nasbench1shot1.trajectories",
        "nasbench1shot1.trial_files",
        "nasbench1shot1.tuning",
        *(f"nasbench1shot1.{folder}" for folder in DATA),
    ],
    package_dir={
        "nasbench1shot1": "nasbench1shot1",
        "nasbench1shot1.search_spaces": "search_spaces",
        "nasbench1shot1.optimizers": "optimizers",
        "nasbench1shot1.experiments": "experiments",
    },
    package_data={
        "nasbench1shot1": ["py.typed"],
        "nasbench1shot1.experiments.report_page": ["*.html", "*.css", "*.js"],
        **{f"nasbench1shot1.{d}": ["*"] for d in DATA},
    },
    install_requires=CORE,
    extras_require={
        "table": TABLE,
        "cluster": CLUSTER,
        "tune": TUNE,
        "interactions": INTERACTIONS,
        "tensorboard": TENSORBOARD,
        "tensorflow": TENSORFLOW,
        "docs": DOCS,
        "dev": [*DEV, *DOCS, *TABLE, *CLUSTER, *TUNE, *NATS, *TENSORBOARD, *OUTSIDE],
        "all": [*TABLE, *CLUSTER, *TUNE, *INTERACTIONS, *TENSORBOARD, *TENSORFLOW],
    },
    entry_points={"console_scripts": ["nb1shot1 = nasbench1shot1.cli:main"]},
)
