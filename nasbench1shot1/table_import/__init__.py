"""Import of benchmark files, in the formats of NAS-Bench-101, NAS-Bench-201 and NATS-Bench, into tables."""
