"""Pillar: what the files under ``pillar_roots`` and the drivers of ``ext_pillar`` say of a minion.

Used by the master for its minions and by ``salt-call`` without a master. Knows no network and no
daemon: a context that stands for the minion goes in, plain data comes out.
"""
