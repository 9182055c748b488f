"""`nb1shot1 data`: image sets."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from nasbench1shot1.commands.options import Positional
from nasbench1shot1.ground.text import print_to_stdout
from nasbench1shot1.runs.options import Form


@dataclass(frozen=True)
class Info:
    """List the image sets that --images accepts by name."""

    verify: bool = False
    """Read every image and verify the recorded SHA-256."""

    def run(self) -> None:
        """Print the facts of each image set, one per line; with --verify, raise UserError if one is unusable."""
        from nasbench1shot1.ground.errors import UserError
        from nasbench1shot1.images.image_set import available_names, describe_set

        unusable = []
        for number, name in enumerate(available_names()):
            try:
                found = _facts(describe_set(name, self.verify))
            except UserError as error:
                found = {"name": name, "unusable": error.for_command_line}
                unusable.append(name)
            facts = [f"{label + ':':<10}{text}" for label, text in found.items()]
            print_to_stdout("\n".join(facts if number == 0 else ["", *facts]))
        if unusable and self.verify:
            raise UserError(f"unusable image sets: {', '.join(unusable)} (the list states the reasons)")


def _facts(row: Mapping[str, Any]) -> dict[str, str]:
    """Return what is printed about an image set, by label."""
    from nasbench1shot1.images.data_sets import DATA_SETS

    of = DATA_SETS[row["dataset"]].title if row["dataset"] in DATA_SETS else "your own"
    return {
        "name": row["name"],
        "images": f"{row['training_images']:,} training images, {row['test_images']:,} test images",
        "data set": f"{of}: {row['classes']} classes, {row['side']} × {row['side']} pixels",
        "source": f"{row['source']}{' (an official archive, by its SHA-256)' if row['official'] is True else ''}",
        "path": row["path"],
    }


@dataclass(frozen=True)
class Download:
    """Download the official CIFAR-10 (170 MB) or CIFAR-100 (169 MB), verify its SHA-256, and import it."""

    dataset: Annotated[
        Positional[Literal["cifar10", "cifar100", "ImageNet16-120"]],
        Form("[{cifar10,cifar100,ImageNet16-120}]"),
    ] = "cifar10"
    """The data set, and the name of its image set. ImageNet16-120 cannot be downloaded without an account; the message
    explains how to get it."""
    mirror: Annotated[str | None, Form("URL")] = None
    """Address of an official archive, or of a folder that has the archive of the Python version. Default: the official
    address."""

    def run(self) -> None:
        """Download and import the data set, and print its folder."""
        from rich.console import Console

        from nasbench1shot1.ground.downloads import DownloadBar
        from nasbench1shot1.images.data_sets import data_set
        from nasbench1shot1.images.sources import download_images, published_archives

        title, size = data_set(self.dataset).title, published_archives(self.dataset).megabytes
        print_to_stdout(f"downloading {title} ({size} MB), then checking and importing it")
        with DownloadBar(title, Console()) as bar:
            folder = download_images(self.mirror, bar, self.dataset)
        print_to_stdout(f"{title} is in {folder}")


@dataclass(frozen=True)
class Import:
    """Import CIFAR-10, CIFAR-100 or ImageNet16-120 from a .tar.gz or folder, or any images and labels from an .npz."""

    path: Annotated[Positional[Path], Form("FILE|FOLDER")]
    """The path of the archive, the folder or the .npz file."""
    name: str | None = None
    """Name of the image set, for --images. Default: the data set's name, cifar10, cifar100 or ImageNet16-120; for an
    .npz, the file's name without .npz."""
    overwrite: bool = False
    """Replace another image set with this name; runs that used it can then no longer be resumed."""

    def run(self) -> None:
        """Import the images, and print the folder of the image set."""
        from nasbench1shot1.ground.files import as_path
        from nasbench1shot1.images.sources import import_images

        if as_path(self.path, "path").exists():
            print_to_stdout(f"importing {self.path} (a full data set takes a few seconds)")
        folder = import_images(self.path, self.name, overwrite=self.overwrite)
        print_to_stdout(f"imported as {folder.name} into {folder}")
