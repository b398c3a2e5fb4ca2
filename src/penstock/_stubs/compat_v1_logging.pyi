# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.config.logging import DEBUG as DEBUG
from penstock.config.logging import ERROR as ERROR
from penstock.config.logging import FATAL as FATAL
from penstock.config.logging import INFO as INFO
from penstock.config.logging import TaskLevelStatusMessage as TaskLevelStatusMessage
from penstock.config.logging import WARN as WARN
from penstock.config.logging import debug as debug
from penstock.config.logging import error as error
from penstock.config.logging import fatal as fatal
from penstock.config.logging import flush as flush
from penstock.config.logging import get_verbosity as get_verbosity
from penstock.config.logging import info as info
from penstock.config.logging import log as log
from penstock.config.logging import log_every_n as log_every_n
from penstock.config.logging import log_first_n as log_first_n
from penstock.config.logging import log_if as log_if
from penstock.config.logging import set_verbosity as set_verbosity
from penstock.config.logging import vlog as vlog
from penstock.config.logging import warn as warn
from penstock.config.logging import warning as warning
