"""Beacons: what a minion keeps an eye on. Each file is one, named as in Salt.

A file has ``beacon(ctx, config)``, which gives events as maps (``tag`` ends the event's tag, the
rest is its data), ``validate(config)``, which gives whether the configuration is right and a
sentence, and sometimes ``close(ctx, config)``, which lets go of what is held between two runs.
``config`` is one map of all options; :class:`saltlite.context.BeaconContext` is the context.
``OWN_OPTIONS`` names options common to all beacons that the file sees to itself.
"""
