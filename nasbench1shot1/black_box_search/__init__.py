"""Black-box search on a table: a simulated clock, repeated searches, and their record."""
