"""Code specific to NAS-Bench-201's topology space: operations, architectures, official indices, distinct topologies."""
