"""Starts writers of checkpoints, and kills them: a line "FOLDER NUMBER SECONDS" for each.

It forks, so that a writer costs no start of Python; test_killed.py talks to it.
"""

import os
import signal
import sys
import time

import numpy as np

from penstock.checkpoint import state_files
from penstock.core.bundle.writer import BundleWriter


def write_for_ever(folder, number):
    while True:
        for prefix in (f"{folder}/same", f"{folder}/ckpt-{number}"):
            writer = BundleWriter(prefix)
            for name in ("a", "b"):
                writer.add(name, np.full(20_000, number))
            writer.finish()
        state_files.write_state(folder, prefix, [prefix], relative=True)
        state_files.remove_checkpoint(f"{folder}/ckpt-{number - 2}")
        number += 1


def main():
    for line in sys.stdin:
        folder, number, seconds = line.split()
        child = os.fork()
        if not child:
            write_for_ever(folder, int(number))
        time.sleep(float(seconds))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print("killed", flush=True)


if __name__ == "__main__":
    main()
