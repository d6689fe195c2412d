"""Renderers: ``render(data, source, ctx, argument)`` makes of what came before what comes next."""
