"""What the machine is doing: pure parsers of files below ``/proc``."""
