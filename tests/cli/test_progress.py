"""The progress display that scripts use."""

import io

from penstock.cli.progress import LINE_SECONDS, Progress, progress


class Clock:
    """Time that moves when told to."""

    now = 0.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Scalar:
    """A value that counts how often it is converted, as a device scalar would block."""

    conversions = 0

    def __float__(self):
        self.conversions += 1
        return 0.123456


def test_lines_appear_after_some_time_and_at_the_end():
    clock, stream = Clock(), io.StringIO()
    with Progress("training", 30, stream=stream, clock=clock) as bar:
        for step in range(30):
            clock.now = step * LINE_SECONDS / 10
            bar.advance(loss=1.0 / (step + 1), epoch=1)
    assert stream.getvalue().splitlines() == [
        "training  11/30  loss 0.09091  epoch 1",
        "training  21/30  loss 0.04762  epoch 1",
        "training  30/30  loss 0.03333  epoch 1",
    ]


def test_the_last_line_is_not_shown_twice():
    clock, stream = Clock(), io.StringIO()
    with Progress("reading", stream=stream, clock=clock) as bar:
        clock.now = LINE_SECONDS
        bar.advance(5)
        bar.close()
    assert stream.getvalue() == "reading  5\n"


def test_metrics_are_converted_only_when_shown():
    clock, value = Clock(), Scalar()
    with Progress("training", stream=io.StringIO(), clock=clock) as bar:
        for _ in range(100):
            bar.advance(loss=value)
        assert value.conversions == 0
    assert value.conversions == 1


def test_a_terminal_gets_a_bar():
    clock, stream = Clock(), Terminal()
    with Progress("training", 4, stream=stream, clock=clock) as bar:
        clock.now = 1.0
        bar.advance(4, loss=Scalar())
    assert "4/4" in stream.getvalue()
    assert "loss 0.1235" in stream.getvalue()


def test_an_interrupted_loop_closes_the_bar():
    stream = Terminal()
    try:
        with Progress("training", 4, stream=stream) as bar:
            bar.advance()
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert stream.getvalue().endswith("\x1b[?25h")  # the cursor is shown again


def test_the_default_goes_to_standard_error(capsys):
    with progress("work", 1) as bar:
        bar.advance()
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "work  1/1\n")
