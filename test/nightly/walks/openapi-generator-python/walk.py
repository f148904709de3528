"""The walk of generated-clients.test.ts with the clients that openapi-generator makes for Python."""

import os
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import muster_device as device
import muster_operator as operator
import muster_v1 as v1


def expect(holds: bool, step: str) -> None:
    """Ends the walk where the step went otherwise than it says."""
    if not holds:
        sys.exit(f"not so: {step}")
    print(step, flush=True)


def secret(variable: str) -> str:
    return Path(os.environ[variable]).read_text(encoding="utf-8").strip()


def client(package, url: str, token: str | None = None):
    # Left to themselves, these clients wait out the Retry-After of a 429, and ask again.
    made = package.ApiClient(package.Configuration(host=os.environ[url], access_token=token, retries=False))
    # Left to themselves, they ask for no answer in gzip either, and read one.
    made.set_default_header("Accept-Encoding", "gzip")
    return made


def refusal(package, call, *values, **fields) -> tuple[int, str | None, dict]:
    """The status, the code and the headers of an answer that is no success."""
    try:
        call(*values, **fields)
    except package.ApiException as error:
        return error.status, error.data.error.code if error.data else None, error.headers
    sys.exit(f"{call.__name__}: a success")


now = datetime.now().astimezone()
team = client(operator, "MUSTER_CLIENT_OPS_URL", secret("MUSTER_CLIENT_OPERATOR_TOKEN_FILE"))
accounts, keys = operator.AccountsApi(team), operator.APIKeysApi(team)
account = accounts.create_account(
    operator.CreateAccountRequest(name="new", entitlement=operator.Entitlement.ENTERPRISE)
)
renamed = accounts.change_account(
    account.account_id, change_account_request=operator.ChangeAccountRequest(name="walk")
)
expect(
    renamed.name == "walk" and renamed.entitlement is operator.Entitlement.ENTERPRISE,
    "operator: created an account, and renamed it",
)
in_an_hour = (now + timedelta(hours=1)).replace(microsecond=123000)
key = keys.create_api_key(
    account.account_id, create_api_key_request=operator.CreateApiKeyRequest(name="walk", expires_at=in_an_hour)
)
listed = keys.list_api_keys(account.account_id).api_keys
expect(
    [(one.key_id, one.expires_at, one.last_used_at) for one in listed] == [(key.key_id, in_an_hour, None)],
    "operator: created an API key that expires in an hour",
)

stranger = v1.AppsApi(client(v1, "MUSTER_CLIENT_URL", "no key"))
expect(refusal(v1, stranger.list_apps)[:2] == (401, "invalid_key"), "stranger: 401 invalid_key")

owner = client(v1, "MUSTER_CLIENT_URL", key.api_key)
apps, configuration = v1.AppsApi(owner), v1.ConfigurationApi(owner)
create = {"create_app_request": v1.CreateAppRequest(name="edge 1"), "idempotency_key": "walk-1"}
first, again = apps.create_app_with_http_info(**create), apps.create_app_with_http_info(**create)
app = first.data
expect(
    again.data == app
    and "Idempotency-Replayed" not in first.headers
    and again.headers["Idempotency-Replayed"] == "true",
    "owner: created an app, and got the same code by the same Idempotency-Key",
)
second = apps.create_app()
expect(second.name == "" and second.enroll_code != app.enroll_code, "owner: created a second app")
pages = operator.AppsApi(team)
page = pages.list_account_apps(account.account_id, limit=1)
last = pages.list_account_apps(account.account_id, limit=1, after=page.next)
expect(
    last.next is None and {page.apps[0].app_id, last.apps[0].app_id} == {app.app_id, second.app_id},
    "operator: has both apps, in two pages",
)
expect(
    [(one.status, one.last_seen_at, abs(one.created_at - now) < timedelta(minutes=5)) for one in apps.list_apps().apps]
    == [(v1.AppStatus.PENDING, None, True)] * 2,
    "owner: both apps are pending",
)

