"""What knows nothing of architecture search: errors, files, arguments, text, terminals, notebooks and downloads."""
