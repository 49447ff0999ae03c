"""Chromium for the tests of pages, and the command that writes them."""
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = ActionChains = By = Keys = None

SKIPPED = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def start():
    """A browser without a window; ends the test as skipped where there is none."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if webdriver is None:
        skip("no selenium (Debian: python3-selenium)")
    if program is None or driver is None:
        skip("no Chromium with its driver (Debian: chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "window-size=1280,900"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(service=Service(driver), options=options)
    browser.set_script_timeout(120)
    return browser


class Command:
    """The relayout command in a folder of its own."""

    def __init__(self, program):
        self.program = str(Path(program).resolve())
        self.folder = Path(tempfile.mkdtemp(prefix="relayout-show-"))

    def run(self, *arguments):
        done = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"relayout {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json"))

    def page(self, name, *arguments):
        """Writes a page; its address."""
        self.run("show", *arguments, "-f", "-o", name)
        return (self.folder / name).as_uri()

    def remove(self):
        shutil.rmtree(self.folder)


def run_parts(command, kind, parts):
    """Calls each part with one page of the kind, in a browser that is closed behind them, whatever happens."""
    browser = start()
    try:
        page = kind(browser, command)
        for part in parts:
            part(page)
            print(f"ok {part.__name__}")
    finally:
        browser.quit()
        command.remove()
