"""From an event to what is done about it: which files match, what they say, in which order.

Pure but for the rendering of the files; the master's and the minion's processes act upon it.
"""
