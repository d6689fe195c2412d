"""``salt-syndic``: joins the master of this machine to masters above it. Source: docs/syndic.md."""
