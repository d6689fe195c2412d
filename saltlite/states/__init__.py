"""State modules: they declare what shall be; :mod:`saltlite.highstate.resource` makes it so."""
