"""The walk of generated-clients.test.ts with the clients that openapi-python-client makes.

It prints a line for each step, without secrets, and ends with exit code 1 at the first surprise.
"""

import hashlib
import os
import sys
from datetime import datetime, timedelta
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
from muster.operator.api.accounts import change_account, create_account
from muster.operator.api.api_keys import create_api_key, list_api_keys
from muster.operator.api.apps import list_account_apps
from muster.operator.api.audit import list_audit
from muster.operator.api.rollout import read_rollout
from muster.operator.models import (
    Account,
    AccountAppPage,
    ApiKeyList,
    AuditPage,
    ChangeAccountRequest,
    CreateAccountRequest,
    CreateApiKeyRequest,
    CreatedApiKey,
    Entitlement,
    Rollout,
)
from muster.v1 import AuthenticatedClient as OwnerClient
from muster.v1.api.apps import create_app, delete_app, issue_enroll_code, list_apps, read_app, revoke_app
from muster.v1.api.configuration import purge_otel_config, read_otel_config, store_otel_config
from muster.v1.models import (
    App,
    AppList,
    AppStatus,
    CreateAppRequest,
    CreatedApp,
    Error,
    EvidenceLevel,
    IssuedEnrollCode,
    OtelConfig,
    PurgedOtelConfig,
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


def secret(variable: str) -> str:
    return Path(os.environ[variable]).read_text(encoding="utf-8").strip()


def refusal(answer, status: HTTPStatus, kind: type, step: str) -> str:
    return parsed(answer, status, kind, step).error.code


now = datetime.now().astimezone()
token = secret("MUSTER_CLIENT_OPERATOR_TOKEN_FILE")
operator = OperatorClient(base_url=os.environ["MUSTER_CLIENT_OPS_URL"], token=token, raise_on_unexpected_status=True)

account = parsed(
    create_account.sync_detailed(
        client=operator,
        body=CreateAccountRequest(name="new", entitlement=Entitlement.ENTERPRISE),
    ),
    HTTPStatus.CREATED,
    Account,
    "create the account",
)
renamed = parsed(
    change_account.sync_detailed(account.account_id, client=operator, body=ChangeAccountRequest(name="walk")),
    HTTPStatus.OK,
    Account,
    "rename the account",
)
expect(
    renamed.name == "walk" and renamed.entitlement == Entitlement.ENTERPRISE,
    "operator: created an account, and renamed it",
)
in_an_hour = (now + timedelta(hours=1)).replace(microsecond=123000)
key = parsed(
    create_api_key.sync_detailed(
        account.account_id, client=operator, body=CreateApiKeyRequest(name="walk", expires_at=in_an_hour)
    ),
    HTTPStatus.CREATED,
    CreatedApiKey,
    "create the key",
)
keys = parsed(
    list_api_keys.sync_detailed(account.account_id, client=operator), HTTPStatus.OK, ApiKeyList, "list the keys"
)
expect(
    [(listed.key_id, listed.expires_at, listed.last_used_at) for listed in keys.api_keys]
    == [(key.key_id, in_an_hour, None)],
    "operator: created an API key that expires in an hour",
)

stranger = OwnerClient(base_url=os.environ["MUSTER_CLIENT_URL"], token="no key", raise_on_unexpected_status=True)
refused = parsed(list_apps.sync_detailed(client=stranger), HTTPStatus.UNAUTHORIZED, Error, "list by no key")
expect(refused.error.code == "invalid_key", "stranger: 401 invalid_key")

owner = OwnerClient(base_url=os.environ["MUSTER_CLIENT_URL"], token=key.api_key, raise_on_unexpected_status=True)
create = {"client": owner, "body": CreateAppRequest(name="edge 1"), "idempotency_key": "walk-1"}
first = create_app.sync_detailed(**create)
app = parsed(first, HTTPStatus.CREATED, CreatedApp, "create the app")
again = create_app.sync_detailed(**create)
expect(
    parsed(again, HTTPStatus.CREATED, CreatedApp, "create the app again") == app
    and "Idempotency-Replayed" not in first.headers
    and again.headers["Idempotency-Replayed"] == "true",
    "owner: created an app, and got the same code by the same Idempotency-Key",
)
second = parsed(create_app.sync_detailed(client=owner), HTTPStatus.CREATED, CreatedApp, "create the second app")
expect(second.name == "" and second.enroll_code != app.enroll_code, "owner: created a second app")
pages = {"account_id": account.account_id, "client": operator, "limit": 1}
page = parsed(list_account_apps.sync_detailed(**pages), HTTPStatus.OK, AccountAppPage, "list a page")
last = parsed(
    list_account_apps.sync_detailed(**pages, after=page.next_), HTTPStatus.OK, AccountAppPage, "list the next page"
)
expect(
    not last.next_ and {page.apps[0].app_id, last.apps[0].app_id} == {app.app_id, second.app_id},
    "operator: has both apps, in two pages",
)
apps = parsed(list_apps.sync_detailed(client=owner), HTTPStatus.OK, AppList, "list the apps")
expect(
    [(one.status, one.last_seen_at, abs(one.created_at - now) < timedelta(minutes=5)) for one in apps.apps]
    == [(AppStatus.PENDING, None, True)] * 2,
    "owner: both apps are pending",
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



def store(endpoint: str, auth_header: str, **conditions):
    body = StoreOtelConfigRequest(
        enabled=True, endpoint=endpoint, auth_header=auth_header, evidence_level=EvidenceLevel.REDACTED
    )
    return store_otel_config.sync_detailed(client=owner, body=body, **conditions)


unfit = store("https://user@otel.example.com", "Bearer collector-token")
expect(
    refusal(unfit, HTTPStatus.BAD_REQUEST, Error, "store what is unfit") == "invalid_endpoint",
    "owner: 400 invalid_endpoint",
)
former = store("https://otel.example.com", "Bearer collector-token").headers["ETag"]
read = read_otel_config.sync_detailed(client=owner)
stored = store("https://otel.example.com", "Bearer another", if_match=read.headers["ETag"])
tag = stored.headers["ETag"]
expect(
    read.headers["ETag"] == former != tag
    and parsed(stored, HTTPStatus.OK, OtelConfig, "store") == parsed(read, HTTPStatus.OK, OtelConfig, "read"),
    "owner: stored, read and changed the configuration by its tag",
)
late = store("https://otel.example.com", "Bearer late", if_match=former)
expect(
    refusal(late, HTTPStatus.PRECONDITION_FAILED, Error, "store late") == "precondition_failed",
    "owner: by the former tag: 412 precondition_failed",
)

device = DeviceClient(
    base_url=os.environ["MUSTER_CLIENT_DEVICE_URL"], token=enrolled.credential, raise_on_unexpected_status=True
)
poll = poll_config.sync_detailed(client=device)
received = parsed(poll, HTTPStatus.OK, DeviceConfig, "poll")
expect(
    received.otel.endpoint == "https://otel.example.com"
    and received.otel.evidence_level.value == "redacted"
    and received.otel.headers["Authorization"] == "Bearer another",
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
issued = parsed(
    issue_enroll_code.sync_detailed(second.app_id, client=owner),
    HTTPStatus.CREATED,
    IssuedEnrollCode,
    "issue a code",
)
expect(issued.enroll_code != second.enroll_code and issued.expires_at > now, "owner: issued another code")
purged = parsed(
    purge_otel_config.sync_detailed(client=owner, if_match=tag), HTTPStatus.OK, PurgedOtelConfig, "purge"
)
expect(purged.deleted, "owner: purged the configuration by its tag")
revoked = parsed(revoke_app.sync_detailed(app.app_id, client=owner), HTTPStatus.OK, RevokedApp, "revoke")
expect(revoked.app_id == app.app_id and revoked.status == "revoked", "owner: revoked the app")
cut_off = parsed(poll_config.sync_detailed(client=device), HTTPStatus.UNAUTHORIZED, DeviceError, "poll once more")
expect(cut_off.error.code == "invalid_credential", "device: polled: 401 invalid_credential")

deleted = delete_app.sync_detailed(second.app_id, client=owner)
gone = read_app.sync_detailed(second.app_id, client=owner)
expect(
    deleted.status_code == HTTPStatus.NO_CONTENT
    and refusal(gone, HTTPStatus.NOT_FOUND, Error, "read what is gone") == "not_found",
    "owner: deleted the second app: 404 not_found",
)
audit = parsed(
    list_audit.sync_detailed(account.account_id, client=operator), HTTPStatus.OK, AuditPage, "list the audit"
)
expect(
    [entry.detail["keyId"] for entry in audit.entries if entry.action == "key.created"] == [key.key_id]
    and [entry.app_id for entry in audit.entries if entry.action == "app.revoked"] == [app.app_id],
    "operator: the audit tells of it",
)
busy = OwnerClient(base_url=os.environ["MUSTER_CLIENT_URL"], token=secret("MUSTER_BUSY_KEY_FILE"))
limited = list_apps.sync_detailed(client=busy)
expect(
    refusal(limited, HTTPStatus.TOO_MANY_REQUESTS, Error, "list too often") == "rate_limited"
    and 1 <= int(limited.headers["Retry-After"]) <= 60,
    "busy: 429 rate_limited, with Retry-After",
)
