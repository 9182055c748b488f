"""The engine of a study: tuners, master, dispatcher and workers. It is independent of searches."""
