"""SIGTERM and SIGINT as an Event that processes of the sandbox wait for."""

from __future__ import annotations

import signal
import threading
from queue import SimpleQueue


def end_of_process() -> threading.Event:
    """An Event that is set once the process is to end, by SIGTERM or SIGINT.

    A handler must not set it: it runs in the main thread, whose own `wait` may hold the Event's lock at that moment,
    and the process would never end. A SimpleQueue may be written to by handlers
    (https://docs.python.org/3/library/queue.html#queue.SimpleQueue.put); a thread passes it on.
    """
    received: SimpleQueue[int] = SimpleQueue()
    ended = threading.Event()

    def pass_on() -> None:
        received.get()
        ended.set()

    threading.Thread(target=pass_on, daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda sent, _: received.put(sent))
    return ended
