"""Control a real browser through the pipes of its debugging protocol, without a library."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.waiting import wait_until

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
"""Debian's package is called chromium."""

_PATIENCE_S = 30.0
_OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--remote-debugging-pipe", "--window-size=1400,900"),
)

# The browser reads commands from descriptor 3 and writes responses to descriptor 4.
_WRAPPER = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)


class Browser:
    """One browser tab."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._number, self._session = 0, ""
        self._unread = b""
        self.complaints: list[str] = []
        """Messages on the console, and resources that the page's policy blocked."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def open(self, file: Path, *, address: str = "") -> None:
        """Open a page, and wait until its script has run."""
        self._call("Page.navigate", url="about:blank")
        self._call("Page.navigate", url=f"{file.as_uri()}{address}")
        self.until("document.readyState === 'complete' && location.protocol === 'file:'")

    def ask(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, script: str) -> None:
        """Wait until an expression becomes true."""
        wait_until(lambda: self.ask(script), within_s=_PATIENCE_S)

    def type(self, text: str) -> None:
        """Type into the focused element."""
        self._call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press and release a key."""
        text = {"text": "\r"} if key == "Enter" else {}
        code = {"windowsVirtualKeyCode": 13} if key == "Enter" else {}
        self._call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **code)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key, **code)

    def click(self, script: str) -> None:
        """Click on the center of an element with the mouse."""
        box = self.ask(
            f"(e => {{ const b = e.getBoundingClientRect(); "
            f"return [b.x + b.width / 2, b.y + b.height / 2]; }})({script})"
        )
        where = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, **where)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            if answer.get("method") in {"Runtime.exceptionThrown", "Log.entryAdded"}:
                self.complaints.append(json.dumps(answer["params"]))

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            read = os.read(self._answers, 1 << 16)
            assert read, "the browser has gone"
            self._unread += read
        message, _, self._unread = self._unread.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer


@contextmanager
def running_browser(folder: Path) -> Iterator[Browser]:
    """Run a browser until the end of the block."""
    theirs_in, commands = os.pipe()
    answers, theirs_out = os.pipe()
    command = [str(CHROMIUM), *_OPTIONS, f"--user-data-dir={folder}"]
    process = subprocess.Popen(
        [sys.executable, "-c", _WRAPPER, str(theirs_in), str(theirs_out), *command],
        pass_fds=(theirs_in, theirs_out),
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Browser(commands, answers)
    finally:
        process.terminate()
        process.wait(timeout=_PATIENCE_S)
        os.close(commands)
        os.close(answers)
