"""`nb1shot1 data`: image sets."""

from dataclasses import dataclass
from pathlib import Path

import tyro


@dataclass(frozen=True)
class Info:
    """List the image sets that `search --images` finds."""

    verify: bool = False
    """Read every image and verify the recorded SHA-256."""

    def run(self) -> None:
        """Print a paragraph for each."""
        import textwrap

        from nasbench1shot1.images.image_set import describe_images

        for row in describe_images(self.verify):
            print(f"{row['name']}: {row['training_images']:,} training images, {row['test_images']:,} test images")
            print(f"  in {row['path']}")
            source = f"{row['source']}{' (an official archive, by its SHA-256)' if row['official'] is True else ''}"
            print(textwrap.fill(source, 100, initial_indent="  from ", subsequent_indent="  "))


@dataclass(frozen=True)
class Download:
    """Download the official CIFAR-10 (170 MB), verify its SHA-256, and import it as "cifar10"."""

    mirror: str | None = None
    """URL of an official archive, or of a folder that has cifar-10-python.tar.gz. Default: the official URL."""

    def run(self) -> None:
        """Download, import, and say where it lies."""
        from rich.console import Console

        from nasbench1shot1.ground.download_bar import DownloadBar
        from nasbench1shot1.images.sources import download_images

        print("downloading CIFAR-10 (170 MB), then checking and importing it", flush=True)
        with DownloadBar("CIFAR-10", Console()) as bar:
            folder = download_images(self.mirror, bar)
        print(f"CIFAR-10 is in {folder}")


@dataclass(frozen=True)
class Import:
    """Import the official CIFAR-10 from a .tar.gz file or its folder, or any images and labels from an .npz file."""

    path: tyro.conf.Positional[Path]
    """Path of the archive, the folder or the .npz file."""
    name: str | None = None
    """Name of the image set, for --images. Default: cifar10 for the official set, the file's stem for an .npz."""

    def run(self) -> None:
        """Import, and say where it lies."""
        from nasbench1shot1.ground.paths import as_path
        from nasbench1shot1.images.sources import import_images

        if as_path(self.path, "path").exists():
            print(f"importing {self.path} (the whole of CIFAR-10 takes some seconds)", flush=True)
        folder = import_images(self.path, self.name)
        print(f"imported as {folder.name} into {folder}")
