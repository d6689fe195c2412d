"""Where messages, encoding and keys meet: a typed request in, a typed reply out."""
