"""The walk of docs/API.md with the generated clients: from the operator's account to a daemon that is cut off.

It prints a line for each step, without secrets, and ends with exit code 1 at the first surprise.
"""

import hashlib
import os
import secrets
import sys
from http import HTTPStatus
from pathlib import Path

from muster.device import AuthenticatedClient as DeviceClient
from muster.device import Client as EnrollingClient
from muster.device.api.configuration import acknowledge_config, poll_config
from muster.device.api.enrollment import enroll_device
from muster.device.models import (
    AckStatus,
    AcknowledgeConfigRequest,
    Connection,
    DeviceConfig,
    EnrollDeviceRequest,
    EnrolledDevice,
)
from muster.device.models import Error as DeviceError
from muster.operator import AuthenticatedClient as OperatorClient
from muster.operator.api.accounts import create_account
from muster.operator.api.api_keys import create_api_key, list_api_keys
from muster.operator.api.audit import list_audit
from muster.operator.api.rollout import read_rollout
from muster.operator.models import (
    Account,
    ApiKeyList,
    AuditPage,
    CreateAccountRequest,
    CreateApiKeyRequest,
    CreatedApiKey,
    Entitlement,
    Rollout,
)
from muster.v1 import AuthenticatedClient as OwnerClient
from muster.v1.api.apps import create_app, list_apps, read_app, revoke_app
from muster.v1.api.configuration import store_otel_config
from muster.v1.models import (
    App,
    AppList,
    AppStatus,
    CreateAppRequest,
    CreatedApp,
    Error,
    EvidenceLevel,
    OtelConfig,
    RevokedApp,
    StoreOtelConfigRequest,
)


def expect(holds: bool, step: str) -> None:
    """Ends the walk where the step went otherwise than it says."""
    if not holds:
        sys.exit(f"not so: {step}")
    print(step, flush=True)


def parsed(answer, status: HTTPStatus, kind: type, step: str):
    """The typed body of an answer. An error is told by its code: another body may have a secret."""
    if answer.status_code != status or not isinstance(answer.parsed, kind):
        told = getattr(getattr(answer.parsed, "error", None), "code", "another body")
        sys.exit(f"{step}: {answer.status_code} ({told}), not {int(status)} with {kind.__name__}")
    return answer.parsed


token = Path(os.environ["MUSTER_CLIENT_OPERATOR_TOKEN_FILE"]).read_text(encoding="utf-8").strip()
operator = OperatorClient(base_url=os.environ["MUSTER_CLIENT_OPS_URL"], token=token, raise_on_unexpected_status=True)

account = parsed(
    create_account.sync_detailed(
        client=operator,
        body=CreateAccountRequest(name="walk", entitlement=Entitlement.ENTERPRISE),
    ),
    HTTPStatus.CREATED,
    Account,
    "create the account",
)
expect(account.name == "walk" and account.disabled is False, "operator: created an account")
key = parsed(
    create_api_key.sync_detailed(account.account_id, client=operator, body=CreateApiKeyRequest(name="walk")),
    HTTPStatus.CREATED,
    CreatedApiKey,
    "create the key",
)
keys = parsed(
    list_api_keys.sync_detailed(account.account_id, client=operator), HTTPStatus.OK, ApiKeyList, "list the keys"
)
expect(
    [listed.key_id for listed in keys.api_keys] == [key.key_id] and keys.api_keys[0].expires_at is None,
    "operator: created an API key that does not expire",
)

stranger = OwnerClient(base_url=os.environ["MUSTER_CLIENT_URL"], token="no key", raise_on_unexpected_status=True)
refused = parsed(list_apps.sync_detailed(client=stranger), HTTPStatus.UNAUTHORIZED, Error, "list by no key")
expect(refused.error.code == "invalid_key", "stranger: 401 invalid_key")

owner = OwnerClient(base_url=os.environ["MUSTER_CLIENT_URL"], token=key.api_key, raise_on_unexpected_status=True)
idempotency_key = secrets.token_hex(16)
create = {"client": owner, "body": CreateAppRequest(name="edge 1"), "idempotency_key": idempotency_key}
first = create_app.sync_detailed(**create)
app = parsed(first, HTTPStatus.CREATED, CreatedApp, "create the app")
expect("Idempotency-Replayed" not in first.headers, "owner: created an app")
second = create_app.sync_detailed(**create)
again = parsed(second, HTTPStatus.CREATED, CreatedApp, "create the app again")
expect(
    again == app and second.headers["Idempotency-Replayed"] == "true",
    "owner: created it again by the same Idempotency-Key, and got the same code",
)
apps = parsed(list_apps.sync_detailed(client=owner), HTTPStatus.OK, AppList, "list the apps")
expect(
    [(listed.app_id, listed.status, listed.last_seen_at) for listed in apps.apps]
    == [(app.app_id, AppStatus.PENDING, None)],
    "owner: has one app, which is pending",
)

