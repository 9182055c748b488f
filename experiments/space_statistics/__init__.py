"""The analyses of tables in several papers: functions from a table to a data frame, and functions that draw it."""
