"""Bytes in, bytes out: the symmetric cipher and the RSA operations. No socket, no encoding."""
