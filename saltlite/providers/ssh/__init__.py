"""Keys that OpenSSH knows: who may log in, which hosts are the right ones."""
