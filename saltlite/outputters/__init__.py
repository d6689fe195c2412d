"""Outputters: ``output(data, options)`` gives the text of a value. Pure; printing is the CLI's."""
