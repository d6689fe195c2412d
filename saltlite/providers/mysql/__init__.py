"""MySQL and MariaDB by their own program: statements, answers, privileges."""
