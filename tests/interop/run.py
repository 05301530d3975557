#!/usr/bin/env python3
"""Runs the interoperability tests: run.py [TEST...], a test as unittest names it: test_ndnd or test_ndnd.Tools.

They run in namespaces of their own for network, processes and mounts, so that they meet nothing on this machine
and leave nothing behind: when this process ends, everything in it ends.

run.py --write-table runs none: it writes the table of docs/reference/interoperability.md, which is made of the tests."""

import logging
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
INSIDE = "WEIR_INTEROP_INSIDE"


def enter_namespaces():
    """Runs this program again inside, or prints why that is impossible."""
    unshare = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        unshare.append("--map-root-user")
    try:
        tried = subprocess.run([*unshare, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        sys.exit(skip("there is no `unshare` (util-linux)"))
    if tried.returncode != 0:
        sys.exit(skip(f"no namespaces of our own: {tried.stderr.strip()}"))
    os.environ[INSIDE] = "1"
    os.execvp(unshare[0], [*unshare, sys.executable, __file__, *sys.argv[1:]])


def skip(why):
    """Ends with the message that no test can run here."""
    print(f"SKIP interoperability: {why}")
    print(f"0 passed, 0 failed, {suite().countTestCases()} skipped")
    return 0


def prepare():
    """Enables loopback, and mounts a folder for the names of network namespaces."""
    subprocess.run(["mount", "-t", "tmpfs", "interop", "/run"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def check_table():
    """Returns whether the page's table is that of the tests."""
    import matrix

    should, page = matrix.page_with_table()
    if should != page:
        print(f"{matrix.PAGE} differs from the tests: `make reference` writes it", file=sys.stderr)
    return should == page


def write_table():
    """Writes the table of the tests to the page."""
    import matrix

    suite()
    should, _ = matrix.page_with_table()
    matrix.PAGE.write_text(should)


def suite():
    loader, names = unittest.TestLoader(), [name for name in sys.argv[1:] if not name.startswith("--")]
    return loader.loadTestsFromNames(names) if names else loader.discover(str(HERE))


def names_of(tests):
    """The names of the tests of a suite. Call it before the suite runs, because the suite then drops its tests."""
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from names_of(test)
        else:
            yield test.id()


class Result(unittest.TextTestResult):
    """A test result that also records the names of passed tests."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.passed = set()

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed.add(test.id())

    def is_skipped(self, name):
        """Returns whether the test or its class is skipped."""
        ids = (test.id() for test, _ in self.skipped)
        return any(name == each or each == f"setUpClass ({name.rpartition('.')[0]})" for each in ids)

    def counts(self, names):
        """The numbers of passed, failed and skipped tests."""
        left = [name for name in names if name not in self.passed]
        skipped = sum(map(self.is_skipped, left))
        return len(names) - len(left), len(left) - skipped, skipped


def main():
    if sys.argv[1:] == ["--write-table"]:
        write_table()
        return
    if INSIDE not in os.environ:
        enter_namespaces()
    prepare()
    # Warnings about slow callbacks on a busy machine do not concern the peers.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    tests = suite()
    names = list(names_of(tests))
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(tests)
    for test, why in result.skipped:
        print(f"SKIP {test}: {why}")
    passed, failed, skipped = result.counts(names)
    if len(sys.argv) == 1:
        is_right = check_table()
        passed, failed = passed + is_right, failed + (not is_right)
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    sys.exit(0 if failed == 0 and result.wasSuccessful() else 1)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    main()
