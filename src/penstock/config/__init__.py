"""Settings of the process: environment variables and the log."""
