"""A benchmark outside the package: networks of three stages, each of which has one of four widths."""
