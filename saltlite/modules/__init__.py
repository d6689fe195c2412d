"""Execution modules, one file each, named as Salt names them.

A public function is callable as ``module.function``. A trailing underscore, needed where Python has
the word for itself, is not part of Salt's name: ``list_`` is ``list``. A first parameter ``ctx`` is
filled in by the registry. ``OUTPUTTERS`` in a module says which outputter shows a function's value.
"""
