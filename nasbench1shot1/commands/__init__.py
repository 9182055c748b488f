"""The commands of `nb1shot1`, a module for each group: a dataclass of options whose `run` does the work."""
