"""Outputters: a value in, the text for people or programs out. Pure; printing is the CLI's."""
