"""Code specific to NAS-Bench-201's topology space: operations, architectures, official numbers, distinct topologies."""
