"""The bundled measurements of NAS-Bench-101, compared with their sources."""

from pathlib import Path

import numpy as np
import pytest

from nasbench1shot1.ground.errors import DamagedFileError
from nasbench1shot1.ground.files import PACKAGE_DATA
from nasbench1shot1.nasbench101.estimates.measurements import Measurements, read_measurements
from nasbench1shot1.nasbench101.features import CellArrays, trainable_parameters
from nasbench1shot1.nasbench101.numbering import canonicalise
from nasbench1shot1.nasbench101.sources import DRAWS, RETRAINED, SAMPLE, SOURCES, TEST_MEANS, cells_of, read_source


@pytest.fixture(scope="module")
def known() -> Measurements:
    return read_measurements()


def test_bundled_sources_equal_the_shared_ones(shared: Path) -> None:
    copies = sorted((PACKAGE_DATA / "sources").glob("*.npz"))
    assert [copy.name for copy in copies] == sorted([RETRAINED, SAMPLE, TEST_MEANS, DRAWS])
    for copy in copies:
        assert copy.read_bytes() == (shared / copy.name).read_bytes()


def test_every_measurement_is_found_at_its_cell(known: Measurements) -> None:
    sample, means, draws = (read_source(name) for name in (SAMPLE, TEST_MEANS, DRAWS))
    in_sample, in_means, in_draws = (
        np.searchsorted(known.hashes, cells_of(arrays)[0]) for arrays in (sample, means, draws)
    )
    assert np.array_equal(known.validation[in_sample, :, 0], sample["valid_acc"])
    assert np.array_equal(known.seconds[in_sample], sample["train_time_s_e108"])
    assert np.array_equal(known.test[in_means], means["test_mean3"])
    assert (~np.isnan(known.test)).sum() == len(in_means) == 11_181
    assert len(known.hashes) == len(np.unique(known.hashes)) == 37_531
    for row, drawn in zip(in_draws, draws["valid_acc_e108"], strict=True):
        repeats = np.rint(known.validation[row, -1] * 9984)
        assert set(np.rint(drawn[~np.isnan(drawn)] * 9984)) <= set(repeats)
        assert len(set(repeats[~np.isnan(repeats)])) == known.n_repeats[row, -1]


def test_numbers_of_known_repeats(known: Measurements) -> None:
    assert np.bincount(known.n_repeats[:, 0]).tolist() == [10_530, 27_001]
    assert np.bincount(known.n_repeats[:, -1]).tolist() == [10_305, 27_186, 35, 5]
    assert np.array_equal(np.isnan(known.mean_validation), known.n_repeats == 0)
    several = known.n_repeats[:, -1] > 1
    assert np.allclose(known.mean_validation[several, -1], np.nanmean(known.validation[several, -1], axis=1))


def test_cells_that_only_searches_reported_are_marked(known: Measurements) -> None:
    means = read_source(TEST_MEANS)
    marked = np.isin(cells_of(means)[0], known.hashes[known.was_selected])
    assert known.was_selected.sum() == marked.sum() == 217
    assert set(means["source"][marked].tolist()) == {4, 8, 12}
    assert not (means["source"][~marked] & 3 == 0).any()


def test_parameter_counts_of_the_test_means_agree() -> None:
    arrays = read_source(TEST_MEANS)
    encodings = cells_of(arrays)[1]
    assert np.array_equal(trainable_parameters(CellArrays.from_encodings(encodings)), arrays["params"])
    assert np.array_equal(canonicalise(encodings), encodings)


@pytest.mark.parametrize(
    ("name", "lacking"), [(SAMPLE, "valid_acc"), (TEST_MEANS, "test_mean3"), (DRAWS, "valid_acc_e108")]
)
def test_a_source_with_a_missing_array_is_named(name: str, lacking: str, tmp_path: Path) -> None:
    for source in (SAMPLE, TEST_MEANS, DRAWS):
        (tmp_path / source).symlink_to(SOURCES / source)
    (tmp_path / name).unlink()
    np.savez(tmp_path / name, **{key: values for key, values in read_source(name).items() if key != lacking})
    with pytest.raises(DamagedFileError, match=rf"{name} .*{lacking}"):
        read_measurements(tmp_path)
