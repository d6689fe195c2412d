"""The process that matches what may take long. Run as a script, with nothing of saltlite loaded.

Questions come on standard input, answers go to standard output: JSON, each behind its length in
four bytes. A question is ``[how, expression, flags, text, value, limit_s]``; its answer ``[result,
seconds]``, or ``[error]``. The result of ``sub`` is the text with ``value`` for every match, else
the groups of the match, ``null`` without one. A match that takes more than ``limit_s`` of the
processor's time is ended by the kernel, with this process: Python's ``re`` would not let a handler
of ours run.
"""

from __future__ import annotations

import json
import os
import re
import resource
import select
import signal
import struct
import time
from typing import Any

IDLE_S = 60
"""Without a question for so long, this process ends."""

MEMORY_BYTES = 1 << 30
LENGTH = struct.Struct(">I")


def main() -> None:
    """Answer until nobody asks any more."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    while select.select([0], [], [], IDLE_S)[0]:
        question = read_framed()
        if question is None:
            return
        write_framed(answer(*question))


def answer(
    how: str, expression: str, flags: int, text: str, value: str, limit_s: float
) -> list[Any]:
    """One match, under the kernel's clock."""
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    began = time.process_time()
    try:
        result = answer_question(re.compile(expression, flags), how, text, value)
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        return [f"{type(error).__name__}: {error}"]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return [result, time.process_time() - began]


def answer_question(pattern: re.Pattern[str], how: str, text: str, value: str) -> Any:
    """What is asked about one text."""
    if how == "sub":
        return pattern.sub(value, text)
    ask = {"match": pattern.match, "fullmatch": pattern.fullmatch, "search": pattern.search}[how]
    found = ask(text)
    return None if found is None else found.groups()


def read_framed() -> Any:
    """The next question, ``None`` at the end."""
    head = read_exactly(LENGTH.size)
    body = read_exactly(LENGTH.unpack(head)[0]) if head else b""
    return json.loads(body) if body else None


def read_exactly(size: int) -> bytes:
    """So many bytes, none at the end."""
    data = bytearray()
    while len(data) < size:
        part = os.read(0, min(size - len(data), 1 << 20))
        if not part:
            return b""
        data += part
    return bytes(data)


def write_framed(value: list[Any]) -> None:
    """One answer."""
    body = json.dumps(value).encode()
    data = memoryview(LENGTH.pack(len(body)) + body)
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
