"""Returners: where else the returns of jobs go, and job stores of other kinds."""
