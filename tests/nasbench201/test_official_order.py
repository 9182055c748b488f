"""Official indices compared with the complete data of NAS-Bench-201, and the bundled order file."""

import re
from pathlib import Path

import numpy as np
import pytest

import nasbench1shot1 as nb
from nasbench1shot1.nasbench201.numbering import ORDER_FILE, all_operations, index_of, read_order


def test_every_official_index_agrees_with_the_data(shared: Path) -> None:
    with np.load(shared / "nb201_topology.npz", allow_pickle=False) as data:
        official, accuracy = data["ops"], data["c10_test_e200"]
    assert np.array_equal(all_operations(), official)
    assert [index_of(operations) for operations in official] == list(range(15_625))
    assert int(np.nanargmax(accuracy)) == 6111
    assert accuracy[6111] == pytest.approx(94.3733, abs=1e-4)


def test_every_string_round_trips(shared: Path) -> None:
    """Compare with a plain formatter of official strings, applied to the integers of the data."""
    names = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
    with np.load(shared / "nb201_topology.npz", allow_pickle=False) as data:
        rows = data["ops"].tolist()
    for row in rows:
        a, b, c, d, e, f = (names[operation] for operation in row)
        official = f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|"
        arch = nb.EdgeArchitecture("nb201", row)
        assert arch.official == official
        assert nb.EdgeArchitecture.parse(official) == arch


def test_the_best_architecture_of_cifar10() -> None:
    best = nb.EdgeArchitecture("nb201", all_operations()[6111].tolist())
    assert best.official == (
        "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_1x1~2|"
    )


def test_the_order_is_read_only_and_contains_every_architecture_once() -> None:
    operations = all_operations()
    assert (operations.shape, operations.dtype) == ((15_625, 6), np.int8)
    assert len(np.unique(operations, axis=0)) == 15_625
    assert (operations.min(), operations.max()) == (0, 4)
    with pytest.raises(ValueError, match="read-only"):
        operations[0, 0] = 0


def test_operations_that_are_not_a_cell_have_no_index() -> None:
    with pytest.raises(nb.InvalidInputError, match=r"6 operations.*\b5\b"):
        index_of((0,) * 5)
    with pytest.raises(nb.InvalidInputError, match="operation"):
        index_of((0, 0, 0, 0, 0, 5))


def damaged(folder: Path) -> dict[str, Path]:
    order = read_order(ORDER_FILE)
    doubled = order.copy()
    doubled[0] = doubled[1]
    for name, array in {"doubled": doubled, "short": order[:-1], "wide": order.astype(np.int64)}.items():
        np.save(folder / f"{name}.npy", array)
    np.save(folder / "objects.npy", np.array([{}], object), allow_pickle=True)
    whole = ORDER_FILE.read_bytes()
    (folder / "cut.npy").write_bytes(whole[:20_000])
    (folder / "empty.npy").write_bytes(b"")
    (folder / "text.npy").write_bytes(b"no array")
    (folder / "archive.npy").write_bytes(b"PK\x03\x04" + whole)
    return {path.stem: path for path in [*folder.iterdir(), folder / "missing.npy"]}


@pytest.mark.parametrize("name", ["doubled", "short", "wide", "objects", "cut", "empty", "text", "archive", "missing"])
def test_a_damaged_order_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    path = damaged(tmp_path)[name]
    with pytest.raises(nb.DamagedFileError, match="^" + re.escape(str(path))) as caught:
        read_order(path)
    assert str(caught.value).endswith(": reinstall the package")
    assert "\n" not in str(caught.value)
