"""The requests that each provider refuses: a table (TOML) and a file of predicates."""
