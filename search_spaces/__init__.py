"""What exists: the search spaces, each a file of data over shared code."""
