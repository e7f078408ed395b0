"""Compares the limits of a target with what its provider accepts, by sending small requests."""
