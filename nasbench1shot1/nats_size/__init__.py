"""The size space of NATS-Bench: the numbers of channels of five layers (Dong et al. 2021, arXiv:2009.00437)."""
