"""Detects disturbance of a measurement by the host, which may keep runnable processes waiting."""

import threading
import time

NAP = 0.001
# Maximum fraction of a measurement. Half as much is usual on a quiet host.
DISTURBED, TRIES = 0.02, 3


class Watch:
    """A context in which a thread sleeps repeatedly. `disturbed` is the fraction of the time that it was kept waiting
    when it should run."""

    def __enter__(self):
        self._done = threading.Event()
        self._waited = 0.0
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._nap)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()
        self.disturbed = self._waited / (time.monotonic() - self._began)

    def _nap(self):
        while not self._done.is_set():
            began = time.monotonic()
            time.sleep(NAP)
            slept = time.monotonic() - began
            if slept > 2 * NAP:
                self._waited += slept - NAP


def measured(measure, check):
    """Measures, and checks the result; a check raises AssertionError. A failed measurement is repeated at most twice,
    and only if the host disturbed it."""
    for number in range(1, TRIES + 1):
        with Watch() as watch:
            result = measure()
        try:
            check(result)
            return
        except AssertionError as error:
            if number == TRIES or watch.disturbed < DISTURBED:
                raise AssertionError(f"measurement {number}, disturbed for {watch.disturbed:.1%}: {error}") from error
            print(f"measured again, because the host disturbed it for {watch.disturbed:.1%}: {error}")
