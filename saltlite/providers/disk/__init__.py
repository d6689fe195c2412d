"""File systems' room and devices' properties: pure parsers of commands' output."""
