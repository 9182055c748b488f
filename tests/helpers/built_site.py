"""The built site of the documentation, read without a browser."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

CHECKOUT = Path(__file__).parents[2]
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""Elements that load a file, and the attribute that names it. A link with rel=canonical loads nothing."""


def build(folder: Path) -> None:
    """Build the site into a folder; a warning, such as a link to a missing page, is an error.

    -P: mkdocs reads the installed package, which has all folders in their places.
    """
    command = [sys.executable, "-P", "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@dataclass
class Page(HTMLParser):
    """What a page has.

    Attributes:
        place: path in the site.
        ids: anchors.
        heading: the text of its first heading.
        links: targets of its links, as written.
        loaded: files that a browser loads for it, as written.
        blocks: text of its blocks of code.
    """

    place: str
    ids: set[str] = field(default_factory=set)
    heading: str = ""
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    _inside: str = ""

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in LOADED and LOADED[tag] in found and found.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(found[LOADED[tag]])
        if tag == "pre":
            self.blocks.append("")
        if tag == "pre" or (tag == "h1" and not self.heading):
            self._inside = tag
        elif self._inside == "h1" and tag == "a":  # the link to the heading itself
            self._inside = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "pre":
            self.blocks[-1] += data
        elif self._inside == "h1":
            self.heading += data


def read(site: Path) -> dict[str, Page]:
    """All pages of a site, by their addresses: "" is the first page, "darts/" another one."""
    pages = {}
    for file in sorted(site.rglob("*.html")):
        place = file.relative_to(site).as_posix()
        page = Page(place)
        page.feed(file.read_text())
        pages[place.removesuffix("index.html")] = page
    return pages


def problem_of(link: str, page: Page, pages: dict[str, Page], site: Path) -> str:
    """What is wrong with a link of a page; empty if nothing is. Nothing asks the addresses of other hosts."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        if parts.scheme == "mailto":
            return "" if "@" in parts.path else "no address"
        host = parts.hostname or ""
        is_valid = parts.scheme == "https" and "." in host and " " not in link
        return "" if is_valid else "not https://HOST/PATH"
    target, anchor = urldefrag(urljoin(f"/{page.place}", link))
    place = unquote(target).lstrip("/")
    there = pages.get(place.removesuffix("index.html"))
    if there is None:
        return "" if (site / place).is_file() and not anchor else "no such file"
    return "" if not anchor or unquote(anchor) in there.ids else "no such anchor"


def sources() -> dict[str, Path]:
    """The Markdown of every page that the site should have, by its address."""
    outside = {"": "README.md", "speed/": "benchmarks/README.md"}
    outside |= {f"{name}/": f"{name}.md" for name in ("CONTRIBUTING", "CHANGELOG")}
    docs = CHECKOUT / "docs"
    inside = {path.relative_to(docs).with_suffix("").as_posix(): path for path in docs.rglob("*.md")}
    found = {f"{name.removesuffix('index').removesuffix('/')}/": path for name, path in inside.items()}
    return {place: CHECKOUT / name for place, name in outside.items()} | found
