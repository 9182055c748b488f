"""Importing images: every format gives the same set, and imports are atomic."""

import resource
import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from image_builders import BATCH_NAMES, ROWS, binary_batch, made_images, official_files, python2_batch, write_tar

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.images.image_set import load_images
from nasbench1shot1.images.official_files import read_data_set
from nasbench1shot1.images.sources import import_images
from nasbench1shot1.images.store import Columns, images_folder

pytestmark = pytest.mark.usefixtures("home")


def unpack(files: dict[str, bytes], folder: Path) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.usefixtures("small_archives")
@pytest.mark.parametrize("kind", ["python", "binary"])
@pytest.mark.parametrize("form", ["tar.gz", "tar", "folder", "folder around it"])
def test_every_format_is_read_in_canonical_order(kind: str, form: str, tmp_path: Path) -> None:
    files, expected = official_files(kind, ROWS)
    if form.startswith("tar"):
        path = write_tar(tmp_path / f"cifar.{form}", files)
    else:
        path = unpack(files, tmp_path) / (next(iter(files)).split("/")[0] if form == "folder" else "")
    for (images, labels), (expected_images, expected_labels) in zip(read_data_set(path).batches, expected, strict=True):
        assert np.array_equal(images, expected_images)
        assert np.array_equal(labels, expected_labels)


def test_complete_archives_become_cifar10_in_every_version(tmp_path: Path, home: Path) -> None:
    eight = made_images(8)[0]
    digests = []
    for kind, write in (("python", python2_batch), ("binary", binary_batch)):
        files = {}
        for number, name in enumerate(BATCH_NAMES):
            images = np.tile(eight, (1_250, 1, 1, 1))
            images[:, 0, 0, 0] = number
            suffix = ".bin" if kind == "binary" else ""
            files[f"any/{name}{suffix}"] = write(images, np.arange(10_000) % 10)
        assert import_images(write_tar(tmp_path / f"{kind}.tar", files)) == home / "images" / "cifar10"
        loaded = load_images("cifar10")
        digests.append(loaded.sha256)
        assert loaded.index.tolist() == list(range(50_000))
        assert loaded.images[:, 0, 0, 0].tolist() == np.repeat(range(5), 10_000).tolist()
        assert loaded.test_images is not None
        assert (loaded.test_images[:, 0, 0, 0] == 5).all()
        assert np.array_equal(loaded.images[8].numpy()[:, 1:], eight[0][:, 1:])
    assert digests[0] == digests[1]


@pytest.mark.usefixtures("small_archives")
def test_archive_members_cannot_write_outside_the_target(tmp_path: Path, home: Path) -> None:
    files, _ = official_files("python", ROWS)
    odd = {f"../../{name}": content for name, content in files.items()} | {"/etc/nb1shot1-test": b"x"}
    (tmp_path / "a" / "b").mkdir(parents=True)
    path = write_tar(tmp_path / "a" / "b" / "cifar.tar", odd)
    before = sorted(tmp_path.rglob("*"))
    import_images(path, "odd")
    assert [p for p in sorted(tmp_path.rglob("*")) if home not in (p, *p.parents)] == before
    assert not Path("/etc/nb1shot1-test").exists()


def one_row_fewer(files: dict[str, bytes]) -> dict[str, bytes]:
    return {**files, "cifar-10-batches-bin/data_batch_3.bin": files["cifar-10-batches-bin/data_batch_3.bin"][:-3073]}


def cut_rows(files: dict[str, bytes]) -> dict[str, bytes]:
    return {**files, "cifar-10-batches-bin/data_batch_3.bin": files["cifar-10-batches-bin/data_batch_3.bin"][:-7]}


def bad_label(files: dict[str, bytes]) -> dict[str, bytes]:
    return {**files, "cifar-10-batches-bin/test_batch.bin": b"\x0a" + files["cifar-10-batches-bin/test_batch.bin"][1:]}


def no_test(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in files.items() if "test_batch" not in name}


