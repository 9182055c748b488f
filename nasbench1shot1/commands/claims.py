"""`nb1shot1 claims`."""

from dataclasses import dataclass
from pathlib import Path

from nasbench1shot1.ground.text import print_to_stdout


@dataclass(frozen=True)
class Claims:
    """Test the papers' claims on recorded runs and on the bundled tables, and write a page with a verdict on each.

    nb1shot1 claims --records docs/records records --out claims.md
    """

    records: tuple[Path, ...] | None = None
    """Folders that contain files of nb1shot1 reproduce --pack, or output folders of nb1shot1 reproduce. Default: none,
    so that only claims about tables are tested."""
    only: tuple[str, ...] | None = None
    """Keys of claims, separated by spaces; * matches anything. Default: all claims."""
    out: Path = Path("claims.md")
    """Markdown file for the page. An existing file is replaced."""

    def run(self) -> None:
        """Test the claims, print the results and write the page."""
        from nasbench1shot1.experiments.claims.catalogue import judged, selected
        from nasbench1shot1.experiments.claims.evidence import Records
        from nasbench1shot1.experiments.claims.page import as_markdown, show
        from nasbench1shot1.ground.files import atomic_write, check_writable_file
        from nasbench1shot1.ground.progress import show_step
        from nasbench1shot1.ground.text import counted, literal_console

        claims = selected(self.only or ())
        check_writable_file(self.out, "out")
        console = literal_console()
        with show_step(console, f"testing {counted(len(claims), 'claim')}"), Records(self.records or ()) as records:
            results = judged(claims, records)
        with atomic_write(self.out) as file:
            file.write(as_markdown(results).encode())
        show(results, console)
        print_to_stdout(f"Page: {self.out}")
