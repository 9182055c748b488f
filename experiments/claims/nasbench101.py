"""Claims of NAS-Bench-101 (Ying et al., ICML 2019)."""

from functools import partial
from typing import Any

from nasbench1shot1.experiments.claims.claim import COUNTS, Claim, Missing
from nasbench1shot1.experiments.claims.runs import Ordering, pairs
from nasbench1shot1.experiments.claims.tables import TableTest, costs, counts, replacements, steps

OFFICIAL = "The test requires an official table (`nb1shot1 table download`), which the package does not bundle."
STATISTICS = "nb1shot1 statistics {} --table nb101-sample"
CONV3, CONV1, POOL = "conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3"


def _claim(key: str, place: str, statement: str, evidence: Any, note: str = "") -> Claim:
    return Claim(
        key=f"101-{key}", paper="NAS-Bench-101", place=place, statement=statement, evidence=evidence, note=note
    )


CLAIMS = (
    _claim(
        "encodings",
        "text",
        "The encoding has about 510 million points: 2^21 matrices times 3^5 labels.",
        TableTest(
            compute=partial(counts, {"nb101": 509_607_936}, "loose_ends", "all"),
            subject=COUNTS,
            command="nb1shot1 space nb101",
            how="All matrices and labels are counted.",
        ),
    ),
    _claim(
        "mini",
        "text",
        "NAS-Bench-Mini, the cells of at most six vertices, has 64.5 thousand distinct cells.",
        TableTest(
            compute=partial(counts, {"nb101-mini": 64_500}, "unique", tolerance=50),
            subject=COUNTS,
            command="nb1shot1 space nb101-mini",
            how="The cells are enumerated; the paper rounds to hundreds.",
        ),
    ),
    _claim(
        "best",
        "text",
        "The best cell has 94.32 % mean test accuracy, the ResNet-like cell 93.12 % and the Inception-like cell "
        "92.95 %. Validation and test accuracy have a correlation of 0.999.",
        Missing(
            needs=OFFICIAL,
            command="nb1shot1 statistics accuracy-distribution --table OFFICIAL --mark resnet-like-cell "
            "inception-like-cell",
            parts=("best cell", "ResNet-like cell", "Inception-like cell", "correlation"),
        ),
    ),
    _claim(
        "figure3",
        "figure 3",
        "Training time, number of parameters and validation accuracy are positively correlated.",
        TableTest(
            compute=costs,
            command=STATISTICS.format("cost"),
            how="The values are Spearman's ρ of each pair, with a bootstrap over the cells.",
        ),
    ),
    _claim(
        "figure4",
        "figure 4",
        "Replacing one operation changes validation accuracy on average by -1.16 points (3×3 by 1×1 convolution), "
        "-1.99 points (3×3 convolution by max-pooling) and -0.81 points (1×1 convolution by max-pooling).",
        TableTest(
            compute=partial(replacements, {(CONV3, CONV1): -1.16, (CONV3, POOL): -1.99, (CONV1, POOL): -0.81}),
            command=STATISTICS.format("operation-replacement"),
            how="The changes are means over all pairs of cells in the sample; the intervals treat pairs as "
            "independent.",
        ),
        "The paper does not state how it averages.",
    ),
    _claim(
        "figure5-depth",
        "figure 5",
        "Cells whose longest path has three edges have the highest mean validation accuracy.",
        TableTest(
            compute=partial(steps, "depth", {3: (2, 4, 5, 6)}),
            command=STATISTICS.format("depth-and-width"),
            how="The interval of a difference of mean accuracies is ±1.96 standard errors. A verdict requires at least "
            "30 cells per depth.",
        ),
    ),
    _claim(
        "figure5-width",
        "figure 5",
        "Mean validation accuracy grows with the width of the cell, up to the largest width, 5.",
        TableTest(
            compute=partial(steps, "width", {2: (1,), 3: (2,), 4: (3,), 5: (4,)}),
            command=STATISTICS.format("depth-and-width"),
            how="The width is the maximum directed cut of the graph without the edge from the input to the output. The "
            "interval of a difference between the mean accuracies of successive widths is ±1.96 standard errors.",
        ),
    ),
    _claim(
        "top-cells",
        "text",
        "The best cell has 4 isomorphic encodings, all 12 top cells have 11,570, and 35.4 % of the space is within 6 "
        "edits of them.",
        Missing(
            needs=OFFICIAL,
            command="nb1shot1 statistics isomorphic-copies top-volume --table OFFICIAL",
            parts=("encodings of the best cell", "encodings of the top cells", "share within 6 edits"),
        ),
    ),
    _claim(
        "figure7",
        "figure 7",
        "Regularized evolution, BOHB and SMAC end with less regret than random search.",
        Ordering(
            figures=("nas101-figure7",),
            paper={"space": "nb101", "seconds": 1e7},
            command="nb1shot1 reproduce nas101-figure7 --table OFFICIAL --pack records/nas101-figure7.tar.xz",
            how="The mean final regrets are compared by Welch's t interval of their difference. " + OFFICIAL,
            pairs=tuple(
                pair
                for method in ("regularized-evolution", "bohb", "smac")
                for pair in pairs(["nb101"], method, ["random"])
            ),
        ),
    ),
    _claim(
        "figure8",
        "figure 8",
        "On NAS-Bench-Mini and on the full space, random search is worse than non-regularized evolution, which is "
        "worse than regularized evolution.",
        Ordering(
            figures=("nas101-figure8",),
            paper={"seconds": 1e7},
            command="nb1shot1 reproduce nas101-figure8 --table OFFICIAL --pack records/nas101-figure8.tar.xz",
            how="The mean final regrets are compared by Welch's t interval of their difference. " + OFFICIAL,
            pairs=(
                *pairs(("nb101-mini", "nb101"), "non-regularized-evolution", ["random"]),
                *pairs(("nb101-mini", "nb101"), "regularized-evolution", ["non-regularized-evolution"]),
            ),
        ),
        "On s1 and s3 with the bundled table, evolution is better than random search, and the two variants of "
        "evolution do not differ significantly (docs/black_box_ranking.md).",
    ),
)
"""The claims, in the order of the paper."""
