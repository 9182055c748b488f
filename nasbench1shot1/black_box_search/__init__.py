"""Black-box search on a table: simulated clock, repeated searches and their record."""
