"""A real browser for tests of HTML pages: Debian's chromium, which Playwright drives, without a network.

`browser` is a fixture (conftest.py) that starts one browser for each module; a page is opened with `opened`.
"""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")
"""Debian's program; Playwright's own download of a browser is not needed."""
OPTIONS = ("--no-sandbox", "--disable-gpu", "--hide-scrollbars")
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
"""Every other host is unknown, also where the machine has a network."""
PHONE, DESKTOP = (375, 740), (1280, 900)
TOO_PALE = (Path(__file__).parent / "too_pale.js").read_text()
"""A function that returns the visible texts whose contrast with their background is below a value."""


def what_is_missing() -> str:
    """Why there is no browser; empty if there is one."""
    if not CHROMIUM.exists():
        return f"{CHROMIUM} is missing: apt-get install --no-install-recommends chromium"
    if importlib.util.find_spec("playwright") is None:
        return "playwright is missing: pip install -e .[dev]"
    return ""


@contextmanager
def launched() -> "Iterator[Browser]":
    """A browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=str(CHROMIUM), args=[*OPTIONS, OFFLINE])
        try:
            yield found
        finally:
            found.close()


@dataclass
class Opened:
    """An open page, and what it did.

    Attributes:
        page: Playwright's page.
        requests: the addresses that it asked for, beginning with its own.
        problems: messages of the console and uncaught errors.
    """

    page: "Page"
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        """Attributes and methods of the page."""
        return getattr(self.page, name)

    def too_pale(self, least: float = 4.5) -> list[str]:
        """The visible texts with a contrast below the limit of WCAG 2.2 for text (level AA)."""
        found: list[str] = self.page.evaluate(TOO_PALE, least)
        return found

    def is_too_wide(self) -> bool:
        """Whether the page scrolls sideways."""
        found: bool = self.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        return found


@contextmanager
def opened(
    browser: "Browser", address: str | Path, size: tuple[int, int] = DESKTOP, scheme: str = "light", **context: Any
) -> Iterator[Opened]:
    """Open a page without a network; afterwards, check that it asked for nothing else and reported no problem.

    Args:
        browser: the browser.
        address: a file, or an address of this machine, which may serve the files of a site.
        size: width and height of the window, in pixels.
        scheme: "light" or "dark".
        context: further arguments of Playwright's `new_context`.
    """
    start = address.resolve().as_uri() if isinstance(address, Path) else address
    options = {"offline": isinstance(address, Path), "color_scheme": scheme, **context}
    with browser.new_context(viewport={"width": size[0], "height": size[1]}, **options) as own:
        found = Opened(own.new_page())
        found.page.on("request", lambda request: found.requests.append(request.url))
        found.page.on("console", lambda message: found.problems.append(message.text))
        found.page.on("pageerror", lambda error: found.problems.append(str(error)))
        found.page.goto(start)
        yield found
        own_files = start.rpartition("/")[0] if address == start else start
        others = [url for url in found.requests if not url.startswith(own_files)]
        assert not others and not found.problems, (others, found.problems)
