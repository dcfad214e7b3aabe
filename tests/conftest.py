"""What tests share."""

from __future__ import annotations

import io
import signal
import sys
from functools import partial
from typing import NamedTuple

import pytest

from adaptag.cli.program import run


class Done(NamedTuple):
    """How a run of the program ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def command_line(monkeypatch, capfdbinary, tmp_path):
    """Run a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    capfdbinary.readouterr()

    def call(function, *arguments, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["adaptag", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            function()
        except SystemExit as end:
            code = end.code or 0
        out, err = capfdbinary.readouterr()
        return Done(code, out.decode(), err.decode())

    return call


@pytest.fixture
def program(command_line):
    """Run ``adaptag``."""
    return partial(command_line, run)


@pytest.fixture
def _ctrl_c():
    """Python's handler of Ctrl-C: tests may run where it is ignored, as in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)
