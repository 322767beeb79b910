import time

import pytest

from tabtreeformer._runtime.durations import duration
from tabtreeformer._runtime.notebook_progress import NotebookProgress
from tabtreeformer._runtime.progress import Console, Silent, parse_duration, stage
from tabtreeformer.errors import ConfigError


def shown(capsys, seconds=0.0, keep=0.0, total=10, done=10):
    console = Console()
    console.worth_keeping_seconds = keep
    with stage(console, "train", total) as advance:
        for _ in range(done):
            advance(1, loss="0.5")
        time.sleep(seconds)
    return capsys.readouterr().err


def test_a_stage_leaves_a_line_with_its_facts(capsys):
    line = shown(capsys)
    assert "train" in line
    assert "10/10" in line
    assert "loss 0.5" in line
    assert "taken" in line


def test_a_short_stage_leaves_nothing(capsys):
    assert shown(capsys, keep=60.0) == ""


def test_a_stage_that_ends_early_shows_what_was_done(capsys):
    line = shown(capsys, total=900, done=3)
    assert "3/3" in line
    assert "left" not in line


def test_a_stage_is_closed_when_the_work_fails(capsys):
    try:
        with stage(Console(), "train", 5):
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    with stage(Console(), "again", 1) as advance:  # rich allows one live display at a time
        advance()


def test_notes_are_printed_as_they_are(capsys):
    Console().note("a [bold]note[/bold] " + "x" * 200)
    assert capsys.readouterr().err == "a [bold]note[/bold] " + "x" * 200 + "\n"


def test_silence_is_silent(capsys):
    with stage(Silent(), "train", 5) as advance:
        advance(3, loss="1")
    Silent().note("hush")
    assert capsys.readouterr() == ("", "")


def test_stages_side_by_side_leave_a_line_each(capsys):
    console = Console()
    console.worth_keeping_seconds = 0.0
    with stage(console, "one", 2) as first, stage(console, "two", 3) as second:
        first(2)
        second(3)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["two", "one"]
    assert "2/2" in lines[1]


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("5m", 300), ("1.5h", 5400), (" 2 min ", 120)])
def test_durations_are_read(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["5", "90", " 1.5 "])
def test_a_number_without_a_unit_is_asked_for_one(text):
    with pytest.raises(ConfigError, match=rf"has no unit; write {text.strip()}s for seconds, {text.strip()}m for min"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["", "5 parsecs", "0", "-3m", "m"])
def test_what_is_no_duration_says_how_to_write_one(text):
    with pytest.raises(ConfigError, match="90s, 5m or 1.5h"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (41.7, "42 s"), (200, "3 min"), (9000, "2.5 h"), (4 * 86400, "4 days")]
)
def test_durations_are_rounded_for_people(seconds, text):
    assert duration(seconds) == text


def test_without_a_terminal_a_long_stage_leaves_a_line_now_and_then(capsys):
    now = [0.0]
    console = Console()
    console.clock = lambda: now[0]
    with stage(console, "train", 100) as advance:
        for _ in range(100):
            now[0] += 1.0
            advance(1, loss="0.5")
    lines = [line for line in capsys.readouterr().err.splitlines() if "left" in line]
    assert lines == [
        "train 30/100  loss 0.5  70 s left",
        "train 60/100  loss 0.5  40 s left",
        "train 90/100  loss 0.5  10 s left",
    ]


def test_progress_in_a_notebook_is_one_output_that_is_updated():
    now, drawn = [0.0], []

    class Own(NotebookProgress):
        def _draw(self):
            self._drawn = self._clock()
            self._handle = self
            drawn.append(self.html())

    progress = Own(lambda: now[0], 1.0)
    task = progress.task("train <b>", 10)
    for _ in range(10):
        now[0] += 0.2
        task.advance(1, loss="0.5")
    task.close()
    assert 3 <= len(drawn) <= 6  # not once per step
    assert "train &lt;b&gt;" in drawn[-1]
    assert "10/10  loss 0.5  2 s taken" in drawn[-1]
    quick = progress.task("quick", 1)
    quick.advance()
    quick.close()
    assert "quick" not in drawn[-1]
