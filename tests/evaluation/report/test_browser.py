"""The page in a real browser: it draws, it complains of nothing, it asks the network for nothing."""

import json
import re

import pytest

from tabtreeformer.evaluation import evaluate
from tabtreeformer.evaluation.report import write_report
from tabtreeformer.evaluation.report.document import Report
from tabtreeformer.evaluation.report.html import report_page

from .wide import houses


@pytest.fixture(scope="module")
def driver(open_browser):
    with open_browser(logs=("browser", "performance")) as driver:
        yield driver


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


# ---- a page of 80 columns


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    frames = [houses(500, seed) for seed in (0, 1, 2)]
    path = tmp_path_factory.mktemp("wide") / "report.html"
    evaluation = evaluate(*frames, metrics=["shape", "grain", "dcr", "linkability"], references="ceiling")
    write_report(path, evaluation, *frames)
    assert path.stat().st_size < 3_000_000
    return path.as_uri()


def shown(driver, query):
    script = "return [...document.querySelectorAll(arguments[0])].filter(e => e.offsetParent !== null).length"
    return driver.execute_script(script, query)


def typed(driver, query, value):
    script = (
        "const e = document.querySelector(arguments[0]); if (e.type === 'checkbox') e.checked = true; "
        "else e.value = arguments[1]; e.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    driver.execute_script(script, query, value)


def test_long_lists_fold_and_the_search_finds_columns_in_all_of_them(driver, wide):
    show(driver, wide, 1200)
    assert shown(driver, "#glance tr") == 12
    driver.execute_script("document.querySelector('.more:not([hidden]) button').click()")
    assert shown(driver, "#glance tr") == 79
    typed(driver, "#find", "GARAGE")
    assert shown(driver, "#glance tr") == shown(driver, ".grid > [id^=column-]") == 5
    assert driver.execute_script("return document.querySelector('#found').textContent") == "5 of 79 columns"
    typed(driver, "#kind", "category")
    assert shown(driver, "#glance tr") == 2
    typed(driver, "#find", "")
    typed(driver, "#kind", "date")
    assert shown(driver, "#glance tr") == 2
    typed(driver, "#kind", "")
    typed(driver, "#look", "")
    assert 0 < shown(driver, "#glance tr") < 79
    assert driver.get_log("browser") == []


def test_a_link_to_a_folded_column_unfolds_it(driver, wide):
    show(driver, wide, 1200)
    assert shown(driver, "#column-70") == 0
    driver.execute_script("location.hash = '#column-70'")
    driver.execute_async_script("setTimeout(arguments[0], 50)")
    assert shown(driver, "#column-70") == 1


def test_a_cell_of_the_heatmap_says_its_pair_and_both_numbers(driver, wide):
    show(driver, wide, 1200)
    script = (
        "const b = document.querySelector('.pane.real svg.heat[data-kind] .back').getBoundingClientRect();"
        "const at = {clientX: b.left + b.width * 1.5 / 79, clientY: b.top + b.height * 0.5 / 79, bubbles: true};"
        "document.querySelector('.pane.real svg.heat[data-kind]').dispatchEvent(new PointerEvent('pointermove', at));"
        "const t = document.querySelector('#tip'); return [t.hidden, t.textContent]"
    )
    hidden, text = driver.execute_script(script)
    assert not hidden
    assert re.fullmatch(r"zip and view: real 0\.\d\d, synthetic 0\.\d\d", text)
    assert shown(driver, ".pane") == 1  # one heatmap at a time
    driver.execute_script("document.querySelector('#tab-difference').click()")
    assert shown(driver, ".pane.difference") == shown(driver, ".pane") == 1


@pytest.mark.parametrize("width", [390, 1280])
def test_a_wide_page_never_scrolls_sideways_and_its_tables_say_that_they_do(driver, wide, width):
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    try:
        driver.get(wide)
        assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
        scrolls = "return [...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
        assert (driver.execute_script(scrolls) > 3) == (width < 700)
        assert (shown(driver, ".hint") > 3) == (width < 700)
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_without_the_script_everything_is_there(driver, wide):
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(driver, wide, 1200)
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert shown(driver, "#glance tr") == 79
    assert shown(driver, ".filters") == shown(driver, ".more") == 0


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


def test_a_report_in_a_notebook_is_a_frame_in_which_its_script_runs(driver, tables, evaluation, tmp_path):
    report = Report(report_page(evaluation, *tables), evaluation)
    (tmp_path / "cell.html").write_text(f"<meta charset=utf-8><body>{report._repr_html_()}", encoding="utf-8")
    driver.get_log("browser")
    driver.get((tmp_path / "cell.html").as_uri())
    driver.switch_to.frame(driver.find_element("css selector", "iframe"))
    try:
        assert driver.execute_script("return document.documentElement.className") == "live"
        assert driver.execute_script("return document.querySelectorAll('svg').length") > 8
    finally:
        driver.switch_to.default_content()
    assert driver.get_log("browser") == []
