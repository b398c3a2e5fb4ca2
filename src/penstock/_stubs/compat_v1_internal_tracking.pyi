# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.core.trackable import AutoTrackable as AutoTrackable
from penstock.core.trackable import Trackable as Trackable
from penstock.core.trackable import no_automatic_dependency_tracking as no_automatic_dependency_tracking
