"""Tops: ``top(ctx, argument)`` says which SLS are for a minion, for ``master_tops``."""
