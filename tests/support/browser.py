"""One headless Chromium, driven over its DevTools protocol: enough for pages of ours.

A test looks at pages as a user does: it goes somewhere, waits until something is there, types and
clicks. Whatever the page logs as an error, and each answer of 400 and above, is kept.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from tornado.websocket import WebSocketClientConnection, websocket_connect

FLAGS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--remote-debugging-port=0",
)  # fmt: skip
START_S: Final = 30.0
PROGRAMS: Final = ("chromium-headless-shell", "chromium", "chromium-browser")
"""The first of them needs half of the processor's time, and shows the same pages."""


def chromium_path() -> str | None:
    """The program, ``None`` where there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Page:
    """One tab."""

    def __init__(self, loop: asyncio.AbstractEventLoop, socket: WebSocketClientConnection) -> None:
        self._loop = loop
        self._socket = socket
        self._number = 0
        self.errors: list[str] = []
        """What the console called an error, and exceptions that nobody caught."""
        self.failed: list[tuple[int, str]] = []
        """Status and URL of each answer of 400 and above."""
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol; its result."""
        return self._loop.run_until_complete(self._call(method, params))

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        number = self._number
        await self._socket.write_message(
            json.dumps({"id": number, "method": method, "params": params})
        )
        while True:
            text = await asyncio.wait_for(self._socket.read_message(), START_S)
            assert text is not None, "the browser has gone"
            message = json.loads(text)
            if message.get("id") == number:
                assert "error" not in message, message["error"]
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"])[:500])
        elif message.get("method") == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.errors.append(json.dumps(params["args"])[:500])
        elif message.get("method") == "Network.responseReceived":
            response = params["response"]
            if response["status"] >= 400:
                self.failed.append((response["status"], response["url"]))
        elif message.get("method") == "Log.entryAdded":
            entry = params["entry"]
            if entry["level"] == "error" and entry["source"] != "network":  # those are in `failed`
                self.errors.append(entry["text"])

    def goto(self, url: str) -> None:
        """Load a page."""
        self.call("Page.navigate", url=url)

    def eval(self, expression: str) -> Any:
        """The value of an expression of JavaScript; promises are awaited."""
        found = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_for(self, expression: str, within_s: float = 15.0) -> Any:
        """The first true value of an expression, looked at again and again."""
        end = time.monotonic() + within_s
        while True:
            value = self.eval(expression)
            if value:
                return value
            assert time.monotonic() < end, f"{expression}: not within {within_s} s; {self.text()}"
            time.sleep(0.05)

    def wait_for_text(self, text: str, within_s: float = 15.0) -> None:
        """Wait until the page shows a text."""
        self.wait_for(
            f"document.body && document.body.innerText.includes({json.dumps(text)})", within_s
        )

    def text(self) -> str:
        """What the page shows."""
        return str(self.eval("document.body ? document.body.innerText : ''"))

    def fill(self, selector: str, value: str) -> None:
        """Set a field, as if typed."""
        self.wait_for(f"Boolean(document.querySelector({json.dumps(selector)}))")
        self.eval(
            f"(() => {{ const field = document.querySelector({json.dumps(selector)});"
            f" field.focus(); field.value = {json.dumps(value)};"
            " field.dispatchEvent(new Event('input', {bubbles: true}));"
            " field.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    def click(self, selector: str) -> None:
        """Click the first element that fits."""
        self.wait_for(f"Boolean(document.querySelector({json.dumps(selector)}))")
        self.eval(f"document.querySelector({json.dumps(selector)}).click()")

    def click_text(self, text: str, kinds: str = "a, button, summary") -> None:
        """Click the first visible link or button with exactly this text."""
        find = (
            f"[...document.querySelectorAll({json.dumps(kinds)})]"
            f".find((one) => one.innerText.trim() === {json.dumps(text)})"
        )
        self.wait_for(f"Boolean({find})")
        self.eval(f"{find}.click()")

    def press(self, key: str) -> None:
        """Press a key such as ``Tab`` or ``Enter``."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27}
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key,
                windowsVirtualKeyCode=codes[key], **(text if kind == "keyDown" else {}),
            )  # fmt: skip

    def resize(self, width: int, height: int) -> None:
        """Be a screen of that size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip

    def screenshot(self, path: Path) -> None:
        """Write what is seen as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


@contextmanager
def browsing(directory: Path) -> Iterator[Page]:
    """A new browser with an empty profile below ``directory``; it is gone afterwards."""
    program = chromium_path()
    assert program is not None
    profile = directory / "profile"
    home = {**os.environ, "HOME": str(directory), "XDG_CONFIG_HOME": str(directory)}
    log = (directory / "chromium.log").open("wb")
    child = subprocess.Popen(
        [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=log, stderr=log, env=home, start_new_session=True,
    )  # fmt: skip
    loop = asyncio.new_event_loop()
    try:
        socket = loop.run_until_complete(_connect(profile))
        yield Page(loop, socket)
        loop.run_until_complete(_close(socket))
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        with suppress(OSError):  # a directory of its own in /tmp, since the name must be short
            shutil.rmtree((profile / "SingletonSocket").readlink().parent)
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        log.close()


async def _close(socket: WebSocketClientConnection) -> None:
    """Within the loop, which the connection's own clean-up asks for."""
    socket.close()


async def _connect(profile: Path) -> WebSocketClientConnection:
    """To the first tab, as soon as the browser has written down its port."""
    from tornado.httpclient import AsyncHTTPClient

    end = time.monotonic() + START_S
    port_file = profile / "DevToolsActivePort"
    while not (lines := port_file.read_text().split() if port_file.exists() else []):
        assert time.monotonic() < end, "the browser has not started"
        await asyncio.sleep(0.05)
    port = lines[0]
    while True:
        reply = await AsyncHTTPClient().fetch(f"http://127.0.0.1:{port}/json/list")
        tabs = [one for one in json.loads(reply.body) if one["type"] == "page"]
        if tabs:
            return await websocket_connect(tabs[0]["webSocketDebuggerUrl"], max_message_size=2**26)
        assert time.monotonic() < end, "the browser has no tab"
        await asyncio.sleep(0.05)
