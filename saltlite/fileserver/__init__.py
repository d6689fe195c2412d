"""Files of the environments: the side that serves them, and the side that keeps copies."""
