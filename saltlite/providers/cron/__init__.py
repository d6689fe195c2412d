"""Users' tables of commands that run at set times."""
