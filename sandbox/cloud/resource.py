"""What a resource type of a simulated cloud is to the servicer."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from .schema import Change, Failure, Fields
from .wire import Properties


class CloudError(Exception):
    """An operation failed; the text is for the user. The resource stays as it was in the stack's state."""


class OutOfTime(CloudError):
    """The provider stopped waiting; the cloud continues the operation."""


class HalfMade(CloudError):
    """An operation failed after the cloud had changed: the state takes `outputs`, and the next `up` updates it.

    `identifier` is the id of what a creation has left; an update's is known.
    """

    def __init__(self, reason: str, outputs: Properties, identifier: str = "") -> None:
        super().__init__(reason)
        self.outputs = outputs
        self.identifier = identifier


@dataclass(frozen=True)
class Call:
    """One call of the engine. `time_limit` is the program's own, in seconds of the cloud; `say` shows progress."""

    urn: str = ""
    time_limit: float | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    say: Callable[[str], None] = lambda _message: None

    def limit(self, default: float) -> float:
        """The time limit that holds, in seconds of the cloud."""
        return self.time_limit or default

    def check_cancelled(self) -> None:
        """Raises OutOfTime once the run is to end."""
        if self.cancelled.is_set():
            raise OutOfTime("cancelled; what the cloud has begun continues")


class ResourceType(ABC):
    """One resource type: its fields, and what its operations do on the cloud. Every operation may raise CloudError."""

    fields: Fields
    autonamed: bool = True
    """Whether `name` may be left out: the logical name with a random suffix is taken then."""
    time_limits: tuple[str, ...] = ()
    """The operations for which the program may give a time limit; one for another operation is ignored."""

    def failures(self, news: Properties) -> list[Failure]:
        """Errors in new inputs beyond those that the fields define."""
        return []

    def adjust(self, changes: dict[str, Change], state: Properties, news: Properties) -> dict[str, Change]:
        """The changes less those that do not count, and with those that force a replacement marked."""
        return changes

    @abstractmethod
    def create(self, call: Call, inputs: Properties) -> tuple[str, Properties]:
        """Make it; gives its id and its properties."""

    @abstractmethod
    def read(self, call: Call, identifier: str, state: Properties) -> Properties | None:
        """Its properties now; None when it is gone. `state` is empty when it is imported."""

    @abstractmethod
    def update(self, call: Call, identifier: str, state: Properties, news: Properties) -> Properties:
        """Change it in place; gives its properties afterwards."""

    @abstractmethod
    def delete(self, call: Call, identifier: str, state: Properties) -> None:
        """Remove it; one that is gone already is removed."""


Function = Callable[[Call, Properties], Properties]


class Cloud(Protocol):
    """A simulated cloud as the servicer sees it; `resources` and `functions` are keyed by Pulumi's type tokens."""

    @property
    def version(self) -> str: ...

    @property
    def resources(self) -> Mapping[str, ResourceType]: ...

    @property
    def functions(self) -> Mapping[str, Function]: ...

    def configure(self, configuration: Mapping[str, Any]) -> None:
        """Take the provider's configuration. Raises CloudError when it cannot work with it."""
