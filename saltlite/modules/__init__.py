"""Execution modules, named as Salt names them: one file each, or a package of several.

``PARTS`` in a package says which file has which functions; a call imports that one alone.

A public function is callable as ``module.function``. A trailing underscore, needed where Python has
the word for itself, is not part of Salt's name: ``list_`` is ``list``. A first parameter ``ctx`` is
filled in by the registry. ``OUTPUTTERS`` in a module says which outputter shows a function's value.
"""
