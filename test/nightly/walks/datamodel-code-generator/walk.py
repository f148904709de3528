"""Parses a real answer of each operation by the models that datamodel-code-generator makes."""

import json
import os
import sys
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone
from importlib import import_module
from pathlib import Path
from urllib.parse import quote

URLS = {"v1": "MUSTER_CLIENT_URL", "device": "MUSTER_CLIENT_DEVICE_URL", "operator": "MUSTER_CLIENT_OPS_URL"}
secrets = {"operator": Path(os.environ["MUSTER_CLIENT_OPERATOR_TOKEN_FILE"]).read_text(encoding="utf-8").strip()}
operations = {}
for api in URLS:
    document = json.loads(Path(f"docs/openapi/{api}.json").read_text(encoding="utf-8"))
    for path, item in document["paths"].items():
        for method, operation in item.items():
            operations[api, operation["operationId"]] = path, method.upper(), operation
asked = set()


def same(one, other) -> bool:
    """Whether two values of JSON are the same at every depth. An instant may be written in another form."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, str) and isinstance(other, str):
        return one == other or instant(one) == instant(other) is not None
    # In Python True is 1.
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def instant(text: str):
    """The instant that a text with an offset is; None where it is none."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return read if read.tzinfo else None


def ask(api: str, name: str, body=None, query: str = "", expected: int | None = None, **ids: str):
    """The answer of an operation, by the model of its status; None where it has no JSON."""
    path, method, operation = operations[api, name]
    models = import_module(f"muster.{api}")
    content = operation.get("requestBody", {}).get("content", {})
    if body is not None:
        # The body is sent as the models write it.
        model = getattr(models, content["application/json"]["schema"]["$ref"].split("/")[-1])
        body = model.model_validate(body).model_dump_json(exclude_unset=True).encode()
    headers = {"Authorization": f"Bearer {secrets[api]}"} if api in secrets else {}
    url = os.environ[URLS[api]] + path.format(**ids) + query
    request = urllib.request.Request(url, body, headers, method=method)
    try:
        with urllib.request.urlopen(request) as response:
            status, text = response.status, response.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    wanted = expected or min(int(status) for status in operation["responses"])
    if status != wanted:
        sys.exit(f"{name}: {status}, not {wanted}")
    asked.add((api, name))
    schema = operation["responses"][str(status)].get("content", {}).get("application/json", {}).get("schema")
    if schema is None:
        return None
    model = getattr(models, schema["$ref"].split("/")[-1])
    parsed = model.model_validate_json(text)
    # Nothing of it is lost, nor made another.
    if not same(json.loads(parsed.model_dump_json(by_alias=True, exclude_unset=True)), json.loads(text)):
        sys.exit(f"{name}: another body than its model")
    return parsed


now = datetime.now(timezone.utc)
account = ask("operator", "createAccount", {"name": "walk", "entitlement": "enterprise"})
of = {"accountId": account.accountId}
ask("operator", "changeAccount", {"name": "walk"}, **of)
ask("operator", "readAccount", **of)
ask("operator", "listAccounts", query="?limit=1")
in_an_hour = datetime.now().astimezone() + timedelta(hours=1)
key = ask("operator", "createApiKey", {"name": "walk", "expiresAt": in_an_hour.isoformat()}, **of)
if abs(key.expiresAt - in_an_hour) > timedelta(milliseconds=1):
    sys.exit("createApiKey: another instant")
secrets["v1"] = ask("operator", "rotateApiKey", {"graceSeconds": 60}, keyId=key.keyId, **of).apiKey
ask("operator", "changeApiKey", {"expiresAt": (in_an_hour - timedelta(minutes=1)).isoformat()}, keyId=key.keyId, **of)
listed = ask("operator", "listApiKeys", **of).apiKeys
former = next(one.formerExpiresAt for one in listed if one.keyId == key.keyId)
ask("operator", "endFormerSecret", query=f"?formerExpiresAt={quote(former.isoformat())}", keyId=key.keyId, **of)

app = ask("v1", "createApp", {"name": "edge 1"})
second = ask("v1", "createApp")
ask("v1", "listApps")
ask("v1", "issueEnrollCode", appId=second.appId)
ask("v1", "storeOtelConfig", {"enabled": True, "endpoint": "https://otel.example.com", "evidenceLevel": "redacted"})
ask("v1", "storeOtelConfig", {"enabled": True, "endpoint": "https://user@otel.example.com"}, expected=400)
ask("v1", "readOtelConfig")
machine = {"appId": app.appId, "enrollCode": app.enrollCode, "connection": "cloud"}
enrolled = ask("device", "enrollDevice", machine)
secrets["device"] = enrolled.credential
config = ask("device", "pollConfig")
ask("device", "acknowledgeConfig", {"revision": config.revision, "status": "applied"})
evidence = {"hash": "sha256:9f86d081884c7d65", "redacted": "key=****"}
event = {"id": "walk-1", "at": now.isoformat(), "rule": "secrets", "severity": "high", "evidence": evidence}
ask("device", "reportDetections", {"events": [event]})
ask("v1", "readApp", appId=app.appId)

ask("operator", "listAccountApps", **of)
ask("operator", "changeAccountApp", {"adoptableBy": "walk/walk"}, appId=app.appId, **of)
reviews = ask("operator", "listReviewQueue", **of)
ask("operator", "decideReview", {"status": "confirmed"}, entryId=reviews.entries[0].entryId, **of)
ask("operator", "readRollout", **of)
ask("operator", "listAudit", query="?limit=2", **of)
for name in ("verifyAudit", "verifyServiceAudit", "listServiceAudit", "readKeys", "rotateKeys", "readRateLimits"):
    ask("operator", name, **of)
ask("operator", "readUsage", query=f"?month={now:%Y-%m}")
ask("operator", "readBackup")
ask("operator", "listRollouts", query="?by=pending&top=1")
ask("operator", "listResourceBindings", query="?limit=1")
ask("operator", "allowRecovery", {"namespace": "walk", "namespaceUid": "5f2b1c9e-0c4e-4f63-9a54-2d1c7b0e8a31"})
user = ask("operator", "createUser", {"login": "walk@example.com", "name": "walk"}).user
for name in ("listUsers", "listUserApiKeys", "resetUser"):
    ask("operator", name, userId=user.userId)
ask("operator", "changeUser", {"name": "walker"}, userId=user.userId)
ask("operator", "deleteUser", userId=user.userId)

ask("v1", "revokeApp", appId=app.appId)
ask("device", "pollConfig", expected=401)
ask("v1", "purgeOtelConfig")
ask("v1", "deleteApp", appId=second.appId)
ask("v1", "readApp", appId=second.appId, expected=404)
ask("operator", "revokeApiKey", keyId=key.keyId, **of)
ask("v1", "listApps", expected=401)
secrets["v1"] = Path(os.environ["MUSTER_BUSY_KEY_FILE"]).read_text(encoding="utf-8").strip()
ask("v1", "listApps", expected=429)
for api in URLS:
    missing = [name for owner, name in operations if owner == api and (owner, name) not in asked]
    print(f"{api}: not asked: {missing}" if missing else f"{api}: parsed an answer of each operation", flush=True)
