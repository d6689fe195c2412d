"""Configuration: what the files say, checked, as frozen sections of options."""
