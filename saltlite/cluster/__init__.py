"""Several masters as one: what they share is in PostgreSQL. Imported only with ``cluster_id``."""
