"""Image sets by name: the bundled sample, imported sets, and errors about missing or damaged sets."""

import dataclasses
import hashlib
import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from image_builders import made_images
from refusals import missing, refuses

from nasbench1shot1.cli import main
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.images import sources
from nasbench1shot1.images.batches import batches, endless_batches, epoch_generator
from nasbench1shot1.images.data_sets import CIFAR10
from nasbench1shot1.images.image_set import describe_images, load_images
from nasbench1shot1.images.sources import SAMPLE, import_images, read_sample, write_sample
from nasbench1shot1.images.store import Columns, content_sha256

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    images, labels = made_images(30)
    np.savez(tmp_path / "mine.npz", images=images, labels=labels)
    return import_images(tmp_path / "mine.npz")


def test_the_bundled_sample_is_complete() -> None:
    sample = load_images("cifar10-sample")
    assert SAMPLE.stat().st_size <= 6_000_000
    assert sample.images.shape == (3_500, 32, 32, 3)
    assert (sample.images.dtype, sample.labels.dtype, sample.index.dtype) == (torch.uint8, torch.int64, torch.int64)
    assert torch.bincount(sample.labels).tolist() == [350] * 10
    assert (sample.index.diff() > 0).all()
    assert sample.index[-1] == 3_836
    assert sample.test_images is None
    assert sample.labels[:10].tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]  # frog, truck, truck, deer, … of data_batch_1


def test_the_sample_has_the_real_pixels(shared: Path) -> None:
    """Compare strip by strip with the shared subset, decoded here by hand."""
    import io

    from PIL import Image

    sample = load_images("cifar10-sample")
    with np.load(shared / "cifar10_subset_webp.npz") as file:
        stream, offset, index = file["webp"].tobytes(), file["strip_offset"], file["train_index"]
        wanted = ~file["is_test"] & (file["class_rank"] < 350)
    position = {number: row for row, number in enumerate(sample.index.tolist())}
    for strip in range(len(offset) - 1):
        rows = np.arange(250 * strip, 250 * strip + 250)[wanted[250 * strip : 250 * strip + 250]]
        if len(rows):
            picture = Image.open(io.BytesIO(stream[offset[strip] : offset[strip + 1]])).convert("RGB")
            expected = np.asarray(picture).reshape(250, 32, 32, 3)[rows - 250 * strip]
            assert np.array_equal(sample.images.numpy()[[position[i] for i in index[rows].tolist()]], expected)
    assert wanted.sum() == len(position)


def test_samples_are_lossless_and_reproducible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_ROWS_PER_STRIP", 5)
    images, labels = made_images(13)
    for name in ("a.npz", "b.npz"):
        write_sample(images, labels, np.arange(13), tmp_path / name)
    columns, digest = read_sample(tmp_path / "a.npz")
    assert np.array_equal(columns.images, images)
    assert np.array_equal(columns.labels, labels)
    assert np.array_equal(columns.train_index, np.arange(13))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    np.savez(tmp_path / "plain.npz", images=images, labels=labels, train_index=np.arange(13))
    assert load_images(tmp_path / "plain.npz").sha256 == digest


def test_a_damaged_sample_is_refused(tmp_path: Path) -> None:
    for file in (SAMPLE, SAMPLE.with_suffix(".json")):
        shutil.copy(file, tmp_path)
    copy = tmp_path / SAMPLE.name
    whole = bytearray(copy.read_bytes())
    whole[3_000_000] ^= 1
    for content in (bytes(whole), bytes(whole[:1000]), b""):
        copy.write_bytes(content)
        with pytest.raises(DamagedFileError, match="SHA-256"):
            read_sample(copy)
    copy.unlink()
    with pytest.raises(DamagedFileError, match="SHA-256"):
        read_sample(copy)
    copy.with_suffix(".json").write_text("{")
    with pytest.raises(DamagedFileError, match="JSON"):
        read_sample(copy)


def test_the_recorded_checksum_matches_the_bundled_file() -> None:
    recorded = json.loads(SAMPLE.with_suffix(".json").read_text())
    assert recorded["file_sha256"] == hashlib.sha256(SAMPLE.read_bytes()).hexdigest()


