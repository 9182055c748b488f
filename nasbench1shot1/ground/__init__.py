"""Utilities that are independent of NAS: errors, files, arguments, text, terminals, notebooks, plugins, downloads."""
