"""Helpers that read pages of the documentation."""

import re
from pathlib import Path


def blocks_of(page: Path, language: str) -> list[str]:
    """Code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def broken_links(page: Path) -> list[str]:
    """Broken relative links; the page must have links."""
    links = re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", page.read_text())
    assert links
    return [link for link in links if "://" not in link and not (page.parent / link).exists()]
