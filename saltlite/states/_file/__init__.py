"""What the file states declare: resources over the functions of ``modules/_file``."""
