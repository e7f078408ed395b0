"""Repairs a synthetic corpus with each engine, next to the identity map: ``make scale``."""
