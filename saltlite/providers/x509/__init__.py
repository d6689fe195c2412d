"""Keys, certificates and requests, on ``cryptography``. Behaviour observed on Salt 3006.30."""
