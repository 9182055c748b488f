"""The analyses of NAS-Bench-201 and both spaces of NATS-Bench: functions of a table, and of their pictures."""
