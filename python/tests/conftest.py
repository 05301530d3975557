"""Fixtures of the tests."""

import subprocess
import sys

import pytest

import weir


def command(*args: str, **options) -> subprocess.CompletedProcess:
    """Runs the command of the package."""
    return subprocess.run([sys.executable, "-m", "weir", *args], capture_output=True, text=True, **options)


@pytest.fixture(scope="session")
def dumbbell() -> weir.Result:
    """A run with four classes, forty flows, a window and expectations."""
    return weir.run("qsccp/dumbbell", set={"duration": "30 s"}, windows=[(5, "7500 ms")], progress=False)
