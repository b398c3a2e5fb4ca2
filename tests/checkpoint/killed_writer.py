"""Starts writers of checkpoints, and kills them: a line "FOLDER NUMBER SECONDS" for each.

A line "FOLDER NUMBER @K" is for one that ends before the Kth call that changes files.

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


def end_before(call):
    """Ends this process before it changes files for the time of that number."""
    made = 0

    def counted(change):
        def run(*args, **kwargs):
            nonlocal made
            made += 1
            if made == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return change(*args, **kwargs)

        return run

    for name in ("open", "pwrite", "write", "fsync", "link", "rename", "replace", "remove"):
        setattr(os, name, counted(getattr(os, name)))


def main():
    for line in sys.stdin:
        folder, number, when = line.split()
        child = os.fork()
        if not child:
            if when.startswith("@"):
                end_before(int(when[1:]))
            write_for_ever(folder, int(number))
        if not when.startswith("@"):
            time.sleep(float(when))
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print("killed", flush=True)


if __name__ == "__main__":
    main()
