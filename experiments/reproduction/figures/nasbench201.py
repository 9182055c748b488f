"""The one-shot rows of NAS-Bench-201 (Dong and Yang, ICLR 2020) as data: tables 5 and 7, and figures 7 and 8.

All four show the same searches, in the folder of table 5. The paper compares two statistics of batch-norm in the
evaluation of sub-networks: running statistics (figure 7, first block of table 5) and statistics of the batch (figure 8,
rows marked †). Searches of DARTS and GDAS do not depend on them, because weights and Λ learn in training mode and Λ
alone determines the preferred architecture: these searches run once, and both blocks show them. Random WS (the paper's
RSPS), SETN and ENAS score candidates, so each of their searches runs with both statistics.

full: the published settings of `--preset original`: 50 epochs for DARTS, 250 for the other methods, three seeds. Below
this scale, all methods have the epochs of the scale, and the learning rates of Λ are fitted to their published lengths.
"""

from nasbench1shot1.experiments.reproduction.figures.parts import (
    BELOW_FULL,
    Curve,
    Figure,
    Options,
    Panel,
    Scale,
    method_curves,
)
from nasbench1shot1.scales import SCALES

SPACE = "nb201"
OWNER = "nas201-table5"
NAMES = {
    "random-ws": "RSPS",
    "darts": "DARTS-V1",
    "darts-second-order": "DARTS-V2",
    "gdas": "GDAS",
    "setn": "SETN",
    "enas": "ENAS",
}
"""The names of the methods in the paper, in the order of table 5."""
ANY, RUNNING, BATCH = "any", "running", "batch"
"""The panels of searches: with either statistics, with running statistics, and with statistics of the batch."""
BLOCKS = {RUNNING: "running statistics", BATCH: "batch statistics (†)"}
"""The blocks of table 5."""
LEARNED, SAMPLED = ("darts", "darts-second-order", "gdas"), ("random-ws", "setn", "enas")
"""Methods whose searches do not depend on the statistics, and methods that score candidates."""
EPOCHS = {"darts": 50, "darts-second-order": 50}
"""Published epochs; the other methods have 250."""


def _panel(key: str, title: str, statistics: str, names: tuple[str, ...]) -> Panel:
    return Panel(key, title, {"space": SPACE, "evaluation_batch_norm": statistics}, method_curves(names, NAMES))


_PANELS = {
    ANY: _panel(ANY, "either statistics", "batch-in-cells", LEARNED),
    RUNNING: _panel(RUNNING, BLOCKS[RUNNING], "running", SAMPLED),
    BATCH: _panel(BATCH, BLOCKS[BATCH], "batch-in-cells", SAMPLED),
}
_SETTING = "16 channels × 15 cells, 25,000 + 25,000 images, 50 (DARTS) or 250 epochs, 3 seeds"


def _searches(source: str, title: str, drawing: str, *panels: str) -> Figure:
    """Return a figure of some panels of the searches."""
    shown = tuple(_PANELS[key] for key in panels)
    own: Options = {"threads": 1, "preset": "original"}
    small = {name: {"scale": name, **own, "epochs": SCALES[name]["epochs"]} for name in BELOW_FULL}
    by_optimizer = {name: {"epochs": epochs} for name, epochs in EPOCHS.items()}
    return Figure(
        source=f"{source} of NAS-Bench-201",
        title=title,
        runs="search",
        drawing=f"nasbench201:{drawing}",
        full=Scale(shown, {"scale": "full", **own, "epochs": 250}, (0, 1, 2), by_optimizer, kept_epochs=1),
        long=Scale(shown, small["long"], tuple(range(10)), kept_epochs=1),
        medium=Scale(shown, small["medium"], tuple(range(10)), kept_epochs=1),
        quick=Scale(shown, small["quick"], (0, 1), kept_epochs=1),
        setting=_SETTING,
        runs_of="" if source == "table 5" else OWNER,
    )


# Table 7: two rankings of each search, which differ in the statistics -------------------------------------------------

RANKED = {"darts": ANY, "darts-second-order": ANY, "gdas": ANY, "setn": BATCH}
"""The methods of table 7, with the panels of their searches."""
STATISTICS = {"osva-train": "batch-in-cells", "osva-eval": "running"}
"""The statistics of batch-norm in the rankings, by panel."""
_TITLES = {"osva-train": "statistics of the mini-batch", "osva-eval": "accumulated statistics"}


def _rankings(architectures: str, images: str) -> tuple[tuple[Panel, ...], Options]:
    panels = tuple(
        Panel(
            key,
            _TITLES[key],
            {"batch_norm": statistics, "architectures": architectures, "images": images},
            tuple(Curve(name, NAMES[name], {"search": panel}) for name, panel in RANKED.items()),
        )
        for key, statistics in STATISTICS.items()
    )
    return panels, {"budgets": "200", "resamples": 2}


_TABLE_7 = Figure(
    source="table 7 of NAS-Bench-201",
    title="correlation of one-shot and true accuracy",
    runs="ranking",
    drawing="nasbench201:ProxyTable",
    full=Scale(*_rankings("all", "2048"), (0, 1, 2)),
    long=Scale(*_rankings("400", "1000"), tuple(range(10))),
    medium=Scale(*_rankings("400", "1000"), tuple(range(10))),
    quick=Scale(*_rankings("100", "200"), (0, 1)),
    setting=f"{_SETTING}; all architectures, 2,048 images",
    runs_of=OWNER,
    shows_parameters=True,
)

_OVER = "accuracy over search epochs"
NASBENCH_201_FIGURES = {
    OWNER: _searches("table 5", "final accuracies of one-shot methods", "OneShotTable", ANY, RUNNING, BATCH),
    "nas201-table7": _TABLE_7,
    "nas201-figure7": _searches("figure 7", f"{_OVER}, running statistics", "AccuracyByEpoch", ANY, RUNNING),
    "nas201-figure8": _searches("figure 8", f"{_OVER}, batch statistics", "AccuracyByEpoch", ANY, BATCH),
}
"""The figures and tables by name."""
