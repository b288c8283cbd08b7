"""Pages in a real browser: they sort, filter, search and open cells, fit every width, and are accessible."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from browser.conftest import ROOT, THEIRS

pytestmark = pytest.mark.browser

RESULTS = ROOT / "results"
REPORTS = sorted(path.parent.name for path in RESULTS.glob("*/report.html"))
PAGES = ["index.html", *(f"{name}/report.html" for name in REPORTS)]
LIMIT_OF_PAGE = 400_000
LIMIT_OF_SCRIPT = 40_000
View = Callable[..., Any]
# Tables that are cut off: those that are wider than their frame without saying so.
CLIPPED = """() => [...document.querySelectorAll(".scroll")].filter((frame) =>
  frame.clientWidth > 0 && frame.scrollWidth > frame.clientWidth + 8
  && (matchMedia("print").matches || !frame.classList.contains("more")
      || frame.previousElementSibling.hidden)).map((frame) => frame.getAttribute("aria-label"))"""
OPEN_ALL = """() => { for (const box of document.querySelectorAll("details")) box.open = true; }"""
FIRST_COLUMN = """(table) => [...table.tBodies[0].rows].filter((row) => !row.hidden)
  .map((row) => row.cells[0].innerText.trim())"""
# The sides of a sheet less its margins, in pixels: upright, and the landscape of wide tables.
UPRIGHT, LANDSCAPE = 703, 1046


def column(table: Any) -> list[str]:
    """Return the visible texts of the first column."""
    found: list[str] = table.evaluate(FIRST_COLUMN)
    return found


def clipped(page: Any, frames: str) -> list[str]:
    """Return the names of tables that are cut off, after the page had time to say which of them scroll."""
    script = CLIPPED.replace('".scroll"', f'"{frames}"')
    from playwright.sync_api import TimeoutError as TooLate

    with suppress(TooLate):
        page.wait_for_function(f"() => ({script})().length === 0", timeout=5000)
    found: list[str] = page.evaluate(script)
    return found


def sheets_of(page: Any) -> list[tuple[int, str]]:
    """Return the widths of the sheets of a print, and the tables on them; only older pages have landscape."""
    if "landscape" not in page.content():
        return [(UPRIGHT, ".scroll")]
    return [(UPRIGHT, ".scroll:not(:has(.broad))"), (LANDSCAPE, ".scroll:has(.broad)")]


def check_widths(page: Any) -> None:
    """Check that no table is cut off at any width or in print, and that no page scrolls sideways."""
    page.evaluate(OPEN_ALL)
    for width in (1200, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert clipped(page, ".scroll") == [], width
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 1200, "height": 900})
    page.emulate_media(media="print")
    for width, chosen in sheets_of(page):
        page.set_viewport_size({"width": width, "height": 900})
        assert clipped(page, chosen) == [], chosen


def test_the_board_filters_searches_and_sorts(view: View, small: Path) -> None:
    page = view(small / "index.html")
    board = page.locator("table.board")
    everything = column(board)
    tools = page.locator("#board .tools")
    page.get_by_label("Kind").select_option("lower error")
    some = column(board)
    assert 0 < len(some) < len(everything)
    assert tools.locator("output").inner_text() == f"{len(some)} of {len(everything)} claims"
    page.get_by_label("Kind").select_option("")
    tools.get_by_label("Search").fill("6.1b")
    assert column(board) == ["ecml2014-6.1b"]
    tools.get_by_label("Search").fill("no such claim")
    assert tools.locator("output").inner_text() == "No claims match"
    tools.get_by_label("Search").fill("")
    button = board.locator("thead th").first.locator("button")
    for expected in (sorted(everything), sorted(everything, reverse=True), everything):
        button.click()
        assert column(board) == expected


def test_a_telephone_shows_the_first_claims_until_it_is_asked_for_more(
    view: View, small: Path
) -> None:
    """A dash has no line of its own; a filter counts all rows."""
    page = view(small / "index.html", 390)
    board = page.locator("table.board")
    assert not board.locator("td.empty").first.is_visible()
    assert page.locator(".unfold").count() == 0  # seven claims are few
    for click in (True, False):
        many = view(small / "many.html", 390)
        rows = many.locator("table.board tbody tr:visible")
        assert rows.count() == 12
        if click:
            many.locator(".unfold").click()
        else:
            many.locator("#board .tools").get_by_label("Search").fill("ecml")
        assert rows.count() == 21


def test_a_search_from_the_top_finds_a_number_and_opens_its_cell(view: View, small: Path) -> None:
    """One search serves numbers and claims, all of its words must match, and the link opens the cell."""
    page = view(small / "index.html")
    table = page.locator("table.lookup")
    assert not table.is_visible()
    search = page.locator("#numbers .tools").get_by_label("Search")
    search.fill("HEART 5-cv")
    row = table.locator("tbody tr:visible")
    assert row.locator("th, td").all_inner_texts()[:5] == [
        *("heart", "5-CV", "ecml2014, table 1", "\u03bb = 0.001", "17.00 \u00b1 2.00")
    ]
    assert page.locator("#numbers output").inner_text() == f"1 of {len(THEIRS)} numbers"
    assert page.locator("#board .tools").get_by_label("Search").input_value() == "HEART 5-cv"
    assert "search=HEART" in page.url
    title = page.locator("#numbers summary")
    assert title.inner_text() == f"1 of {len(THEIRS)} published test errors next to ours"
    expected = table.locator("tbody a:visible").inner_text()
    address = table.locator("tbody a:visible").get_attribute("href").rpartition("=")[2]
    table.locator("tbody a:visible").click()
    dialog = page.locator("dialog[open]")
    dialog.wait_for()
    assert "5-CV on heart" in dialog.inner_text()
    assert "17 \u00b1 2" in dialog.inner_text()
    cell = page.locator(f"td[id='cell={address}']")
    assert expected.split()[0] in cell.inner_text()
    assert cell.bounding_box()["y"] < 900  # the page has moved to it
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    assert cell.locator("button").evaluate("(one) => one === document.activeElement")


def test_numbers_and_claims_show_how_many_of_the_other_match(view: View, small: Path) -> None:
    page = view(small / "index.html")
    go = page.locator("#numbers .tools button")
    assert not go.is_visible()
    page.locator("#board .tools").get_by_label("Search").fill("BR")
    assert page.locator("#numbers table").is_visible()
    claims = page.locator("#board output").inner_text()
    assert go.inner_text() == f"Go to {claims}"
    page.locator("#board .tools button").first.click()
    assert (
        page.locator("#board .tools button").first.inner_text()
        == f"Go to 1 of {len(THEIRS)} numbers"
    )
    page.wait_for_function(
        "() => document.getElementById('numbers').getBoundingClientRect().top > -50"
    )
    page.locator("#numbers .tools").get_by_label("Search").fill("")
    assert not go.is_visible()
    assert page.locator("#board output").inner_text().startswith("7 of 7")


def test_numbers_filter_by_method_and_sort_by_their_distance(view: View, small: Path) -> None:
    page = view(small / "index.html")
    tools, table = page.locator("#numbers .tools"), page.locator("table.lookup")
    assert tools.locator("label").all_inner_texts()[1:] != []
    tools.get_by_label("Method").select_option("BR")
    assert table.locator("tbody tr:visible td:nth-child(2)").all_inner_texts() == ["BR"]
    assert "number-method=BR" in page.url
    again = view(small / "index.html", place="#number-method=BR")
    assert again.locator("table.lookup tbody tr:visible").count() == 1
    tools.get_by_label("Method").select_option("")
    button = table.locator("thead button").last
    for sign in (1, -1):
        button.click()
        found = table.locator("tbody td:last-child").all_inner_texts()
        values = [sign * float(text.split()[0]) for text in found]
        assert values == sorted(values)


def test_a_closed_list_of_numbers_is_not_printed(view: View, small: Path) -> None:
    page = view(small / "index.html")
    page.emulate_media(media="print")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert not page.locator("table.lookup").is_visible()
    page.emulate_media(media="screen")
    page.locator("#numbers .tools").get_by_label("Search").fill("BR")
    page.emulate_media(media="print")
    assert page.locator("table.lookup tbody tr:visible").count() == 1


def test_a_link_keeps_the_filter(view: View, small: Path) -> None:
    page = view(small / "index.html")
    page.get_by_label("Kind").select_option("lower error")
    page.locator("table.board thead button").first.click()
    page.locator("table.board thead button").first.click()
    expected = column(page.locator("table.board"))
    place = "#" + page.url.partition("#")[2]
    assert "kind=lower+error" in place
    again = view(small / "index.html", place=place)
    assert column(again.locator("table.board")) == expected
    assert again.get_by_label("Kind").input_value() == "lower error"


@pytest.mark.parametrize("name", ["report.html", "standalone.html"])
def test_a_cell_opens_and_closes(view: View, small: Path, name: str) -> None:
    page = view(small / "one" / name)
    button = page.locator("#tables td[data-cell] button").first
    button.click()
    dialog = page.locator("dialog[open]")
    dialog.wait_for()
    assert "5-CV on heart" in dialog.inner_text()
    assert dialog.locator("svg circle").count() == 2
    assert "kselect run config.resolved.yaml -d heart -c 5-CV" in dialog.inner_text()
    assert "cell=squared-heart" in page.url
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    assert "cell=" not in page.url
    assert button.evaluate("(one) => one === document.activeElement")


def test_the_switch_shows_ours_published_and_their_difference(view: View, small: Path) -> None:
    page = view(small / "one/report.html")
    table = page.locator("#tables table", has=page.locator(".theirs")).first
    cell = table.locator("td", has=page.locator(".theirs")).first
    seen = {}
    for value in ("both", "ours", "published", "apart"):
        page.locator("#tables .tools select").first.select_option(value)
        seen[value] = cell.inner_text()
    assert seen["published"] == "17.00 ± 2.00"
    assert seen["published"] in seen["both"]
    assert seen["published"] not in seen["ours"]
    assert re.fullmatch(r"[-+]\d+\.\d", seen["apart"])
    select = page.locator("#tables .tools select").first
    free = "(one) => { one.style.maxWidth = 'none'; return one.offsetWidth; }"
    assert select.evaluate("(one) => one.offsetWidth") == select.evaluate(free)
    page.set_viewport_size({"width": 390, "height": 900})
    assert select.evaluate("(one) => one.getBoundingClientRect().right") <= 390


@pytest.mark.parametrize("value", ["published", "apart"])
def test_the_switch_shows_a_dash_where_the_paper_printed_nothing(
    view: View, small: Path, value: str
) -> None:
    """Neither our number nor its mark stays in a cell without a printed one, and none in the mean ranks."""
    page = view(small / "one/report.html")
    table = page.locator("#tables table", has=page.locator(".theirs")).first
    before = table.locator("td").all_inner_texts()
    page.locator("#tables .tools select").first.select_option(value)
    texts = [text.strip() for text in table.locator("td").all_inner_texts()]
    kept = [text for text in texts if text != "\N{EN DASH}"]
    assert len(kept) == len(THEIRS)
    assert table.locator("td :is(b, u):visible").count() == 0
    page.locator("#tables .tools select").first.select_option("both")
    assert table.locator("td").all_inner_texts() == before


def test_a_link_to_a_claim_shows_its_heading(view: View, small: Path) -> None:
    page = view(small / "one/report.html", place="#claim-6.1a")
    top = "(one) => one.getBoundingClientRect().top"
    heading = page.locator(".claim", has=page.locator('[id="claim-6.1a"]')).locator("summary").first
    page.wait_for_function("() => scrollY > 0")
    assert 0 <= heading.evaluate(top) < 450


def test_a_table_sorts_by_numbers(view: View, small: Path) -> None:
    page = view(small / "one/report.html")
    table = page.locator("#edges table").first
    table.locator("thead button").nth(2).click()
    values = table.evaluate(
        "(t) => [...t.tBodies[0].rows].map((r) => parseFloat(r.cells[2].innerText))"
    )
    known = [v for v in values if v == v]
    assert known == sorted(known)
    assert table.locator("thead th").nth(2).get_attribute("aria-sort") == "ascending"


@pytest.mark.parametrize("name", PAGES)
def test_committed_pages_fit_and_are_light(view: View, name: str) -> None:
    """No table is cut at any width or in print, every link leads to a file, and the page is small."""
    path = RESULTS / name
    content = path.read_text(encoding="utf-8")
    assert len(content.encode()) <= LIMIT_OF_PAGE
    scripts = re.findall(r"<script>(.*?)</script>", content, re.DOTALL)
    assert sum(len(text.encode()) for text in scripts) < LIMIT_OF_SCRIPT
    page = view(path)
    anchors = set(page.evaluate("() => [...document.querySelectorAll('[id]')].map((e) => e.id)"))
    for address in page.evaluate("() => [...document.links].map((a) => a.getAttribute('href'))"):
        file, _, anchor = address.partition("#")
        if not file:
            assert anchor in anchors, address
        elif not file.startswith("https://"):
            target = path.parent / file
            assert target.is_file(), address
            assert not anchor or f'id="{anchor}"' in target.read_text(encoding="utf-8"), address
    check_widths(page)


def test_a_long_table_shows_that_it_goes_on(view: View, small: Path) -> None:
    """A shadow stands at its end until the last row is seen; a table that fits says nothing."""
    page = view(small / "many.html")
    frame = page.locator("#board .scroll")
    page.set_viewport_size({"width": 1200, "height": 400})
    page.locator("#board .scroll.below").wait_for()
    frame.evaluate("(one) => one.scrollTo(0, one.scrollHeight)")
    page.locator("#board .scroll:not(.below)").wait_for()
    assert not page.locator("#board .cue").is_visible()
    page.locator("#board table").evaluate("(one) => { one.style.width = '1180px'; }")
    page.locator("#board .scroll.more").wait_for()
    page.locator("#board table").evaluate("(one) => { one.style.width = '1170px'; }")
    page.locator("#board .scroll:not(.more)").wait_for()


def test_claims_fit_a_screen_of_1200_pixels(view: View, small: Path) -> None:
    """Long effects and counts break their lines."""
    page = view(small / "one/report.html")
    frame = page.locator("#claims .scroll").first
    frame.evaluate(
        """(one) => { for (const row of one.querySelectorAll("tbody tr")) {
          row.cells[3].textContent = "-11.7 points of the choices (-22.1 to -3.29)";
          row.cells[4].textContent = row.cells[5].textContent = "19 lower, 9 equal, 44 higher; none"; } }"""
    )
    assert frame.evaluate("(one) => one.scrollWidth <= one.clientWidth")
    assert not page.locator("#claims .cue").first.is_visible()


def test_running_text_has_about_75_characters_per_line(view: View, small: Path) -> None:
    counts = """() => [...document.querySelectorAll("p")].map((one) =>
      [one.innerText.length, one.offsetHeight / parseFloat(getComputedStyle(one).lineHeight)])
      .filter(([, lines]) => lines > 3.5).map(([length, lines]) => length / Math.round(lines))"""
    for name in ("index.html", "one/report.html"):
        found = view(small / name).evaluate(counts)
        assert found
        assert max(found) < 85


def test_numbers_with_exponents_sort_by_value(view: View, small: Path) -> None:
    page = view(small / "one/report.html")
    table = page.locator("#edges table").first
    texts = [
        "7.8e+09",
        "2^-3",
        "1",
        "2^4",
        "3e-06",
    ]
    fill = """(one, texts) => [...one.tBodies[0].rows].forEach((row, i) => {
      row.cells[1].textContent = i < texts.length ? texts[i] : "\u2013"; })"""
    table.evaluate(fill, texts)
    table.locator("thead button").nth(1).click()
    order = [texts[i] for i in (4, 1, 2, 3, 0)]
    shown = table.locator("tbody td:nth-child(2)").all_text_contents()
    assert shown[: len(texts)] == order


def test_papers_have_two_columns_where_there_is_room(view: View, small: Path) -> None:
    page = view(small / "many.html")
    parts = page.locator(".rows > li").first.locator("> div")
    for width, across in ((1200, True), (390, False)):
        page.set_viewport_size({"width": width, "height": 900})
        left, right = (part.bounding_box() for part in parts.all())
        assert (right["x"] >= left["x"] + left["width"]) == across
        assert (right["y"] >= left["y"] + left["height"]) != across


@pytest.mark.parametrize("name", ["many.html", "one/report.html"])
def test_a_print_has_one_orientation(view: View, small: Path, name: str) -> None:
    page = view(small / name)
    found = page.pdf(prefer_css_page_size=True)
    sizes = set(re.findall(rb"/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]", found))
    assert len(sizes) == 1
    width, height = map(float, sizes.pop())
    assert width < height


def test_print_repeats_the_head_of_a_table(view: View, small: Path) -> None:
    """Chromium repeats it on each sheet only if no cell of it contains a box."""
    page = view(small / "one/report.html")
    page.emulate_media(media="print")
    shown = "(one) => getComputedStyle(one).display"
    assert page.locator("#tables thead").first.evaluate(shown) == "table-header-group"
    assert page.locator("#tables thead button").first.evaluate(shown) == "contents"


def test_print_shows_what_is_folded(view: View, small: Path) -> None:
    page = view(small / "one/report.html")
    inner = page.locator("details .soft").first
    assert not inner.is_visible()
    page.emulate_media(media="print")
    assert inner.bounding_box()["height"] > 0


def test_without_script_everything_is_readable(browser: Any, small: Path) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    try:
        page = context.new_page()
        page.goto((small / "index.html").as_uri())
        assert page.locator("table.board tbody tr").count() == 7
        page.locator("#numbers summary").click()
        assert page.locator("table.lookup tbody tr:visible").count() == len(THEIRS)
        page.get_by_role("link", name="ecml2014-6.1a", exact=True).click()
        assert page.url.endswith("one/report.html#claim-6.1a")
        assert page.locator(".theirs").first.is_visible()
    finally:
        context.close()


@pytest.mark.parametrize("name", ["classes", "numbers"])
def test_the_page_of_a_choice_fits_sorts_and_offers_its_files(
    view: View, chosen: Path, name: str
) -> None:
    """It shows every picture, sorts, searches, and offers each figure as PDF, SVG, PNG and CSV."""
    page = view(chosen / f"{name}.html")
    sizes = page.evaluate("() => [...document.images].map((i) => i.naturalWidth)")
    assert len(sizes) == 3
    assert min(sizes) > 100
    files = page.locator("#relevances figure .files")
    words = files.locator("a, button").all_inner_texts()
    assert words == ["PDF", "PDF for one column", "CSV", "SVG", "PNG"]
    with page.expect_download() as kept:
        files.get_by_role("button", name="PNG").click()
    assert kept.value.suggested_filename == "relevances.png"
    table = page.locator("#relevances table")
    table.locator("thead button").nth(2).click()
    values = [float(cell) for cell in table.locator("tbody td:nth-child(3)").all_inner_texts()]
    assert values == sorted(values)
    check_widths(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name", ["index.html", "one/report.html", "cell", "classes.html", "numbers.html"]
)
def test_axe_finds_nothing(
    view: View, small: Path, chosen: Path, axe: str, name: str, scheme: str
) -> None:
    path = small / ("one/report.html" if name == "cell" else name)
    if not path.exists():
        path = chosen / name
    page = view(path, 1200, scheme)
    page.evaluate(OPEN_ALL)
    if name == "cell":
        page.locator("#tables td[data-cell] button").first.click()
        page.locator("dialog[open]").wait_for()
    page.evaluate(axe)
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    wrong = {v["id"]: [n["target"] for n in v["nodes"][:3]] for v in found["violations"]}
    assert wrong == {}
