"""From the text of an SLS, pillar file or template to data: Jinja, YAML, and the pipe between."""
