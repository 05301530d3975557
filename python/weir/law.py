"""Window laws in Python, to try out an idea."""

from __future__ import annotations

from typing import ClassVar, Mapping

from ._native import Congestion, Data, Flow, Loss, Send

__all__ = ["Congestion", "Data", "Flow", "Loss", "Send", "WindowLaw"]


class WindowLaw:
    """How the window of a consumer changes: the methods of Rust's `WindowLaw`, in Python.

    A consumer has at most `window` Interests pending. What all laws share is done in Rust: whether the next Interest may
    leave, retransmission, and which congestion signals count (at most one a window). Nodes forward plainly, with
    drop-tail queues.

    Give an instance to `weir.run(..., scheme=MyLaw())`. Each flow has a deep copy of it. Results name the scheme after
    the class. An exception in a method ends the run, and `weir.run` raises it.

    >>> class Halving(weir.WindowLaw):
    ...     def increase(self, data):
    ...         self.window += data.packets / self.window
    ...     def decrease(self, congestion):
    ...         self.window = max(self.window / 2, 2)
    >>> weir.run("examples/minimal", scheme=Halving())

    Each event takes the interpreter's lock and calls a method. A run takes many times as long as with the same law in
    Rust. Methods that a class leaves as they are cost nothing.
    """

    window: float = 2.0
    """The window W, packets: 1 or more. A Data is one packet, unless `parameters` has a `unit`."""

    pacing_bps: float | None = None
    """The rate of Data by which Interests are paced, bit/s; `None`: all that W allows are sent at once."""

    parameters: ClassVar[Mapping[str, bool | int | float | str]] = {}
    """Parameters common to all laws: `react_to` (`marks`, `losses` or `both`), `cwa`, `recovery`, `add_rtt_suppress`,
    `unit` and `spread`. `weir.schemes("reno", parameters=True)` describes them."""

    def begin(self, flow: Flow) -> None:
        """The flow begins."""

    def increase(self, data: Data) -> None:
        """A Data arrived without a mark, W was fully used, and there is no recovery from a decrease."""
        raise NotImplementedError(f"{type(self).__name__} needs a method `increase(self, data)`")

    def decrease(self, congestion: Congestion) -> None:
        """There is congestion, other than that of the last decrease."""
        raise NotImplementedError(f"{type(self).__name__} needs a method `decrease(self, congestion)`")

    def on_send(self, send: Send) -> None:
        """An Interest is sent."""

    def on_data(self, data: Data) -> None:
        """A Data arrived. This is called before all other methods for it. It may set `data.lost`."""

    def on_loss(self, loss: Loss) -> None:
        """An Interest is lost. This is called before `decrease`."""

    def is_marked(self, data: Data) -> bool:
        """Returns whether a received Data signals congestion. This is called only if marks are signals."""
        return data.congestion_mark != 0

    def on_unused(self, now_s: float) -> None:
        """Since the last Data, W was not fully used, because the application requested less."""
