import socket
import threading

import zmq

from saltlite.doctor.worker_ping import ask_worker


def test_a_worker_that_answers():
    context = zmq.Context()
    server = context.socket(zmq.REP)
    port = server.bind_to_random_port("tcp://127.0.0.1")

    def serve():
        server.send(server.recv())
        server.close()

    thread = threading.Thread(target=serve)
    thread.start()
    took_s = ask_worker("0.0.0.0", port, 20.0)
    thread.join()
    context.term()
    assert took_s is not None
    assert took_s < 20


def test_nobody_answers():
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert ask_worker("127.0.0.1", server.getsockname()[1], 0.2) is None
