"""Runs of a study on the workers of a Dask cluster.

A run is a task: a worker gets it as bytes and returns its record as bytes. The order of the runs and the storage are
decided here, as for runs on threads.
"""

from __future__ import annotations

import queue
import time
import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any, Callable

from . import _native
from .errors import WeirError

if TYPE_CHECKING:
    from distributed import Client, Future

    Made = tuple[str, str | bytes]

RUNS_PER_THREAD = 3
"""Number of runs at the cluster per thread: one is running, and the others wait."""

RETRIES = 2
"""How often a run is sent again after Dask gave it up. Dask itself gives up a run after four workers with it died."""

LOOK_S = 0.5
"""Interval at which progress is reported and new workers are noticed, s."""

FETCH_S = 5.0
"""How long to wait for a record before others are served, s."""


def executor(client: Client) -> Callable[[_native.Schedule], None]:
    """Returns a callable that makes the workers of a client run a schedule, and returns when all runs have ended."""
    try:
        import distributed
    except ImportError:
        raise WeirError("`client` needs Dask: pip install 'ndn-weir[cluster]'") from None
    if not isinstance(client, distributed.Client):
        raise WeirError(f"`client` is a dask.distributed.Client, not {type(client).__name__}")
    if client.asynchronous:
        raise WeirError("`client` is asynchronous: make it without `asynchronous=True`, outside of an event loop")
    refuse_other_programs(client)
    return lambda schedule: Sent(client, schedule).make_all()


def functions() -> tuple[Callable[[str], str | None], Callable[[bytes, str], Made]]:
    """Returns the functions for a worker.

    Nested functions are sent with their code. So neither worker nor scheduler needs a module to receive them, and a
    worker without Weir can report that it has none.
    """

    def refusal(sources: str) -> str | None:
        """Returns why this worker cannot make runs for a program with these sources."""
        try:
            from weir import _native

            found, version = _native.SOURCES, _native.VERSION
        except (ImportError, AttributeError) as error:
            return f"it has no Weir, or an older one ({error})"
        if found == sources:
            return None
        return f"it has Weir {version}, sources {found[:8]}"

    def make(request: bytes, sources: str) -> Made:
        """Makes a run."""
        why = refusal(sources)
        if why is not None:
            from distributed import get_worker

            return "refused", f"worker {get_worker().address}: {why}"
        from weir import _native
        from weir.errors import WeirError

        try:
            return "made", _native.run_request(request)
        except WeirError as error:
            return "failed", str(error)

    return refusal, make


def refuse_other_programs(client: Client) -> None:
    """Ends the study before it begins if a worker has another version, which would give other figures."""
    refusal, _ = functions()
    # A worker that has just disappeared gives an exception.
    asked = client.run(refusal, _native.SOURCES, on_error="return")
    refused = [f"worker {worker}: {why}" for worker, why in asked.items() if isinstance(why, str)]
    if refused:
        raise other_program(refused)


def other_program(refused: list[str]) -> WeirError:
    """The error for workers with another version."""
    here = f"Weir {_native.VERSION}, sources {_native.SOURCES[:8]}"
    workers = "".join(f"\n  {worker}" for worker in refused)
    return WeirError(f"every worker needs the Weir of this machine, {here}: install the same wheel there{workers}")


class Sent:
    """The runs at the cluster."""

    def __init__(self, client: Client, schedule: _native.Schedule) -> None:
        self.client = client
        self.schedule = schedule
        _, self.make = functions()
        self.study = uuid.uuid4().hex[:8]
        self.places: dict[Future[Made], int] = {}
        """The index of each run at the cluster."""
        self.ended: queue.SimpleQueue[Future[Made]] = queue.SimpleQueue()
        self.tries: Counter[int] = Counter()
        self.threads = 1
        self.next_count = 0.0

    def make_all(self) -> None:
        """Sends runs and takes their records until all have ended. After an interruption, cancels those at the
        cluster."""
        try:
            while self.send():
                try:
                    self.take(self.ended.get(timeout=LOOK_S))
                except queue.Empty:
                    self.check_connection()
                self.schedule.look()
        finally:
            self.client.cancel(list(self.places))

    def send(self) -> bool:
        """Sends runs until each thread of the cluster has enough. Returns False if there is none."""
        self.count_threads()
        while len(self.places) < RUNS_PER_THREAD * self.threads:
            begun = self.schedule.begin(len(self.places) >= self.threads)
            if begun is None:
                break
            place, key, request = begun
            name = f"weir-{key}-{self.study}-{self.tries[place]}"
            future = self.client.submit(self.make, request, _native.SOURCES, key=name, pure=False)
            self.places[future] = place
            future.add_done_callback(self.ended.put)
        return bool(self.places)

    def count_threads(self) -> None:
        """Updates the number of threads of the cluster, because workers come and go. At least one is assumed, which
        may still come."""
        if time.monotonic() < self.next_count:
            return
        try:
            self.threads = max(1, sum(self.client.nthreads().values()))
        except OSError:
            self.check_connection()
        self.next_count = time.monotonic() + LOOK_S

    def take(self, future: Future[Made]) -> None:
        """Takes the result of a run."""
        from distributed import TimeoutError

        try:
            what, made = future.result(timeout=FETCH_S)
        except Exception as error:
            if isinstance(error, TimeoutError) and future.status != "error":
                # Its worker may have disappeared with the record. Then the run is repeated.
                future.add_done_callback(self.ended.put)
                return
            self.not_made(self.forget(future), f"{type(error).__name__}: {error}")
        else:
            if what == "refused":
                raise other_program([str(made)])
            place = self.forget(future)
            if isinstance(made, bytes):
                self.schedule.end(place, made)
            else:
                self.schedule.fail(place, made)

    def not_made(self, place: int, why: str) -> None:
        """Handles a run that did not end because of its worker or a cancelled task: it is sent again a limited number
        of times."""
        self.check_connection()
        self.tries[place] += 1
        if self.tries[place] > RETRIES:
            self.schedule.fail(place, f"no worker of the cluster made the run, tried {RETRIES + 1} times; at last: {why}")
        else:
            self.schedule.give_back(place)

    def forget(self, future: Future[Made]) -> int:
        """Lets the cluster drop the record of a run. Returns the run's index."""
        place = self.places.pop(future)
        future.release()
        return place

    def check_connection(self) -> None:
        """Ends the study if the scheduler of the cluster is gone."""
        if self.client.status != "running":
            raise WeirError("the connection to the cluster's scheduler is lost; with `out`, the same call makes the missing runs")
