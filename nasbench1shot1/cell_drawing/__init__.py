"""Pictures of cells: graphs, layout and drawing with matplotlib."""
