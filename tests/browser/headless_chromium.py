"""A Chromium without a window, driven by its own protocol over two pipes: no port, no driver, nothing installed."""

import base64
import contextlib
import json
import os
import select
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_SECONDS = 60


class BrowserError(Exception):
    """The browser refused a command, ended, or did not answer in time."""


class Chromium:
    """One browser with one page; `complaints` are errors and warnings of its console, and requests it made."""

    def __init__(self, program: str, profile: Path) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._number, self._buffer, self._session = 0, b"", ""
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()

        def as_three_and_four() -> None:
            # Copies that lie elsewhere first: either pipe may already have the other's number.
            copies = os.dup(commands), os.dup(answers)
            os.dup2(copies[0], 3)
            os.dup2(copies[1], 4)

        options = ["--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions"]
        # Its sandbox needs user namespaces, and refuses root; the page is ours.
        options += ["--no-sandbox", "--remote-debugging-pipe", f"--user-data-dir={profile}", "--disable-dev-shm-usage"]
        self._process = subprocess.Popen(
            [program, *options, "about:blank"],
            preexec_fn=as_three_and_four,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)

    def __enter__(self) -> Self:
        target = self._ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._session = self._ask("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # It writes to its profile until it has ended by itself.
        self._session = ""
        with contextlib.suppress(BrowserError, OSError):
            self._ask("Browser.close", {})
        try:
            self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command for the page."""
        return self._ask(method, parameters)

    def open(
        self, page: Path | str, *, dark: bool = False, width: int = 1280, height: int = 900, script: bool = True
    ) -> None:
        """Open a file or an address, and return when it is loaded."""
        self.complaints.clear()
        self.requests.clear()
        self._emulate("screen", dark)
        self.ask("Emulation.setScriptExecutionDisabled", value=not script)
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=0.5, mobile=False)
        self._loaded = False
        self.ask("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        self._wait_for_load()

    def value(self, expression: str) -> Any:
        """What an expression of the page's language gives."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def point_at(self, selector: str) -> None:
        """Move the pointer to the middle of the first such element, as seen on the screen."""
        place = self.value(
            f"(() => {{ const part = document.querySelector({json.dumps(selector)});"
            "part.scrollIntoView({block: 'center', inline: 'center'}); const box = part.getBoundingClientRect();"
            "return [box.left + box.width / 2, box.top + box.height / 2]; })()"
        )
        self.point(*place)

    def point(self, x: float, y: float) -> None:
        """Move the pointer."""
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """Click on the middle of the first such element."""
        self.point_at(selector)
        x, y = self.value(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            "return [box.left + box.width / 2, box.top + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press a key and let go of it."""
        self.ask("Input.dispatchKeyEvent", type="rawKeyDown", key=key)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self) -> bytes:
        """What is on the screen, as PNG of half its width and height."""
        answer = self.ask("Page.captureScreenshot", format="png")
        return base64.b64decode(answer["data"])

    def as_paper(self, *, dark: bool) -> None:
        """Lay the open page out by its rules for paper, for a reader of a dark or a light screen."""
        self._emulate("print", dark)

    def paper(self) -> bytes:
        """The page as it is printed, as PDF."""
        # An emulated screen would be printed as a screen.
        self.ask("Emulation.setEmulatedMedia", media="", features=[])
        answer = self.ask("Page.printToPDF", preferCSSPageSize=True)
        return base64.b64decode(answer["data"])

    def _emulate(self, media: str, dark: bool) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def _ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _wait_for_load(self) -> None:
        while not self._loaded:
            self._next()

    def _next(self) -> dict[str, Any]:
        """The browser's next message, its events taken note of."""
        until = time.monotonic() + _SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, until - time.monotonic()))
            part = os.read(self._answers, 1 << 16) if ready else b""
            if not part:
                raise BrowserError("the browser ended" if ready else f"no answer within {_SECONDS} s")
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        event, told = message.get("method"), message.get("params", {})
        if event == "Page.loadEventFired":
            self._loaded = True
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled":
            self.complaints.append(f"{told['type']}: {told['args']}")
        elif event == "Log.entryAdded":
            self.complaints.append(f"{told['entry']['level']}: {told['entry']['text']}")
        elif event == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