def test_missing_cifar10_suggests_both_remedies() -> None:
    with pytest.raises(UserError, match=r'nb1shot1.*scale="quick"'):
        load_images("cifar10")


def test_unknown_names_suggest_the_closest_known_name(imported: Path) -> None:
    with pytest.raises(InvalidInputError, match="mean 'mine'"):
        load_images("min")


@pytest.mark.parametrize("kind", ["no file", "file", "folder"])
def test_an_unknown_name_explains_how_to_import_images(
    kind: str, imported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if kind == "file":
        Path("photos").write_bytes(b"images without a suffix")
    if kind == "folder":
        Path("photos").mkdir()
    known = ["cifar10", "cifar10-sample", "cifar100", "ImageNet16-120", "mine"] if kind == "no file" else []
    with refuses(InvalidInputError, "photos", "nb1shot1 data import FILE.npz", "docs/images.md", *known):
        load_images("photos")


@pytest.mark.parametrize("path", ["no/such/file.npz", "missing.npz", "no/such/file"])
def test_a_missing_file_is_reported_as_missing(path: str) -> None:
    with pytest.raises(InvalidInputError, match=f"'{path}'"):
        load_images(path)


def test_batches_are_indexed_and_sets_move_between_devices(imported: Path) -> None:
    loaded = load_images("mine")
    rows = torch.tensor([4, 0, 4])
    pixels, labels = loaded.batch(rows)
    assert torch.equal(pixels, loaded.images[rows])
    assert torch.equal(labels, loaded.labels[rows])
    elsewhere = loaded.to("meta")
    assert elsewhere.images.device.type == elsewhere.labels.device.type == "meta"
    assert elsewhere.index.device.type == "cpu"
    assert (elsewhere.name, elsewhere.sha256, len(elsewhere)) == ("mine", loaded.sha256, 30)


def test_a_set_keeps_its_description_on_another_device(imported: Path) -> None:
    loaded = load_images("mine")
    assert (loaded.dataset, loaded.classes, loaded.mean, loaded.std) == ("cifar10", 10, CIFAR10.mean, CIFAR10.std)
    said = {"dataset": "cifar100", "classes": 100, "mean": (0.5, 0.4, 0.3), "std": (0.3, 0.2, 0.1)}
    elsewhere = dataclasses.replace(loaded, **said).to("meta")
    assert {name: getattr(elsewhere, name) for name in said} == said


def test_writing_into_a_loaded_set_does_not_change_the_file(imported: Path) -> None:
    before = (imported / "images.npy").read_bytes()
    load_images("mine").images[0] = 0
    assert (imported / "images.npy").read_bytes() == before


@pytest.mark.parametrize("column", ["images", "labels", "train_index", "test_images", "test_labels"])
def test_damaged_columns_are_refused(column: str, imported: Path) -> None:
    path = imported / f"{column}.npy"
    whole = path.read_bytes()
    for content in (
        whole[:-1] if not column.startswith("test") else whole[:-20],
        b"",
        whole.replace(b"'<i8'", b"'|O8'")[:60],
    ):
        path.write_bytes(content)
        with pytest.raises(DamagedFileError, match="damaged"):
            load_images("mine")
    path.unlink()
    with pytest.raises(DamagedFileError, match="damaged"):
        load_images("mine")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"training_images": 29, "test_images": 0, "sha256": "x"}'])
def test_damaged_metadata_is_refused(content: str, imported: Path) -> None:
    (imported / "meta.json").write_text(content)
    with pytest.raises(DamagedFileError):
        load_images("mine")


def test_describe_and_verify(imported: Path) -> None:
    rows = describe_images(verify=True)
    assert [row["name"] for row in rows] == ["cifar10-sample", "mine"]
    assert [row["training_images"] for row in rows] == [3_500, 30]
    assert all(None not in row.values() for row in rows)
    assert rows[1]["sha256"] == load_images("mine").sha256
    assert rows[0]["sha256"] == content_sha256(read_sample()[0])
    assert load_images("mine", verify=False).sha256 == rows[1]["sha256"]
    path = imported / "images.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x00")
    describe_images()
    with pytest.raises(DamagedFileError, match="damaged"):
        describe_images(verify=True)


