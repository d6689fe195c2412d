"""How busy the machine is: pure parsers of files below ``/proc``."""
