# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium over its DevTools pipe, with Python's standard library only.

    with Browser(folder) as browser:
        page = browser.open(path, 1366, 768)
        page.run("document.title")
"""

import base64
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
WAIT_S = 60
KEYS = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
        "ArrowDown": 40, "Tab": 9}


def find():
    """The browser's path, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Failed(Exception):
    """The browser did not do what was requested."""


class Browser:
    """One browser process with its own profile in `folder`."""

    def __init__(self, folder):
        self.folder = folder
        self.replies, self.events, self.buffer, self.last_id = {}, [], b"", 0

    def __enter__(self):
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()

        def fds():  # The browser reads commands from 3 and writes to 4.
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.log = open(os.path.join(self.folder, "browser.log"), "wb")
        # Bypasses Debian's wrapper if possible, because it prints more.
        self.process = subprocess.Popen(
            [find(), "--headless=new", "--remote-debugging-pipe", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--force-color-profile=srgb", "--disable-lcd-text",
             f"--user-data-dir={self.folder}/profile", "about:blank"],
            preexec_fn=fds, close_fds=False, stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, start_new_session=True,
            env={**os.environ, "HOME": self.folder, "XDG_CONFIG_HOME": self.folder})
        os.close(to_read)
        os.close(to_write)
        return self

    def __exit__(self, *_):
        os.close(self.to_browser)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.from_browser)
        self.log.close()

    def _read(self, until):
        left = until - time.monotonic()
        if left <= 0 or not select.select([self.from_browser], [], [], left)[0]:
            raise Failed("the browser does not answer")
        more = os.read(self.from_browser, 1 << 20)
        if not more:
            with open(self.log.name, "rb") as log:
                raise Failed("the browser ended: " + log.read()[-500:].decode("utf-8", "replace"))
        self.buffer += more
        *messages, self.buffer = self.buffer.split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.replies[message["id"]] = message
            else:
                self.events.append(message)

    def call(self, method, session=None, **params):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data, until = json.dumps(message).encode() + b"\0", time.monotonic() + WAIT_S
        while data:
            data = data[os.write(self.to_browser, data):]
        while self.last_id not in self.replies:
            self._read(until)
        reply = self.replies.pop(self.last_id)
        if "error" in reply:
            raise Failed(f"{method}: {reply['error'].get('message')}")
        return reply["result"]

    def wait_event(self, method):
        until = time.monotonic() + WAIT_S
        while True:
            for event in self.events:
                if event["method"] == method:
                    self.events.remove(event)
                    return event["params"]
            self._read(until)

    def open(self, path, width, height, dark=False, fragment=""):
        return Page(self, path, width, height, dark, fragment)


class Page:
    """A file shown in its own tab."""

    def __init__(self, browser, path, width, height, dark, fragment):
        self.browser, self.width, self.height = browser, width, height
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.show_as(width, height, dark)
        browser.events.clear()
        self.url = path if "://" in path else pathlib.Path(path).resolve().as_uri()
        self.url += fragment
        self.call("Page.navigate", url=self.url)
        browser.wait_event("Page.loadEventFired")
        self.settle()

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def show_as(self, width, height, dark):
        """Sets the window's size and the user's colour scheme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def run(self, expression):
        """Returns the value of an expression after waiting for promises."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                         awaitPromise=True)
        if "exceptionDetails" in done:
            about = done["exceptionDetails"]
            raise Failed(expression + ": " + about.get("exception", about).get(
                "description", about.get("text", "")))
        return done["result"].get("value")

    def settle(self):
        """Waits until the requested state is drawn and in the address."""
        self.run("""new Promise((done) => {
            let quiet = 0;
            const look = () => {
                quiet = !window.acceltrace || window.acceltrace().idle ? quiet + 1 : 0;
                if (quiet > 2) done(); else requestAnimationFrame(look);
            };
            requestAnimationFrame(look);
        })""")

    def key(self, key, modifiers=0):
        about = {"key": key, "modifiers": modifiers,
                 "windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper()))}
        if len(key) == 1 and modifiers in (0, 8):
            about["text"] = key
        if key == "Enter":
            about["text"] = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", **about)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=modifiers)
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.drag(x, y, x, y)

    def drag(self, x0, y0, x1, y1, modifiers=0):
        more = {"button": "left", "clickCount": 1, "modifiers": modifiers}
        self.mouse("mousePressed", x0, y0, **more)
        if (x0, y0) != (x1, y1):
            for step in range(1, 5):
                self.mouse("mouseMoved", x0 + (x1 - x0) * step / 4, y0 + (y1 - y0) * step / 4,
                           buttons=1, button="left", modifiers=modifiers)
        self.mouse("mouseReleased", x1, y1, **more)
        self.settle()

    def wheel(self, x, y, by, modifiers=0):
        # The browser may answer before the page has the event.
        self.run("""window.wheels = 0;
            addEventListener('wheel', () => ++window.wheels,
                             {capture: true, passive: true, once: true})""")
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=by, modifiers=modifiers)
        end = time.monotonic() + 30
        while not self.run("window.wheels"):
            assert time.monotonic() < end, "the wheel did not come to the page"
            time.sleep(0.02)
        self.settle()

    def screenshot(self, path, kind="png", **more):
        shot = self.call("Page.captureScreenshot", format=kind, **more)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def complaints(self):
        """Errors of the page and of its console, and requests other than for the file itself or,
        for a served page, below its address.
        """
        own = self.url.split("#")[0]
        found = []
        for event in self.browser.events:
            params, method = event["params"], event["method"]
            if event.get("sessionId") != self.session:
                continue
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"].get("exception", {}).get("description",
                                                                                 "exception"))
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                found.append("console: " + json.dumps(params["args"])[:300])
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append("log: " + params["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if url.split("#")[0] != own and not (own.endswith("/") and url.startswith(own)):
                    found.append("request: " + url[:200])
        return found
