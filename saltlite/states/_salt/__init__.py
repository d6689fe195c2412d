"""What the ``salt.*`` states make of the returns of minions."""
