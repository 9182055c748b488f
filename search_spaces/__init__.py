"""The search spaces: a file of data for each, and the code that they share."""
