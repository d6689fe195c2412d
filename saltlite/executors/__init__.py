"""Executors: ``execute(ctx, job, ...)`` stands between a job and its function."""
