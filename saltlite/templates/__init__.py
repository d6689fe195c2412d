"""Templates and data files: the pipe of renderers, the template engines, and what they show."""
