"""Inspectors of image headers, one module for each group of formats."""