enrolling = EnrollingClient(base_url=os.environ["MUSTER_CLIENT_DEVICE_URL"], raise_on_unexpected_status=True)
enrolled = parsed(
    enroll_device.sync_detailed(
        client=enrolling,
        body=EnrollDeviceRequest(
            app_id=app.app_id,
            enroll_code=app.enroll_code,
            connection=Connection.CLOUD,
            platform="linux",
            agent_version="1.0",
        ),
    ),
    HTTPStatus.OK,
    EnrolledDevice,
    "enroll",
)
expect(enrolled.app_id == app.app_id and isinstance(enrolled.credential, str), "device: enrolled")
used = parsed(
    enroll_device.sync_detailed(
        client=enrolling,
        body=EnrollDeviceRequest(
            app_id=app.app_id,
            enroll_code=app.enroll_code,
            credential_hash=hashlib.sha256(b"another").hexdigest(),
        ),
    ),
    HTTPStatus.UNAUTHORIZED,
    DeviceError,
    "enroll again",
)
expect(used.error.code == "invalid_code", "device: the code is used up: 401 invalid_code")

config = parsed(
    store_otel_config.sync_detailed(
        client=owner,
        body=StoreOtelConfigRequest(
            enabled=True,
            endpoint="https://otel.example.com",
            auth_header="Bearer collector-token",
            evidence_level=EvidenceLevel.REDACTED,
        ),
    ),
    HTTPStatus.OK,
    OtelConfig,
    "set the configuration",
)
expect(config.enabled and config.auth_header_set, "owner: set the configuration")

device = DeviceClient(
    base_url=os.environ["MUSTER_CLIENT_DEVICE_URL"], token=enrolled.credential, raise_on_unexpected_status=True
)
poll = poll_config.sync_detailed(client=device)
received = parsed(poll, HTTPStatus.OK, DeviceConfig, "poll")
expect(
    received.otel.endpoint == "https://otel.example.com"
    and received.otel.evidence_level.value == "redacted"
    and received.otel.headers["Authorization"] == "Bearer collector-token",
    "device: polled: 200 with the configuration",
)
unchanged = poll_config.sync_detailed(client=device, if_none_match=poll.headers["ETag"])
expect(
    unchanged.status_code == HTTPStatus.NOT_MODIFIED and unchanged.parsed is None,
    "device: polled by its tag: 304",
)
acknowledged = acknowledge_config.sync_detailed(
    client=device,
    body=AcknowledgeConfigRequest(revision=received.revision, status=AckStatus.APPLIED),
)
expect(acknowledged.status_code == HTTPStatus.NO_CONTENT, "device: acknowledged")
rollout = parsed(
    read_rollout.sync_detailed(account.account_id, client=operator), HTTPStatus.OK, Rollout, "read the rollout"
)
expect(
    (rollout.revision, rollout.devices, rollout.applied) == (received.revision, 1, 1),
    "operator: the rollout is complete",
)

active = parsed(read_app.sync_detailed(app.app_id, client=owner), HTTPStatus.OK, App, "read the app")
expect(active.status == AppStatus.ACTIVE and active.platform == "linux", "owner: the app is active")
revoked = parsed(revoke_app.sync_detailed(app.app_id, client=owner), HTTPStatus.OK, RevokedApp, "revoke")
expect(revoked.app_id == app.app_id and revoked.status == "revoked", "owner: revoked the app")
cut_off = parsed(poll_config.sync_detailed(client=device), HTTPStatus.UNAUTHORIZED, DeviceError, "poll once more")
expect(cut_off.error.code == "invalid_credential", "device: polled: 401 invalid_credential")

audit = parsed(
    list_audit.sync_detailed(account.account_id, client=operator), HTTPStatus.OK, AuditPage, "list the audit"
)
expect(
    [entry.detail["keyId"] for entry in audit.entries if entry.action == "key.created"] == [key.key_id]
    and [entry.app_id for entry in audit.entries if entry.action == "app.revoked"] == [app.app_id],
    "operator: the audit tells of it",
)
