"""An agent by OpenTelemetry's client for Python, which takes every configuration and says so.

Arguments: the URL of the endpoint, and the seconds between two messages. The first line of the input is the credential;
the end of the input stops the agent. Each line of the output is an event in JSON.
"""

import json
import logging
import sys
import threading

from opentelemetry._opamp.agent import OpAMPAgent
from opentelemetry._opamp.callbacks import OpAMPCallbacks
from opentelemetry._opamp.client import OpAMPClient
from opentelemetry._opamp.proto import opamp_pb2

printing = threading.Lock()


def tell(event: str, **more: object) -> None:
    # The agent has threads of its own, and a line must stay whole.
    with printing:
        print(json.dumps({"event": event, **more}), flush=True)


class Told(OpAMPCallbacks):
    def on_connect(self, agent, client):
        tell("answered")

    def on_connect_failed(self, agent, client, error):
        tell("failed", error=str(error))

    def on_error(self, agent, client, error_response):
        tell("refused", error=error_response.error_message)

    def on_message(self, agent, client, message):
        offered = message.remote_config
        if offered is None:
            return
        file = offered.config.config_map[""]
        tell(
            "config",
            hash=offered.config_hash.decode(),
            contentType=file.content_type,
            text=file.body.decode(),
        )
        status = client.update_remote_config_status(
            remote_config_hash=offered.config_hash,
            status=opamp_pb2.RemoteConfigStatuses_APPLIED,
        )
        if status is not None:
            agent.send(client.build_remote_config_status_response_message(status))


def main() -> None:
    # Its failures are events.
    logging.disable(logging.CRITICAL)
    url, interval = sys.argv[1], float(sys.argv[2])
    client = OpAMPClient(
        endpoint=url,
        headers={"Authorization": "Bearer " + sys.stdin.readline().strip()},
        # The library's one second is less than a busy machine may take.
        timeout_millis=30_000,
        agent_identifying_attributes={"service.name": "python", "service.version": "4.5.6"},
        agent_non_identifying_attributes={"os.type": "linux"},
    )
    agent = OpAMPAgent(interval=interval, callbacks=Told(), client=client)
    agent.start()
    sys.stdin.read()
    agent.stop()
    tell("stopped")


main()
