"""salt-api: the master over HTTP, with the rights of whoever asks and none of its own."""
