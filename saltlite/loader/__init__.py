"""From a name to a function: built-in modules, and the arguments of a call."""
