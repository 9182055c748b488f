"""CIFAR-100 and ImageNet16-120 from every published format, never unpickled."""

import hashlib
import json
import os
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from image_builders import (
    CIFAR100_NAMES,
    IMAGENET16_NAMES,
    ROWS,
    cifar100_files,
    imagenet16_batch,
    imagenet16_files,
    made_images,
    official_files,
    planar,
    write_tar,
)
from refusals import exits, refuses

from nasbench1shot1 import cli
from nasbench1shot1.commands.data import Download, Info
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.images import official_files as official_module
from nasbench1shot1.images import sources
from nasbench1shot1.images.data_sets import CIFAR100, DATA_SETS, IMAGENET16_120
from nasbench1shot1.images.image_set import load_images
from nasbench1shot1.images.official_files import FORMATS, BatchFormat, read_data_set, read_python_batch
from nasbench1shot1.images.sources import download_images, import_images

pytestmark = [pytest.mark.usefixtures("home"), pytest.mark.usefixtures("small_archives")]
IMAGENET16 = next(form.batch for form in FORMATS if form.name == "ImageNet16-120")


@pytest.fixture(autouse=True)
def small_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATA_SETS, "cifar100", replace(CIFAR100, training_images=ROWS, test_images=ROWS))
    kept = [int((labels <= 120).sum()) for _, labels in imagenet16_files()[1]]
    small = replace(IMAGENET16_120, training_images=sum(kept[:-1]), test_images=kept[-1])
    monkeypatch.setitem(DATA_SETS, "ImageNet16-120", small)


