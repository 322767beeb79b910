"""The page in a real browser: from a dropped file to downloaded rows, by keyboard, wide and narrow, light and dark."""

import os
import threading
import time

import pandas as pd
import pytest

uvicorn = pytest.importorskip("uvicorn", reason="needs the extra ui")
webdriver = pytest.importorskip("selenium.webdriver", reason="needs the dev extra")

TOKEN = "a-token"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    from tabtreeformer.apps.ui.server import build_app

    config = uvicorn.Config(build_app(tmp_path_factory.mktemp("work"), TOKEN), port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def driver(open_browser, downloads):
    with open_browser(downloads=downloads) as driver:
        yield driver


def until(look, seconds=900):
    """Wait for something to be true; only a hang, no slowness, ends it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.1)
    raise AssertionError("it never came")


def tab_to(driver, name):
    """Press Tab until the element of that name, or that text, has the focus; return it."""
    from selenium.webdriver.common.keys import Keys

    for _ in range(60):
        webdriver.ActionChains(driver).send_keys(Keys.TAB).perform()
        element = driver.switch_to.active_element
        if name in (element.get_attribute("name"), element.text):
            return element
    raise AssertionError(f"no way to {name!r} by keyboard")


def test_from_upload_to_download_by_keyboard_alone(driver, address, downloads, tmp_path):
    from selenium.webdriver.common.keys import Keys

    table = pd.DataFrame({"age": [*range(20, 70)] * 2, "job": ["nurse", "cook", "clerk", "baker"] * 25})
    table.to_csv(tmp_path / "people.csv", index=False)
    driver.get(f"{address}/?token={TOKEN}")
    assert "token" not in driver.current_url
    tab_to(driver, "table").send_keys(str(tmp_path / "people.csv"))
    tab_to(driver, "Review the columns").send_keys(Keys.ENTER)
    until(lambda: driver.current_url.endswith("/tables/1"))
    tab_to(driver, "target").send_keys("job")
    tab_to(driver, "privacy").send_keys("off")
    tab_to(driver, "preset").send_keys("trees")
    tab_to(driver, "Fit").send_keys(Keys.ENTER)
    until(lambda: driver.current_url.endswith("/models/1"))
    driver.refresh()  # what is there stays there
    assert "Privacy verdict" in driver.page_source
    rows = tab_to(driver, "rows")
    rows.send_keys(Keys.CONTROL, "a")
    rows.send_keys("25")
    tab_to(driver, "Download rows (CSV)").send_keys(Keys.ENTER)
    file = until(lambda: next(iter(downloads.glob("rows-1.csv")), None))
    until(lambda: len(pd.read_csv(file)) == 25)
    severe = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert severe == []


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_the_screen_and_dark_is_dark(driver, address, width, scheme):
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    for page in ("", "tables/1", "models/1"):
        driver.get(f"{address}/{page}?token={TOKEN}")
        assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth"), page
        paper = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        if shots := os.environ.get("SCREENSHOTS"):  # to be looked at
            driver.save_screenshot(f"{shots}/ui-{page.replace('/', '-') or 'home'}-{width}-{scheme}.png")
        assert (sum(map(int, paper[4:-1].split(","))) < 200) == (scheme == "dark")
