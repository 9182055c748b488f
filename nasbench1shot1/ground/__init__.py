"""Foundations of file access and output: user paths, folder replacement, standard output, download progress, HTML."""
