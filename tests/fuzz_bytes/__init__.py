"""Coverage-guided fuzzing of everything that reads bytes or JSON of strangers.

    make fuzz-bytes                      every target for five minutes
    make fuzz-bytes TIME=60 TARGET=sse   one of them for a minute

Each module in ``targets`` has ``examine(data)``, which raises if chatmend does, and ``SEEDS``. Targets that read JSON have
``MUTATES = "json"``: their seeds are changed as JSON values, because changed bytes would hardly ever be JSON.
"""
