"""Tables: queries, regrets, new columns."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import nasbench1shot1 as nb
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace

SPACE = ChoiceBlockSpace(name="tiny", id="tiny-v1", n_parents=(1, 1, 2))
rng = np.random.default_rng(0)
rows: list[list[object]] = []
for arch in SPACE.architectures("unique"):
    rows.append([str(arch), 4, 0, rng.uniform(), 0.5, 8.0, 2.0])
frame = pd.DataFrame(
    rows,
    columns=[
        "architecture",
        "epochs",
        "repeat",
        "validation_accuracy",
        "test_accuracy",
        "training_time",
        "latency_pixel",
    ],
)
latency = nb.Column(metric="latency_pixel", quantity="latency", unit="ms", direction="lower", device="Pixel 3")
table = nb.table_from_frame(frame, space=SPACE, columns={"latency_pixel": latency}, name="trained")
print(table.query(SPACE[0], run="all").test_accuracy, table.repeats_of("test_accuracy", 4))
table.save("my-table")
again = nb.load_table("my-table")
sequence = list(SPACE.architectures("unique"))
metrics = table.query(sequence, run="random", rng=rng)
table.query([a.cell for a in sequence])
table.query(str(a) for a in sequence)
table.query([a.cell.hash for a in sequence], run=0, epochs=4)
table.query(pd.Series([a.cell.hash for a in sequence]))
table.query(np.array([a.cell.hash for a in sequence]))
print(metrics["latency_pixel"], metrics.latency_pixel, metrics.is_measured("test_accuracy"))


def regrets(table: nb.Table) -> NDArray[np.float64]:
    return table.regret(sequence, reference=SPACE)


def regret(table: nb.Table, arch: nb.Architecture) -> float:
    return table.regret(arch)


def regret_of_hash(table: nb.Table, digest: str) -> float:
    return table.regret(digest, reference="nb101", within="flops=1e8")


nb201 = nb.load_table("nb201")
space = nb.search_space("nb201")
milliseconds = np.random.default_rng(0).uniform(2, 9, len(nb201))
column = nb.Column(metric="latency_edgegpu", quantity="latency", unit="ms", direction="lower", device="Jetson TX2")
costs = nb201.with_column(column, milliseconds, method="mean of 100 images")
best, answer = costs.best("nb201", metric="latency_edgegpu")
print(
    best.official,
    costs.query(space[6111], dataset="cifar10").latency_edgegpu,
    nb201.query(6111, dataset="cifar10"),
    nb201.query([1, 2], dataset="cifar10"),
)
nb201.query(np.arange(5), dataset="cifar10")
nb201.query(range(5), dataset="cifar10", run=777)
measured = {space[6111]: [[31.0, 33.0], [520.0, 540.0]]}
costs.with_column(column, measured, name="nb201-costs")
print(table.covering(SPACE).regret(sequence[0]), nb.score(sequence[0], table), sequence[0] in table, len(table))
row = table.row_of(sequence[0])
print(table.reader("test_accuracy")(row, 4, "mean"), table.values("test_accuracy").mean())