def in_form(form: str, files: dict[str, bytes], folder: Path) -> Path:
    """The files as an archive, in one folder, or in separate folders."""
    if form.startswith("tar"):
        return write_tar(folder / f"archive.{form}", files)
    for name, content in files.items():
        path = folder / (Path(name).name if form == "folder" else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


@pytest.mark.parametrize("kind", ["python", "binary"])
@pytest.mark.parametrize("form", ["tar.gz", "tar", "folder", "folder around it"])
def test_cifar100_is_imported_from_every_format(kind: str, form: str, tmp_path: Path) -> None:
    files, (train, test) = cifar100_files(kind, ROWS)
    lines: list[str] = []
    (tmp_path / "in").mkdir()
    assert import_images(in_form(form, files, tmp_path / "in"), report=lines.append).name == "cifar100"
    loaded = load_images("cifar100")
    assert (loaded.dataset, loaded.classes, loaded.mean) == ("cifar100", 100, CIFAR100.mean)
    assert np.array_equal(loaded.images.numpy(), train[0])
    assert np.array_equal(loaded.labels.numpy(), train[1])
    assert loaded.index.tolist() == list(range(ROWS))
    assert loaded.test_images is not None and loaded.test_labels is not None
    assert np.array_equal(loaded.test_images.numpy(), test[0])
    assert np.array_equal(loaded.test_labels.numpy(), test[1])
    assert len(lines) == 1 and "is not one of the two official archives of CIFAR-100" in lines[0]
    assert "`nb1shot1 data download cifar100`" in lines[0]


@pytest.mark.parametrize("protocol", range(1, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("form", ["tar", "folder", "folder around it"])
def test_imagenet16_keeps_the_first_120_classes(protocol: int, form: str, tmp_path: Path) -> None:
    files, batches = imagenet16_files(protocol)
    (tmp_path / "in").mkdir()
    path = in_form(form, {f"ImageNet16/{name}": content for name, content in files.items()}, tmp_path / "in")
    lines: list[str] = []
    assert import_images(path, report=lines.append).name == "ImageNet16-120"
    loaded = load_images("ImageNet16-120")
    images, labels = (np.concatenate([batch[i] for batch in batches[:-1]]) for i in (0, 1))
    assert np.array_equal(loaded.images.numpy(), images[labels <= 120])
    assert np.array_equal(loaded.labels.numpy(), labels[labels <= 120] - 1)
    assert {0, 119} <= set(loaded.labels.tolist())
    assert loaded.images.shape[1:] == (16, 16, 3)
    assert loaded.index.tolist() == list(range(len(loaded)))
    assert loaded.test_images is not None
    assert np.array_equal(loaded.test_images.numpy(), batches[-1][0][batches[-1][1] <= 120])
    assert len(lines) == 1 and "do not have the published MD5s of ImageNet16" in lines[0]


def test_files_with_the_published_md5s_are_official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, _ = imagenet16_files()
    sums = {name: hashlib.md5(content).hexdigest() for name, content in files.items()}
    forms = [form._replace(md5=sums) if form.name == "ImageNet16-120" else form for form in FORMATS]
    monkeypatch.setattr(official_module, "FORMATS", tuple(forms))
    path = in_form("folder", files, tmp_path)
    folder = import_images(path, report=pytest.fail)
    assert json.loads((folder / "meta.json").read_text())["official"] is True
    (path / "val_data").write_bytes(imagenet16_batch(*imagenet16_files()[1][0]))
    monkeypatch.setitem(DATA_SETS, "ImageNet16-120", replace(DATA_SETS["ImageNet16-120"], test_images=2))
    assert not read_data_set(path).is_verified


def test_every_file_has_a_published_md5() -> None:
    form = next(form for form in FORMATS if form.name == "ImageNet16-120")
    assert set(form.md5) == set(IMAGENET16_NAMES)
    assert all(len(digest) == 32 for digest in form.md5.values())
    assert set(CIFAR100_NAMES) == set(FORMATS[1].files)


def test_a_folder_of_several_sets_gives_the_named_set_or_cifar10(tmp_path: Path) -> None:
    for files in (official_files("python", ROWS)[0], cifar100_files("python", ROWS)[0]):
        in_form("folder around it", files, tmp_path)
    assert import_images(tmp_path, report=lambda line: None).name == "cifar10"
    assert import_images(tmp_path, "cifar100", report=lambda line: None).name == "cifar100"
    with pytest.raises(DamagedFileError, match=r"ImageNet16-120.*train_data_batch_1"):
        import_images(tmp_path, "ImageNet16-120")


def test_a_set_under_the_name_of_another_is_refused(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "cifar.tar", cifar100_files("binary", ROWS)[0])
    with pytest.raises(DamagedFileError, match=r"CIFAR-10.*data_batch_1"):
        import_images(path, "cifar10")


def test_damaged_sets_are_reported_in_one_sentence(tmp_path: Path) -> None:
    files, _ = cifar100_files("binary", ROWS)
    train, test = files["cifar-100-binary/train.bin"], files["cifar-100-binary/test.bin"]
    for content, sentence in (
        ({"train.bin": train}, "not the complete CIFAR-100 .test is missing"),
        ({"train.bin": train[:-3074], "test.bin": test}, "has 11 images, not 12"),
        ({"train.bin": train[:-1], "test.bin": test}, "truncated"),
        ({"train.bin": train[:1] + b"\x64" + train[2:], "test.bin": test}, "100, but CIFAR-100's labels are 0 to 99"),
    ):
        with pytest.raises(DamagedFileError, match=sentence):
            import_images(write_tar(tmp_path / "bad.tar", content))
    files, _ = imagenet16_files()
    images, labels = made_images(8, side=16)
    with pytest.raises(DamagedFileError, match="ImageNet16-120"):
        import_images(write_tar(tmp_path / "bad.tar", {**files, "val_data": imagenet16_batch(images, labels + 1)}))
    with pytest.raises(DamagedFileError, match="pickle"):
        import_images(write_tar(tmp_path / "bad.tar", {**files, "val_data": files["val_data"][:5_000]}))


SMALL = made_images(8, side=16, classes=1_000)


@pytest.mark.parametrize("label", [0, 1_001, -1, 2**70])
def test_labels_out_of_range_are_refused(label: int) -> None:
    images, labels = SMALL
    content = pickle.dumps({"data": planar(images), "labels": [label, *(1 + labels[1:]).tolist()]})
    with pytest.raises(DamagedFileError, match="ImageNet16"):
        read_python_batch(content, "x", IMAGENET16)


class Trap:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("form", [form.batch for form in FORMATS[1:]], ids=["cifar100", "imagenet16"])
def test_pickles_with_other_globals_are_refused_and_not_executed(
    form: BatchFormat, protocol: int, tmp_path: Path
) -> None:
    trap = Trap(tmp_path / "executed")
    content = {"trap": trap, form.labels.decode(): (1 + SMALL[1]).tolist(), "data": planar(SMALL[0])}
    with refuses(InvalidInputError, "x", f"{os.name}.mkdir"):
        read_python_batch(pickle.dumps(content, protocol), "x", form)
    assert not trap.folder.exists()


def test_pickles_with_other_objects_are_refused() -> None:
    batch = {"data": planar(SMALL[0]), "labels": (1 + SMALL[1]).tolist(), "other": slice(3)}
    with refuses(InvalidInputError, "x", "builtins.slice"):
        read_python_batch(pickle.dumps(batch), "x", IMAGENET16)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("protocol", range(1, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("first", ["mean", "data", "labels"])
def test_pixels_and_mean_are_distinguished_in_any_order(order: str, protocol: int, first: str) -> None:
    images, labels = SMALL
    data = np.array(planar(images), order=order)  # type: ignore[call-overload]
    content = {"data": data, "mean": data.mean(axis=0), "labels": (1 + labels).tolist()}
    assert content["mean"].nbytes == data.nbytes
    given = {first: content.pop(first), **content}
    pixels, read = read_python_batch(pickle.dumps(given, protocol), "x", IMAGENET16)
    assert np.array_equal(pixels, planar(images))
    assert np.array_equal(read, 1 + labels)


@pytest.mark.parametrize("kind", ["python", "binary"])
def test_the_download_of_cifar100_is_checked_by_its_checksum(
    kind: str,
    server: str,
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    archive = write_tar(tmp_path / "served" / f"cifar-100-{kind}.tar.gz", cifar100_files(kind, ROWS)[0])
    address = server if kind == "python" else f"{server}/{archive.name}"
    with pytest.raises(UserError, match="CIFAR-100"):
        download_images(address, name="cifar100")
    monkeypatch.setitem(sources.CHECKSUMS, archive.name, hashlib.sha256(archive.read_bytes()).hexdigest())
    Download("cifar100", mirror=address).run()
    folder = home / "images" / "cifar100"
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "downloading CIFAR-100 (169 MB), then checking and importing it"
    assert out[-1] == f"CIFAR-100 is in {folder}"
    Info().run()
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "CIFAR-100: 100 classes, 32 × 32 pixels" in shown
    assert json.loads((folder / "meta.json").read_text())["official"] is True


def test_errors_about_undownloadable_sets_say_where_to_find_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match=r"ImageNet16-120.*image-net\.org.*FOLDER"):
        download_images(name="ImageNet16-120")
    with pytest.raises(InvalidInputError, match="mean 'cifar100'"):
        download_images(name="cifar-100")
    with exits(capsys, "image-net.org"):
        cli.main(["data", "download", "ImageNet16-120"])
