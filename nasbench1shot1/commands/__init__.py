"""Commands of `nb1shot1`, one module per group: each command is a dataclass of options with a `run` method."""
