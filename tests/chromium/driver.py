"""A headless Chromium, driven over WebDriver's HTTP interface; just what these tests need."""

from __future__ import annotations

import json
import shutil
import socket
import struct
import subprocess
import time
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import numpy.typing as npt

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key of an element's reference (W3C WebDriver, section 12)."""
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-device-scale-factor=1",
)  # fmt: skip


def available() -> bool:
    """Whether browser and driver are installed."""
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    """One session; close it."""

    def __init__(self, profile: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        self._process = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._wait()
        options = {"args": [*FLAGS, f"--user-data-dir={profile}"], "binary": shutil.which("chromium")}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{answer['sessionId']}"

    def close(self) -> None:
        """Ends the session and the driver."""
        try:
            self._call("DELETE", self._session)
        finally:
            self._process.terminate()
            self._process.wait(20)

    def open(self, page: Path, width: int = 1300, height: int = 1000) -> None:
        """Loads a page and waits until its charts are drawn."""
        for kind in ("browser", "performance"):
            self.log(kind)  # What came before is of another page.
        self._post("/window/rect", {"width": width, "height": height})
        self._post("/url", {"url": page.as_uri()})
        deadline = time.monotonic() + 60
        while self.run("return document.documentElement.dataset.drawn") != "yes":
            assert time.monotonic() < deadline, self.log("browser")
            time.sleep(0.1)

    def run(self, script: str, *arguments: object) -> Any:
        """What a script in the page returns."""
        return self._post("/execute/sync", {"script": script, "args": list(arguments)})

    def log(self, kind: str) -> list[dict[str, Any]]:
        """``browser``: the console; ``performance``: the events of Chrome's debugging protocol."""
        entries: list[dict[str, Any]] = self._post("/se/log", {"type": kind})
        return entries

    def requests(self) -> list[str]:
        """Addresses that were asked for since the last call."""
        events = (json.loads(entry["message"])["message"] for entry in self.log("performance"))
        return [each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"]

    def picture(self, selector: str) -> npt.NDArray[np.uint8]:
        """An element as it is seen: rows, columns, red green blue."""
        found = self._post("/element", {"using": "css selector", "value": selector})
        return pixels(b64decode(self._call("GET", f"{self._session}/element/{found[ELEMENT]}/screenshot")))

    def _post(self, path: str, body: dict[str, object]) -> Any:
        return self._call("POST", self._session + path, body)

    def _call(self, method: str, path: str, body: dict[str, object] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self._url + path, data, {"Content-Type": "application/json"}, method=method), timeout=120) as answer:
            return json.load(answer)["value"]

    def _wait(self) -> None:
        deadline = time.monotonic() + 30
        while True:
            try:
                if self._call("GET", "/status")["ready"]:
                    return
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.1)


def pixels(png: bytes) -> npt.NDArray[np.uint8]:
    """The pixels of a PNG of eight bits a colour, not interlaced, as browsers write them."""
    at, packed, head = 8, b"", b""
    while at < len(png):
        size, kind = struct.unpack_from(">I4s", png, at)
        body = png[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            head = body
        elif kind == b"IDAT":
            packed += body
        at += size + 12
    width, height, depth, color = struct.unpack_from(">IIBB", head)
    assert depth == 8 and color in (2, 6)
    step = 3 if color == 2 else 4
    raw = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * step)
    out = np.zeros((height, width * step), np.int64)
    for row in range(height):
        out[row] = _unfiltered(
            int(raw[row, 0]), raw[row, 1:].astype(np.int64), out[row - 1] if row else np.zeros_like(out[0]), step
        )
    return out.astype(np.uint8).reshape(height, width, step)[:, :, :3]


def _unfiltered(kind: int, line: npt.NDArray[np.int64], above: npt.NDArray[np.int64], step: int) -> npt.NDArray[np.int64]:
    if kind == 0:
        return line
    if kind == 2:
        return (line + above) & 255
    done, up = line.tolist(), above.tolist()
    for at in range(len(done)):
        left = done[at - step] if at >= step else 0
        corner = up[at - step] if at >= step else 0
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + up[at]) // 2
        else:
            near = left + up[at] - corner
            guess = min((abs(near - left), 0, left), (abs(near - up[at]), 1, up[at]), (abs(near - corner), 2, corner))[2]
        done[at] = (done[at] + guess) & 255
    return np.array(done, np.int64)
