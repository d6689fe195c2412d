"""What the file states declare: resources over the functions of ``providers/file``."""
