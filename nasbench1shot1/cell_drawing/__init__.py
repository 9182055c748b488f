"""Pictures of cells: their graphs, where the parts lie, and the drawing on matplotlib's axes."""
