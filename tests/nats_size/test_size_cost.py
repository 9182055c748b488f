"""The cost of the size space's networks, compared with the values in NATS-Bench's files."""

from pathlib import Path

import numpy as np
import pytest

import nasbench1shot1 as nb
from nasbench1shot1.nats_size.cost import all_flops, flops, parameter_count, parameter_counts
from nasbench1shot1.nats_size.numbering import all_widths

DATA_SETS = {"c10": (10, 32), "c100": (100, 32), "in16": (120, 16)}

GOLDEN = {  # parameters and FLOPs in millions on each data set: the official records and an official notebook
    "8:8:8:8:8": ((0.011714, 4.481114), (0.012524, 4.481924), (0.012704, 1.121336)),
    "8:8:8:16:32": ((0.049202, 6.840650), (0.052172, 6.843620), (0.052832, 1.714040)),
    "8:8:8:16:40": ((0.067378, 7.991706), (0.071068, 7.995396), (0.071888, 2.002744)),
    "8:8:40:32:40": ((0.144834, 21.827994), (0.148524, 21.831684), (0.149344, 5.461816)),
    "64:64:64:64:64": ((0.713674, 274.399882), (0.719524, 274.405732), (0.720824, 68.607608)),
}


@pytest.mark.parametrize("text", GOLDEN)
def test_costs_equal_the_official_records(text: str) -> None:
    widths = nb.WidthArchitecture.parse(text).widths
    for (classes, side), (parameters, operations) in zip(DATA_SETS.values(), GOLDEN[text], strict=True):
        assert parameter_count(widths, classes) == round(parameters * 1e6)
        assert flops(widths, classes, side) == round(operations * 1e6)


@pytest.mark.parametrize("name", DATA_SETS)
def test_costs_of_all_architectures_equal_the_published_ones(shared: Path, name: str) -> None:
    classes, side = DATA_SETS[name]
    with np.load(shared / "nats_sss_test90.npz", allow_pickle=False) as data:
        assert np.array_equal(parameter_counts(all_widths(), classes), data[f"params_{name}"])
        assert np.array_equal(all_flops(all_widths(), classes, side), data[f"flops_{name}"])


def test_sizes_may_be_integers_of_numpy() -> None:
    classes, side = np.int64(100), np.uint8(32)
    assert parameter_count((8,) * 5, classes) == parameter_count((8,) * 5, 100)
    assert flops((8,) * 5, classes, side) == flops((8,) * 5, 100, 32)


def test_no_two_architectures_have_equal_costs() -> None:
    pairs = np.stack([parameter_counts(all_widths()), all_flops(all_widths())], axis=1)
    assert len(np.unique(pairs, axis=0)) == 32_768


def test_invalid_sizes_are_refused() -> None:
    with pytest.raises(nb.InvalidInputError, match=r"classes.*\b0\b"):
        parameter_count((8,) * 5, classes=0)
    with pytest.raises(nb.InvalidInputError, match=r"side.*multiple of 4.*\b30\b"):
        flops((8,) * 5, side=30)
    with pytest.raises(nb.InvalidInputError, match=r"\b9\b"):
        parameter_count((8, 8, 8, 8, 9))


@pytest.mark.parametrize("classes", [2**58, 10**20])
def test_sizes_whose_costs_exceed_64_bits_are_refused(classes: int) -> None:
    with pytest.raises(nb.InvalidInputError, match=r"classes.*1,000,000"):
        parameter_count((64,) * 5, classes)
    with pytest.raises(nb.InvalidInputError, match=r"side.*65,536"):
        flops((64,) * 5, side=classes)
    assert flops((64,) * 5, 10**6, 2**16) == (flops((64,) * 5, 10**6, 4) - 65 * 10**6) * 2**28 + 65 * 10**6
