"""The engine of a study: proposals, master, dispatcher and workers. It is independent of searches."""
