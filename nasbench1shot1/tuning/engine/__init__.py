"""The engine of a study: proposals, master, dispatcher and workers. It does not depend on searches."""
