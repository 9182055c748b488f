"""The search spaces, one module per space, and the code that they share."""
