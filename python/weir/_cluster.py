"""Runs of a study on the workers of a Dask cluster.

A run is a task: a worker gets it as bytes and returns its record as bytes. Which run is next, and what is kept, is decided
here, as for runs on threads.
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
"""So many runs are at the cluster for each of its threads: one is made, and the others wait beside it."""

RETRIES = 2
"""A run that Dask gave up is sent so many times more. Dask itself gives up a run when it was on four workers that died."""

LOOK_S = 0.5
"""How often progress is told, and new workers are noticed, s."""

FETCH_S = 5.0
"""Others are served while a record does not come for so long, s."""


def executor(client: Client) -> Callable[[_native.Schedule], None]:
    """What has the runs of a schedule made by the workers of a client, and returns when all have ended."""
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
    """What is called on a worker.

    Functions in a function are sent with their code. So a worker, and the scheduler, need no module to receive them, and a
    worker without Weir can say that it has none.
    """

    def refusal(sources: str) -> str | None:
        """Why this worker cannot make runs for a program with these sources."""
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
    """Ends the study before it begins if a worker has another program, which would give other figures."""
    refusal, _ = functions()
    # A worker that is just gone gives an exception.
    asked = client.run(refusal, _native.SOURCES, on_error="return")
    refused = [f"worker {worker}: {why}" for worker, why in asked.items() if isinstance(why, str)]
    if refused:
        raise other_program(refused)


def other_program(refused: list[str]) -> WeirError:
    """The error for workers with another program."""
    here = f"Weir {_native.VERSION}, sources {_native.SOURCES[:8]}"
    workers = "".join(f"\n  {worker}" for worker in refused)
    return WeirError(f"every worker needs the Weir of this machine, {here}: install the same wheel there{workers}")


class Sent:
    """The runs that are at the cluster."""

    def __init__(self, client: Client, schedule: _native.Schedule) -> None:
        self.client = client
        self.schedule = schedule
        _, self.make = functions()
        self.study = uuid.uuid4().hex[:8]
        self.places: dict[Future[Made], int] = {}
        """The place of each run that is at the cluster."""
        self.ended: queue.SimpleQueue[Future[Made]] = queue.SimpleQueue()
        self.tries: Counter[int] = Counter()
        self.threads = 1
        self.next_count = 0.0

    def make_all(self) -> None:
        """Sends runs and takes their records until all have ended. If it is interrupted, those at the cluster are cancelled."""
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
        """Sends runs until each thread of the cluster has enough. False if none is there."""
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
        """Looks how many threads the cluster has: workers come and go. At least one is assumed, which may yet come."""
        if time.monotonic() < self.next_count:
            return
        try:
            self.threads = max(1, sum(self.client.nthreads().values()))
        except OSError:
            self.check_connection()
        self.next_count = time.monotonic() + LOOK_S

    def take(self, future: Future[Made]) -> None:
        """Takes what came of a run."""
        from distributed import TimeoutError

        try:
            what, made = future.result(timeout=FETCH_S)
        except Exception as error:
            if isinstance(error, TimeoutError) and future.status != "error":
                # Its worker may be gone with the record: then the run is made once more.
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
        """A run did not end, because of its worker or because its task was cancelled: it is sent again, some times."""
        self.check_connection()
        self.tries[place] += 1
        if self.tries[place] > RETRIES:
            self.schedule.fail(place, f"no worker of the cluster made the run, tried {RETRIES + 1} times; at last: {why}")
        else:
            self.schedule.give_back(place)

    def forget(self, future: Future[Made]) -> int:
        """Lets the cluster drop the record of a run, and returns the place of the run."""
        place = self.places.pop(future)
        future.release()
        return place

    def check_connection(self) -> None:
        """Ends the study if the scheduler of the cluster is gone."""
        if self.client.status != "running":
            raise WeirError("the connection to the cluster's scheduler is lost; with `out`, the same call makes the missing runs")
