"""The site of `make docs`: complete, every link leads somewhere, and a browser shows and searches it offline."""

import re
from collections.abc import Iterator
from pathlib import Path

import built_site
import pytest
from browser import DESKTOP, PHONE, opened
from built_site import Page, problem_of, sources
from conftest import CHECKOUT
from local_server import serving

BLOCK = re.compile(r"^ *```\w+\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LOOKED_AT = ("", "optimizers/", "claims/", "api/", "reference/", "report_page/", "speed/")
"""Pages with wide tables, long lines of code, pictures and signatures."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built_site.build(folder)
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    return built_site.read(site)


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with serving(site) as found:
        yield f"{found}/"


def test_the_site_has_every_page_at_a_place_of_its_own(pages: dict[str, Page]) -> None:
    assert pages.keys() - {"404.html"} == sources().keys()
    for place, path in sources().items():
        heading = re.search(r"^# (.*)$", path.read_text(), re.MULTILINE)
        assert heading and pages[place].heading == re.sub(r"[`*]", "", heading[1])


def test_every_link_and_anchor_of_the_site_resolves(pages: dict[str, Page], site: Path) -> None:
    found = {(place, link): problem_of(link, page, pages, site) for place, page in pages.items() for link in page.links}
    assert len(found) > 1000
    assert {where: problem for where, problem in found.items() if problem} == {}


def test_broken_links_are_found(pages: dict[str, Page], site: Path) -> None:
    expected = {
        "../darts/": "",
        "../darts/#measured": "",
        "../regret.png": "",
        "https://arxiv.org/abs/2001.10422": "",
        "../darts/#nowhere": "no such anchor",
        "../nowhere/": "no such file",
        "../../darts/../nowhere.png": "no such file",
        "http://arxiv.org": "not https://HOST/PATH",
        "https://arxiv": "not https://HOST/PATH",
    }
    assert {link: problem_of(link, pages["gdas/"], pages, site) for link in expected} == expected


def test_the_site_loads_only_its_own_files(pages: dict[str, Page], site: Path) -> None:
    for page in pages.values():
        assert page.loaded
        for link in page.loaded:
            assert "//" not in link and problem_of(link.partition("?")[0], page, pages, site) == "", (page.place, link)


def test_every_block_of_code_is_shown_as_it_was_written(pages: dict[str, Page]) -> None:
    for place, path in sources().items():
        written = [block.strip() for block in BLOCK.findall(path.read_text())]
        shown = [block.strip() for block in pages[place].blocks]
        assert shown == written or place == "reference/", place  # the reference shows signatures, too
    assert len(pages["reference/"].blocks) > 50


@pytest.mark.parametrize("size", [PHONE, DESKTOP])
def test_pages_fit_the_window(browser, address, size) -> None:
    with opened(browser, address, size) as page:
        for place in LOOKED_AT:
            page.goto(address + place)
            assert page.locator("h1").first.is_visible()
            assert not page.is_too_wide(), place


def test_the_search_finds_pages_and_an_option_with_its_dashes(browser, address) -> None:
    """The search would take a dash before a word for "without this word".

    All searches use one window, because indexing the site takes a browser 2 s.
    """
    with opened(browser, address) as page:
        box, first = page.get_by_role("textbox", name="Search"), page.locator(".md-search-result__link").first
        box.press_sequentially("--dry-run")
        first.wait_for()
        for words, title, place in [
            ("write_report_page", "API reference", "reference/"),
            ("slurm", "Many runs", "jobs/"),
            ("Hyperband", "Black-box methods", "black_box_methods/"),
        ]:
            box.fill("")
            first.wait_for(state="detached")
            box.fill(words)  # at once, because the first letters have results, too
            box.press("End")  # the site searches after a key is released
            first.wait_for()
            assert title in first.inner_text()
            with page.context.expect_page() as result:
                first.click(modifiers=["Control"])  # in another window
            result.value.wait_for_url(re.compile(re.escape(address + place)))
            result.value.close()


def test_commands_and_their_comments_fit_the_window(browser, address) -> None:
    too_wide = "[...document.querySelectorAll('pre > code')].filter(of => of.scrollWidth > of.clientWidth).length"
    with opened(browser, address, DESKTOP) as page:
        for place in ("", "compare/", "full_scale/"):
            page.goto(address + place)
            assert page.evaluate(too_wide) == 0, place


def test_a_click_copies_a_block_of_code(browser, address) -> None:
    with opened(browser, address, permissions=["clipboard-read", "clipboard-write"]) as page:
        block = page.locator("pre").first
        block.hover()
        page.locator("pre button, .md-code__nav button").first.click()
        copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == BLOCK.findall((CHECKOUT / "README.md").read_text())[0].strip()


def test_the_navigation_leads_to_a_page_on_a_phone(browser, address) -> None:
    with opened(browser, address, PHONE) as page:
        page.locator("header label[for=__drawer]").click()  # opens at the section of this page
        page.locator(".md-nav--primary").get_by_role("link", name="Notebooks", exact=True).click()
        page.wait_for_url(f"{address}notebooks/")
        assert page.locator("h1").is_visible()
