"""Recording or replaying a whole process, as PENSTOCK_EFFECTS says.

`start` is called when the package is imported and the variable is set; the log is closed when the
process ends.
"""

import atexit

from penstock import errors
from penstock.config import env, logging
from penstock.core.effect_recorder import record_effects
from penstock.core.effect_replay import replay_effects
from penstock.core.effects import EffectLog


def start() -> None:
    """Begins what PENSTOCK_EFFECTS says.

    Raises:
      ValueError: it says neither record:PATH nor replay:PATH.
      NotFoundError, DataLossError: see `replay_effects`.
    """
    text = env.get("PENSTOCK_EFFECTS")
    mode, _, path = text.partition(":")
    if mode not in ("record", "replay") or not path:
        raise ValueError(
            "environment variable PENSTOCK_EFFECTS: expected record:PATH or replay:PATH, got "
            f"{text!r}. Unset it to do neither."
        )
    log: EffectLog = record_effects(path) if mode == "record" else replay_effects(path)
    atexit.register(_end, log)


def _end(log: EffectLog) -> None:
    try:
        log.close()
    except errors.FailedPreconditionError as problem:
        logging.error("%s", problem.message)
