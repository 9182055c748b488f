"""Execution of many runs with `concurrent.futures`: in this process, in local processes, or on a dask cluster."""
