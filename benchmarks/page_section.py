"""Write the generated sections of documentation pages, each between two HTML comments."""

import re


def marks(name):
    """Return the comments before and after a section."""
    return f"<!-- begin of {name} -->", f"<!-- end of {name} -->"


def replace_section(page, name, lines):
    """Replace the lines between the `marks` of a section; exit with an error if the page lacks these comments."""
    begin, end = marks(name)
    text = page.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        raise SystemExit(f"{page} lacks the comments {begin} and {end}")
    section = "\n".join([begin, "", *lines, "", end])
    page.write_text(re.sub(f"{begin}.*{end}", lambda _: section, text, flags=re.DOTALL), encoding="utf-8")
