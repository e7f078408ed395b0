"""Inspects documents without a library for their formats."""
