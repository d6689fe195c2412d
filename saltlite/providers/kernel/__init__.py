"""The kernel's modules and parameters: their files, and text in, text out."""
