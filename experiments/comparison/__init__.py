"""Comparison of runs of any kind in one figure, with a table and rank tests (`nb1shot1 compare`)."""
