import time

from tabtreeformer.progress import Console, Silent, stage


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
