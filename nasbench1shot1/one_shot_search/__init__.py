"""A search: the supernet and Λ train epoch by epoch, and the table is asked about the architecture preferred."""
