"""A server that speaks S3, with one bucket; tests/it/store/buckets.rs asks it."""

import urllib.request

from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
address = f"{host}:{port}"
urllib.request.urlopen(urllib.request.Request(f"http://{address}/evidence", method="PUT")).close()
print(f"Listening on http://{address}", flush=True)
server._thread.join()
