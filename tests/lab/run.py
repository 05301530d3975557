#!/usr/bin/env python3
"""Runs the tests of `weir lab`: run.py [TEST...], a test as unittest names it: test_ends or test_ends.Killed."""

import sys
import unittest


def main():
    names = sys.argv[1:] or ["test_refused", "test_ends", "test_runs"]
    tests = unittest.defaultTestLoader.loadTestsFromNames(names)
    count = tests.countTestCases()
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    for test, why in result.skipped:
        print(f"SKIP {test}: {why}")
    # A class that is skipped is skipped as one.
    ran = result.testsRun
    failed = len(result.failures) + len(result.errors)
    skipped = count - ran + sum(isinstance(test, unittest.TestCase) for test, _ in result.skipped)
    print(f"{count - failed - skipped} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
