"""What real salt-api's ``format_events`` makes of events; run by a real Salt's Python.

    python real_formatted_events.py < CASES

CASES is JSON, a list of maps with ``events``. For each the texts are printed that go to the client
after each event, and the name of the error where one ends the stream.
"""

import json
import logging
import sys

import salt.netapi
from salt.netapi.rest_cherrypy import event_processor

ASKED = []


class Client:
    """Runs nothing."""

    def __init__(self, _opts):
        """No master is asked."""

    def run(self, low):
        ASKED.append({key: low[key] for key in ("fun", "tgt")})


class Handler:
    def __init__(self):
        self.sent = []

    def send(self, text, _binary):
        self.sent.append(json.loads(text))


def main():
    logging.disable()
    salt.netapi.NetapiClient = Client
    print(json.dumps([answer(case) for case in json.load(sys.stdin)]))


def answer(case):
    handler, said = Handler(), []
    shown = event_processor.SaltInfo(handler)
    for event in case["events"]:
        handler.sent, one = [], {}
        ASKED.clear()
        try:
            shown.process(event, "token", {})
        except Exception as error:  # noqa: BLE001 - it ends the stream
            one["error"] = type(error).__name__
        said.append({"sent": handler.sent, **one, **({"asked": list(ASKED)} if ASKED else {})})
    return said


if __name__ == "__main__":
    main()
