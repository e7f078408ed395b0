"""What each provider refuses: one table (TOML) and one file of predicates each."""
