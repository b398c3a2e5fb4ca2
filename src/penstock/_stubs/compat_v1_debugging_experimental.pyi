# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.core.effects import acting_as as acting_as
from penstock.ops.debug_dump import disable_dump_debug_info as disable_dump_debug_info
from penstock.ops.debug_dump import enable_dump_debug_info as enable_dump_debug_info
from penstock.runtime.races import get_race_checks as get_race_checks
from penstock.core.effect_recorder import record_effects as record_effects
from penstock.core.effect_replay import replay_effects as replay_effects
from penstock.runtime.races import set_race_checks as set_race_checks
