"""Spaces and architectures, also of one's own."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import nasbench1shot1 as nb
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace
from nasbench1shot1.search_spaces.independent_choices import IndependentChoices

SPACE = ChoiceBlockSpace(name="short", id="short-v1", n_parents=(1, 1, 1, 2, 2))
table = nb.load_table()
run = nb.search("darts", space=SPACE, table=table, scale="quick", out="runs/objects")
print(run.config["space"], run.summary["test_regret"])
print(table.best(SPACE, split="test")[0].hash, table.regret(run.architectures[-1], reference=SPACE))
keys = nb.space_keys(SPACE)
for name in ("s1", "nb101"):
    space = nb.search_space(name)
    print(len(space), space.count(space.kinds[0]), space[0], space.index(space[3]), space[0] in space)
    for arch in space.architectures("unique"):
        print(arch.network_id, str(arch))
        break
for each in nb.search_space("nb201"):
    print(each.official)
    break
listed = list(nb.search_space("nats-size"))
print(listed[0].widths, [a.operations for a in nb.search_space("s1").neighbours(nb.search_space("s1")[0])])
rng = np.random.default_rng(0)
nb101 = nb.search_space("nb101")
cell = nb101.sample(rng, loose_ends=False).cell
print(cell.hash, cell.matrix, nb101.encoding("edge-index"))
arch = nb.Architecture.parse("s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3")
assert isinstance(arch, nb.CellArchitecture)
print(arch.cell == nb.Cell([[0, 1], [0, 0]], ["input", "output"]), {arch: 1}, arch.parents)
edge = nb.EdgeArchitecture.parse("|avg_pool_3x3~0|+|avg_pool_3x3~0|avg_pool_3x3~1|+|none~0|none~1|none~2|")
print(edge.official)
one: nb.OneShotSpace = nb.search_space("s3")
values = one.from_values(one.values_of(one[7]))
cfg = one.to_configuration(values)
print(one.from_configuration(cfg), one.from_configuration({"choice_block_1_op": "conv3x3"}))


class Tiny(IndependentChoices[nb.EdgeArchitecture]):
    name = "tiny"
    id = "tiny-v1"
    kinds = ("all", "unique")
    benchmark = nb.search_space("nb201").benchmark
    cell: str | None = "my_module:MyCell"
    kind_descriptions: Mapping[str, str] = {"all": "all"}
    n_choices, n_entries = 6, 5

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> nb.EdgeArchitecture:
        return nb.EdgeArchitecture(self.name, (self.checked_number(index),) * 6)

    def index(self, arch: nb.Architecture) -> int:
        return 0

    def _at(self, positions: tuple[int, ...]) -> nb.EdgeArchitecture:
        return self[positions[0]]

    def _positions(self, arch: nb.Architecture) -> tuple[int, ...]:
        return (0,) * 6

    def configuration_space(self) -> Any:
        return nb.search_space("nb201").configuration_space()

    def from_configuration(self, configuration: Mapping[str, Any]) -> nb.EdgeArchitecture:
        return self[0]

    def to_configuration(self, arch: nb.Architecture) -> Any:
        return None
