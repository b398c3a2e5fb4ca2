"""Settings of the process: environment variables (`env`) and the log (`logging`)."""

from penstock.config import env, logging
from penstock.config.logging import get_logger

__all__ = ["env", "get_logger", "logging"]
