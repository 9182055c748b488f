"""The files of NAS-Bench-201 and NATS-Bench: every training of a space by data set, budget and random seed."""
