"""The job's end of the pipe to the loop, when a job has several threads."""

from __future__ import annotations

import socket
import threading

import pytest

from saltlite.minion.pipe import Pipe

DEADLINE_S = 20


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.settimeout(DEADLINE_S)
    yield Pipe(ours), Pipe(theirs)
    ours.close()
    theirs.close()


def test_large_messages_of_two_threads_do_not_mix(ends):
    job, loop = ends
    letters = "abcd"

    def send(letter):
        for number in range(3):
            job.send({"op": "event", "n": number, "text": letter * 2**20})

    threads = [threading.Thread(target=send, args=(letter,)) for letter in letters]
    for thread in threads:
        thread.start()
    received = [loop.receive() for _ in range(3 * len(letters))]
    for thread in threads:
        thread.join(DEADLINE_S)

    texts = [message["text"] for message in received]
    assert all(text == text[0] * 2**20 for text in texts)
    for letter in letters:
        assert [each["n"] for each in received if each["text"][0] == letter] == [0, 1, 2]


def test_an_event_goes_out_while_another_thread_waits_for_its_answer(ends):
    job, loop = ends
    answers = []
    asking = threading.Thread(target=lambda: answers.append(job.ask({"op": "jobs"})))
    asking.start()
    question = loop.receive()
    job.send({"op": "event", "tag": "t"})
    assert loop.receive() == {"op": "event", "tag": "t"}
    loop.send({"n": question["n"], "reply": ["j"]})
    asking.join(DEADLINE_S)
    assert answers == [["j"]]