@pytest.mark.usefixtures("small_archives")
@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (one_row_fewer, r"11 images.*\b12\b"),
        (cut_rows, "truncated"),
        (bad_label, "a label 10"),
        (no_test, "test_batch"),
        (lambda files: {}, "data_batch_1"),
    ],
)
def test_damaged_archives_are_refused(
    spoil: Callable[[dict[str, bytes]], dict[str, bytes]], sentence: str, tmp_path: Path
) -> None:
    files, _ = official_files("binary", ROWS)
    with pytest.raises(DamagedFileError, match=sentence):
        import_images(write_tar(tmp_path / "cifar.tar.gz", spoil(files)), "x")
    assert not images_folder().exists()


@pytest.mark.usefixtures("small_archives")
@pytest.mark.parametrize("kind", ["python", "binary"])
def test_archives_truncated_anywhere_are_refused(kind: str, tmp_path: Path) -> None:
    whole = write_tar(tmp_path / "whole.tar.gz", official_files(kind, ROWS)[0]).read_bytes()
    for part in np.linspace(0, 0.95, 8):
        cut = tmp_path / "cut.tar.gz"
        cut.write_bytes(whole[: int(len(whole) * part)])
        with pytest.raises(DamagedFileError, match=r"cut\.tar\.gz"):
            import_images(cut, "x")
    assert not images_folder().exists()


@pytest.mark.parametrize("content", [b"", b"root:x:0:0:root:/root:/bin/sh\n", b"<html>not found</html>" * 1000])
def test_a_file_that_is_not_an_archive_is_reported_in_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "passwd").write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"/passwd\b") as caught:
        import_images(tmp_path / "passwd", "x")
    assert "\n" not in str(caught.value)
    assert not images_folder().exists()


def test_npz_with_indices_and_test_rows_is_put_in_canonical_order(tmp_path: Path) -> None:
    images, labels = made_images(20)
    is_test = np.arange(20) % 4 == 0
    index = np.where(is_test, -1, np.arange(20)[::-1] * 7)
    np.savez(tmp_path / "mine.npz", images=images, labels=labels, is_test=is_test, train_index=index)
    assert import_images(tmp_path / "mine.npz").name == "mine"
    for loaded in (load_images("mine"), load_images(tmp_path / "mine.npz")):
        order = np.flatnonzero(~is_test)[::-1]
        assert np.array_equal(loaded.images.numpy(), images[order])
        assert np.array_equal(loaded.labels.numpy(), labels[order])
        assert np.array_equal(loaded.index.numpy(), index[order])
        assert loaded.test_images is not None
        assert np.array_equal(loaded.test_images.numpy(), images[is_test])
    assert load_images("mine").sha256 == load_images(tmp_path / "mine.npz").sha256


def test_npz_with_only_images_and_labels_is_imported(tmp_path: Path) -> None:
    images, labels = made_images(5)
    np.savez_compressed(tmp_path / "plain.npz", images=images, labels=labels.astype(np.uint8))
    import_images(tmp_path / "plain.npz", name="other.name")
    loaded = load_images("other.name")
    assert np.array_equal(loaded.images.numpy(), images)
    assert loaded.index.tolist() == [-1] * 5
    assert loaded.test_images is None


