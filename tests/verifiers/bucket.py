"""A server that speaks S3, with one bucket; tests/it/store/buckets.rs asks it."""

import urllib.request

from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from moto.server import ThreadedMotoServer

answer = DomainDispatcherApplication.__call__


def checked(self, environ, start_response):
    is_object = environ["PATH_INFO"].count("/") > 1
    if environ["REQUEST_METHOD"] == "PUT" and is_object and "HTTP_X_AMZ_CHECKSUM_SHA256" not in environ:
        start_response("400 Bad Request", [])
        return [b"a bucket with object lock takes nothing without a checksum"]
    return answer(self, environ, start_response)


DomainDispatcherApplication.__call__ = checked
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
address = f"{host}:{port}"
urllib.request.urlopen(urllib.request.Request(f"http://{address}/evidence", method="PUT")).close()
print(f"Listening on http://{address}", flush=True)
server._thread.join()
