"""The analyses of NAS-Bench-201 and NATS-Bench: functions from a table to a data frame, and functions that draw it."""
