"""What users' files get for imports of other projects' names: ``saltlite/compat/salt``."""
