"""Prepare the fork server: its processes write placeholders instead of pictures and skip repeated work.

The fork server imports this module last. It then does once what the first search of every process would import, look
up and decode, which takes as long as a tiny search.
"""

import os
import sys
from unittest.mock import patch

import garbage
import pytest
import torch
from unrendered import skip_pictures
from unrepeated import skip_repetitions

from nasbench1shot1.benchmark import benchmarks
from nasbench1shot1.cli import COMMANDS
from nasbench1shot1.ground.plugins import imported
from nasbench1shot1.images.image_set import SAMPLE_NAME, load_images
from nasbench1shot1.registry import BUILT_IN, GROUPS, names, optimizer, search_space


def look_up() -> None:
    """Import commands, built-in one-shot methods, spaces and benchmarks, and list those that installed packages add."""
    for command in COMMANDS.values():
        imported(f"nasbench1shot1.commands.{command.target}")
    for name in BUILT_IN["optimizers"]:
        optimizer(name)
    for name in BUILT_IN["search_spaces"]:
        search_space(name)
    path = [folder or os.getcwd() for folder in os.environ["PYTHONPATH"].split(os.pathsep)]  # noqa: PTH109
    with patch.object(sys, "path", path):  # the path of the process that started the server
        for group in GROUPS:
            names(group)
        for benchmark in benchmarks():
            for part in ("keys", "cell"):
                benchmark.load(part)


def decode_images() -> None:
    """Decode and shrink the bundled images on one thread: a forked process can hang if its parent has several."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for side in (8, 16):
        load_images(SAMPLE_NAME).downsample(side)
    torch.set_num_threads(threads)


skip_pictures(pytest.MonkeyPatch())
skip_repetitions(pytest.MonkeyPatch())
look_up()
decode_images()
garbage.collect_rarely()
