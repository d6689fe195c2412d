"""Files of sections and options, as text in and text out."""
