"""One file per image format: what its header and tail tell."""
