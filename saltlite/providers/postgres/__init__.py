"""PostgreSQL by its own program: statements, answers, passwords."""