def test_a_damaged_set_does_not_hide_the_others(
    imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import_images(tmp_path / "mine.npz", "whole")
    (imported / "labels.npy").write_bytes(b"")
    main(["data", "info"])
    said = capsys.readouterr().out
    names = [line.split()[1] for line in said.splitlines() if line.startswith("name:")]
    assert names == ["cifar10-sample", "mine", "whole"] and said.count("unusable:") == 1
    with pytest.raises(SystemExit) as stop:
        main(["data", "info", "--verify"])
    shown = capsys.readouterr()
    assert stop.value.code == 2 and said == shown.out and not missing(shown.err, "mine") and "whole" not in shown.err


@pytest.mark.parametrize("column", ["images", "labels", "train_index"])
def test_searching_on_a_set_other_than_the_recorded_one_is_refused(column: str, imported: Path) -> None:
    array = np.load(imported / f"{column}.npy", mmap_mode="r+")
    array[-1] = array[0] + 1 if column == "images" else 9 - array[-1]
    array.flush()
    load_images("mine", verify=False)
    with pytest.raises(DamagedFileError, match="damaged"):
        load_images("mine")


@pytest.mark.parametrize("label", [-1, 10])
def test_labels_out_of_range_are_refused_even_with_a_valid_checksum(label: int, imported: Path) -> None:
    array = np.load(imported / "labels.npy", mmap_mode="r+")
    array[3] = label
    array.flush()
    columns = [np.load(imported / f"{name}.npy") for name in Columns._fields]
    meta = json.loads((imported / "meta.json").read_text())
    (imported / "meta.json").write_text(json.dumps({**meta, "sha256": content_sha256(Columns(*columns))}))
    with pytest.raises(DamagedFileError, match="damaged"):
        load_images("mine")


# Batches --------------------------------------------------------------------------------------------------------------


def test_an_epoch_visits_every_row_once() -> None:
    rows = np.arange(100, 205)
    found = list(batches(rows, 10, epoch_generator(0, "weights", 1)))
    assert [len(batch) for batch in found] == [10] * 10 + [5]
    assert found[0].dtype == torch.int64
    assert sorted(torch.cat(found).tolist()) == rows.tolist()
    assert torch.cat(found).tolist() != rows.tolist()
    assert len(list(batches(rows, 10, epoch_generator(0, "weights", 1), drop_last=True))) == 10


def test_endless_batches_restart_in_another_order() -> None:
    stream = endless_batches(np.arange(7), 3, epoch_generator(0, "architecture", 1))
    rounds = [torch.cat(list(itertools.islice(stream, 3))).tolist() for _ in range(3)]
    assert [sorted(order) for order in rounds] == [list(range(7))] * 3
    assert len({tuple(order) for order in rounds}) == 3
    first = list(batches(np.arange(7), 3, epoch_generator(0, "architecture", 1)))
    assert torch.cat(first).tolist() == rounds[0]


def test_generators_depend_only_on_seed_stream_and_epoch() -> None:
    def draw(seed: int, stream: str, epoch: int) -> tuple[int, ...]:
        return tuple(torch.randint(2**31, (4,), generator=epoch_generator(seed, stream, epoch)).tolist())

    torch.manual_seed(123)
    keys = list(itertools.product([0, 1, 12], ["weights", "architecture"], [0, 1, 2, 12]))
    assert len({draw(*key) for key in keys}) == len(keys)
    assert draw(0, "weights", 1) == draw(0, "weights", 1)
    seed = int.from_bytes(bytes.fromhex("b9248eb4a877829d"), "little")  # of `printf 0/weights/1 | sha256sum`
    assert epoch_generator(0, "weights", 1).initial_seed() % 2**64 == seed


@pytest.mark.parametrize(("rows", "size", "drop"), [(0, 1, False), (5, 0, False), (5, 6, True)])
def test_zero_batches_are_an_immediate_error(rows: int, size: int, drop: bool) -> None:
    for make in (batches, endless_batches):
        with pytest.raises(InvalidInputError, match="batch"):
            make(np.arange(rows), size, torch.Generator(), drop)
