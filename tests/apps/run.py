#!/usr/bin/env python3
"""Runs the tests of applications on bad links: run.py [TEST...], a test as unittest names it.

Those of test_robust, which mostly wait, at once, and then the others, one after the other. WEIR_FULL=1 has
sizes and times as large as wanted, a gigabyte and half a minute, and everything one after the other."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
AT_ONCE = 4
# Tests that may run simultaneously, and those that may not.
WAITING, BUSY = "test_robust", ["test_rates", "test_paths", "test_beside", "test_memory"]
PASSED, FAILED, SKIPPED = "ok", "FAILED", "SKIP"


def names(suite):
    """The tests in a suite, as unittest names them."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from names(test)
        else:
            yield test.id()


def run(test):
    """Runs one test in its own process. Returns its exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "unittest", "--verbose", test], cwd=HERE, capture_output=True, text=True, check=False
    )
    is_skipped = "(skipped=" in done.stderr
    verdict = FAILED if done.returncode else SKIPPED if is_skipped else PASSED
    why = done.stderr if done.returncode or is_skipped else ""
    print(f"{verdict:<7}{test}\n{done.stdout}{why}", end="", flush=True)
    return verdict


def main():
    at_once = 1 if os.environ.get("WEIR_FULL") else AT_ONCE
    sys.path.insert(0, str(HERE))
    tests = list(names(unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:] or [WAITING, *BUSY])))
    waiting = [test for test in tests if test.startswith(WAITING)]
    busy = [test for test in tests if not test.startswith(WAITING)]
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        verdicts = list(pool.map(run, waiting))
    verdicts += [run(test) for test in busy]
    passed, failed, skipped = map(verdicts.count, (PASSED, FAILED, SKIPPED))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
