"""The page in a real browser: it draws, it complains of nothing, it asks the network for nothing."""

import json
import shutil

import pytest

from tabtreeformer.evaluation.report import write_report

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver: scripts/install-browser installs them on Debian"
)
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs the dev extra")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(tables, evaluation, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(path, evaluation, *tables, title="A report")
    return path.as_uri()


def show(driver, address, width, scheme="light"):
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    driver.set_window_size(width, 900)
    driver.get(address)


def test_the_page_opens_without_a_word_on_the_console_and_without_a_request(driver, address):
    driver.get_log("performance")
    show(driver, address, 1200)
    assert driver.title == "A report"  # a script from the data would have changed it
    assert driver.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    asked = [s["request"]["url"] for s in sent if s["documentURL"] == address]  # not the browser's own start page
    assert [url for url in asked if not url.startswith("data:")] == [address]


def test_the_plots_are_drawn_and_text_from_data_is_text(driver, address, nasty):
    show(driver, address, 1200)
    sizes = driver.execute_script(
        "return [...document.querySelectorAll('svg')].map(s => [s.getBoundingClientRect().width, s.children.length])"
    )
    assert len(sizes) >= 3 + 4 + 3 + 1
    assert all(width > 50 and children > 0 for width, children in sizes)
    titles = driver.execute_script("return [...document.querySelectorAll('h3')].map(h => h.textContent)")
    assert nasty in titles


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_the_page_never_scrolls_sideways(driver, address, width):
    show(driver, address, width)
    assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


def test_light_and_dark_differ_and_both_can_be_read(driver, address):
    def colours(scheme):
        show(driver, address, 1200, scheme)
        script = (
            "const s = getComputedStyle(document.body), c = getComputedStyle(document.querySelector('.card'));"
            "return [s.color, s.backgroundColor, c.backgroundColor].map(t => t.match(/\\d+/g).slice(0, 3).map(Number))"
        )
        return driver.execute_script(script)

    def luminance(rgb):
        parts = [v / 255 / 12.92 if v <= 10 else ((v / 255 + 0.055) / 1.055) ** 2.4 for v in rgb]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = colours("light"), colours("dark")
    assert light != dark
    for ink, *backs in (light, dark):
        for back in backs:
            low, high = sorted((luminance(ink), luminance(back)))
            assert (high + 0.05) / (low + 0.05) > 7
