"""A client of Python's standard library that keeps its connections: each sends a GET once in its interval.

Reads one JSON object from stdin: url, token, intervalsMs (one for each connection), rounds. Writes one to stdout when
all are through: how many requests it sent, on how many connections, and what became of those without an answer.
"""

import http.client
import json
import sys
import threading
import time
import urllib.parse

job = json.load(sys.stdin)
url = urllib.parse.urlsplit(job["url"])
lock = threading.Lock()
told = {"requests": 0, "connections": 0, "broken": 0, "statuses": {}, "faults": {}}


def count(of, name):
    with lock:
        told[of][name] = told[of].get(name, 0) + 1


def poll(interval_ms):
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    for number in range(job["rounds"]):
        if number > 0:
            time.sleep(interval_ms / 1000)
        with lock:
            told["requests"] += 1
            if connection.sock is None:
                told["connections"] += 1
        try:
            connection.request("GET", url.path, headers={"Authorization": "Bearer " + job["token"]})
            answer = connection.getresponse()
            answer.read()
            count("statuses", str(answer.status))
        except (http.client.HTTPException, OSError) as fault:
            connection.close()
            with lock:
                told["broken"] += 1
            count("faults", type(fault).__name__)


threads = [threading.Thread(target=poll, args=(ms,)) for ms in job["intervalsMs"]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
json.dump(told, sys.stdout)