GOOD = {"images": made_images(4)[0], "labels": np.arange(4), "is_test": np.arange(4) > 2, "train_index": np.arange(4)}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"images": None}, "arrays"),
        ({"labels": None}, "arrays"),
        ({"images": GOOD["images"].astype(np.float32)}, r"uint8.*\(N, 32, 32, 3\).*float32"),
        ({"images": GOOD["images"].transpose(0, 3, 1, 2)}, r"uint8.*\(4, 3, 32, 32\)"),
        ({"labels": np.arange(3)}, "'labels'.*4 integers"),
        ({"labels": np.arange(4.0)}, "'labels'.*4 integers.*float64"),
        ({"labels": np.arange(4) + 7}, "'labels'.*0 to 9.*7 to 10"),
        ({"labels": np.arange(4) - 1}, "not -1 to 2"),
        ({"is_test": np.arange(4)}, "'is_test'.*4 booleans"),
        ({"is_test": np.ones(4, bool)}, "training"),
        ({"train_index": np.arange(5)}, "'train_index'.*4 integers"),
        ({"train_index": np.arange(4) + 49_998}, "'train_index'"),
        ({"train_index": np.zeros(4, int)}, "twice"),
        ({"labels": np.array([0, 1, None, 3])}, "read"),
    ],
)
def test_unusable_npz_files_are_refused(change: dict[str, np.ndarray | None], sentence: str, tmp_path: Path) -> None:
    arrays = {key: value for key, value in {**GOOD, **change}.items() if value is not None}
    np.savez(tmp_path / "bad.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(DamagedFileError, match=sentence):
        import_images(tmp_path / "bad.npz")
    assert not images_folder().exists()


def test_truncated_or_corrupted_npz_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    np.savez_compressed(path, **GOOD)
    whole = path.read_bytes()
    for content in (b"", b"no zip", whole[: len(whole) // 2], whole[:2000] + bytes(64) + whole[2064:]):
        path.write_bytes(content)
        with pytest.raises(DamagedFileError, match="read"):
            import_images(path)


def test_reserved_and_invalid_names_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "good.npz", **GOOD)
    for name, sentence in (
        ("cifar10", "not the complete"),
        ("cifar10-sample", "bundled sample"),
        ("../x", "letters"),
        (".x", "letters"),
        ("good.npz", r"without \.npz"),
    ):
        with pytest.raises(InvalidInputError, match=sentence):
            import_images(tmp_path / "good.npz", name)
    with pytest.raises(InvalidInputError, match="file"):
        import_images(tmp_path / "missing.npz")
    assert not images_folder().exists()


def test_a_verified_set_is_not_replaced_by_an_npz_file_without_overwrite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Columns, "is_whole", lambda self, of: True)
    np.savez(tmp_path / "first.npz", **GOOD, dataset="cifar10")
    import_images(tmp_path / "first.npz", "cifar10")
    other = made_images(100)[0]
    np.savez(tmp_path / "other.npz", images=other, labels=np.arange(100) % 10, dataset="cifar10")
    with pytest.raises(InvalidInputError, match=r"'cifar10'.*name="):
        import_images(tmp_path / "other.npz", "cifar10")
    assert len(load_images("cifar10")) == 3
    import_images(tmp_path / "other.npz", "cifar10", overwrite=True)
    assert len(load_images("cifar10")) == 100


def test_a_failed_write_keeps_the_existing_set(tmp_path: Path) -> None:
    np.savez(tmp_path / "good.npz", **GOOD)
    folder = import_images(tmp_path / "good.npz")
    np.savez(tmp_path / "more.npz", images=made_images(100)[0], labels=np.arange(100) % 10)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(UserError, match="write"):
            import_images(tmp_path / "more.npz", "good", overwrite=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [p.name for p in images_folder().iterdir()] == ["good"]
    assert len(load_images("good")) == 3
    with pytest.raises(InvalidInputError, match=r"'good'.*name="):
        import_images(tmp_path / "more.npz", "good")
    assert len(load_images("good")) == 3 and import_images(tmp_path / "good.npz") == folder, "the same images"
    import_images(tmp_path / "more.npz", "good", overwrite=True)
    assert len(load_images("good")) == 100
    assert sorted(p.name for p in images_folder().iterdir()) == [folder.name]


def test_the_shared_subset_can_be_imported(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = runpy.run_path(str(shared.parent / "tools" / "cifar_subset.py"))
    tool["main"](str(tmp_path / "subset.npz"))
    import_images(tmp_path / "subset.npz", name="subset")
    loaded, sample = load_images("subset"), load_images("cifar10-sample")
    assert loaded.images.shape == (22_500, 32, 32, 3)
    assert loaded.index[:22_215].tolist() == list(range(22_215))
    assert loaded.test_labels is not None
    assert np.bincount(loaded.test_labels.numpy()).tolist() == [500] * 10
    rows = np.searchsorted(loaded.index.numpy(), sample.index.numpy())
    assert np.array_equal(loaded.images.numpy()[rows], sample.images.numpy())
    assert np.array_equal(loaded.labels.numpy()[rows], sample.labels.numpy())
    by_class = np.argsort(loaded.labels.numpy(), kind="stable").reshape(10, 2_250)
    assert np.array_equal(np.sort(by_class[:, :350], axis=None), rows)
