"""Many runs: in this process, in processes on this machine, or on a dask cluster, behind `concurrent.futures`."""
