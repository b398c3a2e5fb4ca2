"""Headless Chromium, driven through its debugging pipe; and TensorBoard's server for it to look at.

Nothing is needed but the two programs: messages are JSON that end with a zero byte.
"""

import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60  # seconds until what is waited for counts as missing
# all elements of the page, those in shadow trees too
DEEP = """
  function* deep(root) {
    for (const element of root.querySelectorAll("*")) {
      yield element;
      if (element.shadowRoot) yield* deep(element.shadowRoot);
    }
  }
"""


def find_browser():
    """The path of a Chromium that runs, or None: some systems have a script that only says no."""
    return next(filter(_runs, filter(None, map(shutil.which, NAMES))), None)


def _runs(path):
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


class Page:
    """A page of a headless browser of its own. Use it as a context.

    Args:
      path: the browser.
      folder: for its settings.
    """

    def __init__(self, path, folder):
        self._numbers = itertools.count(1)
        read, self._write = os.pipe()
        self._read, write = os.pipe()
        options = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--window-size=1200,900", "--remote-debugging-pipe", f"--user-data-dir={folder}",
            "--no-first-run", "--disable-background-networking", "about:blank",
        ]  # fmt: skip
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (read, write)]
        self._process = os.posix_spawn(
            path, [path, *options], os.environ, setsid=True,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, 1, 2),
                (os.POSIX_SPAWN_DUP2, ends[0], 3),  # where the browser reads its orders
                (os.POSIX_SPAWN_DUP2, ends[1], 4),
            ],
        )  # fmt: skip
        for end in (read, write, *ends):
            os.close(end)
        self._buffer = b""
        self._session = None

    def __enter__(self):
        try:
            self._attach()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *unused):
        self._end()

    def _attach(self):
        found = self._call("Target.getTargets")["targetInfos"]
        (page,) = [each for each in found if each["type"] == "page"]
        attached = {"targetId": page["targetId"], "flatten": True}
        self._session = self._call("Target.attachToTarget", attached)["sessionId"]

    def _end(self):
        os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._read)
        os.close(self._write)

    def _call(self, method, params=None):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params or {}}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = self._receive(end - time.monotonic())
            if found is not None and found.get("id") == number:
                assert "error" not in found, found
                return found["result"]
        raise AssertionError(f"the browser gave no answer to {method}")

    def _receive(self, seconds):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(seconds, 0))
            if not ready:
                return None
            data = os.read(self._read, 1 << 20)
            assert data, "the browser ended"
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    def open(self, address):
        """Goes to an address."""
        self._call("Page.navigate", {"url": address})

    def evaluate(self, expression):
        """The value of a JavaScript expression, in which `deep(root)` gives all elements."""
        code = f"(() => {{ {DEEP} return ({expression}); }})()"
        found = self._call("Runtime.evaluate", {"expression": code, "returnByValue": True})
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait_for(self, expression):
        """The value of an expression once it is true.

        Raises:
          AssertionError: it does not become true.
        """
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(AssertionError):  # while the page is being replaced
                found = self.evaluate(expression)
                if found:
                    return found
            time.sleep(0.2)
        raise AssertionError(f"the page never showed {expression}")


@contextlib.contextmanager
def tensorboard(folder):
    """The address of a TensorBoard that shows a folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = ["--logdir", str(folder), "--port", str(port), "--host", "127.0.0.1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tensorboard.main", *arguments, "--load_fast=false"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}/"
    try:
        _wait_for(process, f"{address}data/runs")
        yield address
    finally:
        process.kill()
        process.wait()


def _wait_for(process, address):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, "TensorBoard ended"
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5) as answer:
            if json.load(answer):  # runs that it has read
                return
        time.sleep(0.2)
    raise AssertionError("TensorBoard does not answer")
