"""Tables of true performance: their columns in a folder, the look-up of rows, and queries."""
