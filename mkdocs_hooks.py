"""Adds the files outside docs/ that its pages link to to the site, and makes links between the two lead there."""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent
HOME = "README.md"
SPEED = "benchmarks/README.md"
PAGES = (HOME, "CONTRIBUTING.md", "CHANGELOG.md", SPEED)
FILES = ("CITATION.cff", "LICENSE", "NOTICE")
_FOUND = (*ROOT.glob("examples/*.*"), *ROOT.glob("examples/notebooks/*"))
EXAMPLES = tuple(path.relative_to(ROOT).as_posix() for path in sorted(_FOUND) if path.is_file())
HUB = "examples/optunahub/package/benchmarks/nasbench1shot1/problem.py"
OUTSIDE = {path: path for path in (*PAGES, *FILES, *EXAMPLES, HUB)} | {HOME: "index.md", SPEED: "speed.md"}
"""Places in the site of files outside docs/, by their paths in the repository. docs/benchmarks.md has the place that
benchmarks/README.md would have."""
LINK = re.compile(r"\]\((?!\w+:|#)([^)#]+)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the files outside docs/."""
    for path, place in OUTSIDE.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Return a page with its relative links, which fit the repository, made to fit the site."""
    here = page.file.src_uri
    source = next((path for path, place in OUTSIDE.items() if place == here), f"docs/{here}")

    def in_site(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[1]))
        place = OUTSIDE.get(target) or target.removeprefix("docs/")
        return f"]({posixpath.relpath(place, posixpath.dirname(here) or '.')}{link[2] or ''})"

    return LINK.sub(in_site, markdown)
