"""The command `weir` of the package."""

import os
import signal
import subprocess
import sys
import time

from conftest import command

import weir

WEIR = [sys.executable, "-m", "weir"]


def test_it_is_the_command():
    said = command("--version")
    assert (said.returncode, said.stdout) == (0, f"weir {weir.VERSION}\n")
    listed = command("list")
    assert listed.returncode == 0 and "qsccp/dumbbell" in listed.stdout


def test_a_wrong_argument_and_a_failed_command_have_their_exit_codes():
    wrong = command("run", "--sed", "3")
    assert wrong.returncode == 2 and "--seed" in wrong.stderr
    failed = command("run", "nothing.toml")
    assert failed.returncode == 2 and failed.stderr.startswith("error: there is no scenario")


def test_a_reader_that_leaves_is_no_error():
    process = subprocess.Popen([*WEIR, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait(30) == 0


def test_an_interruption_ends_it(tmp_path):
    run = [*WEIR, "run", "qsccp/dumbbell", "--set", "duration=30000s", "--json"]
    process = subprocess.Popen(run, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    time.sleep(2)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130 and "interrupted: 0 of 1 run completed" in said
