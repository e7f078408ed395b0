"""One file per kind of defect. Each has a ``DEFECTS``, and ``mutations.py`` lists them."""
