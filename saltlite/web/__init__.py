"""HTTP as a client, for whatever asks the web."""