enrollment = device.EnrollmentApi(client(device, "MUSTER_CLIENT_DEVICE_URL"))
enroll = device.EnrollDeviceRequest(
    app_id=app.app_id,
    enroll_code=app.enroll_code,
    connection=device.Connection.CLOUD,
    platform="linux",
    agent_version="1.0",
)
enrolled = enrollment.enroll_device(enroll)
expect(enrolled.app_id == app.app_id and enrolled.status == "active", "device: enrolled")
enroll.credential_hash = "0" * 64
expect(
    refusal(device, enrollment.enroll_device, enroll)[:2] == (401, "invalid_code"),
    "device: the code is used up: 401 invalid_code",
)

config = {"enabled": True, "auth_header": "Bearer collector-token", "evidence_level": v1.EvidenceLevel.REDACTED}
unfit = v1.StoreOtelConfigRequest(endpoint="https://user@otel.example.com", **config)
expect(
    refusal(v1, configuration.store_otel_config, unfit)[:2] == (400, "invalid_endpoint"),
    "owner: 400 invalid_endpoint",
)
wanted = v1.StoreOtelConfigRequest(endpoint="https://otel.example.com", **config)
former = configuration.store_otel_config_with_http_info(wanted).headers["ETag"]
read = configuration.read_otel_config_with_http_info()
wanted.auth_header = "Bearer another"
stored = configuration.store_otel_config_with_http_info(wanted, if_match=read.headers["ETag"])
tag = stored.headers["ETag"]
expect(
    read.headers["ETag"] == former != tag and read.data.auth_header_set and stored.data == read.data,
    "owner: stored, read and changed the configuration by its tag",
)
expect(
    refusal(v1, configuration.store_otel_config, wanted, if_match=former)[:2] == (412, "precondition_failed"),
    "owner: by the former tag: 412 precondition_failed",
)

daemon = device.ConfigurationApi(client(device, "MUSTER_CLIENT_DEVICE_URL", enrolled.credential))
poll = daemon.poll_config_with_http_info()
received = poll.data
expect(
    received.otel.endpoint == "https://otel.example.com"
    and received.otel.evidence_level is device.EvidenceLevel.REDACTED
    and received.otel.headers == {"Authorization": "Bearer another"},
    "device: polled: 200 with the configuration",
)
expect(
    refusal(device, daemon.poll_config, if_none_match=poll.headers["ETag"])[:2] == (304, None),
    "device: polled by its tag: 304",
)
acknowledged = daemon.acknowledge_config_with_http_info(
    device.AcknowledgeConfigRequest(revision=received.revision, status=device.AckStatus.APPLIED)
)
expect(acknowledged.status_code == 204, "device: acknowledged")
rollout = operator.RolloutApi(team).read_rollout(account.account_id)
expect(
    (rollout.revision, rollout.devices, rollout.applied) == (received.revision, 1, 1),
    "operator: the rollout is complete",
)

active = apps.read_app(app.app_id)
expect(active.status is v1.AppStatus.ACTIVE and active.platform == "linux", "owner: the app is active")
issued = apps.issue_enroll_code(second.app_id)
expect(issued.enroll_code != second.enroll_code and issued.expires_at > now, "owner: issued another code")
expect(configuration.purge_otel_config(if_match=tag).deleted is True, "owner: purged the configuration by its tag")
expect(apps.revoke_app(app.app_id).status == "revoked", "owner: revoked the app")
expect(
    refusal(device, daemon.poll_config)[:2] == (401, "invalid_credential"),
    "device: polled: 401 invalid_credential",
)
apps.delete_app(second.app_id)
expect(
    refusal(v1, apps.read_app, second.app_id)[:2] == (404, "not_found"),
    "owner: deleted the second app: 404 not_found",
)
entries = operator.AuditApi(team).list_audit(account.account_id).entries
expect(
    [one.app_id for one in entries if one.action == "app.revoked"] == [app.app_id]
    and [one.detail["keyId"] for one in entries if one.action == "key.created"] == [key.key_id]
    and all(one.at.tzinfo == timezone.utc for one in entries),
    "operator: the audit tells of it",
)
busy = v1.AppsApi(client(v1, "MUSTER_CLIENT_URL", secret("MUSTER_BUSY_KEY_FILE")))
status, code, headers = refusal(v1, busy.list_apps)
expect(
    (status, code) == (429, "rate_limited") and 1 <= int(headers["Retry-After"]) <= 60,
    "busy: 429 rate_limited, with Retry-After",
)
