"""What schemathesis is told of Muster: records that exist, and the credential."""

import json
import os
import re
import unicodedata
import zlib

import schemathesis

# Ids of records that exist, by the name of the parameter.
KNOWN = json.loads(os.environ["FUZZ_IDS"])
SHAPES = {
    "appId": re.compile(r"[a-z0-9]{20}"),
    "accountId": re.compile(r"[a-z0-9]{16}"),
    "keyId": re.compile(r"[a-z0-9]{12}"),
    "entryId": re.compile(r"[a-z0-9]{20}-[0-9a-f]{32}"),
}

# What is part of a name: letters, digits, punctuation, symbols and blanks, but for those that are not seen.
SEEN = ("L", "N", "P", "S", "Zs")
UNSEEN = "\u115f\u1160\u2800\u3164\uffa0"


@schemathesis.auth()
class Bearer:
    """The credential comes by the environment: a process argument is seen by others."""

    def get(self, case, context):
        return os.environ["FUZZ_SECRET"]

    def set(self, case, data, context):
        case.headers = case.headers or {}
        case.headers["Authorization"] = f"Bearer {data}"


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Puts a real id in the place of half of those that have the shape of one; the same one each time, by its value."""
    for name, value in (path_parameters or {}).items():
        known = KNOWN.get(name)
        if known and isinstance(value, str) and SHAPES[name].fullmatch(value):
            chance = zlib.crc32(value.encode())
            if chance % 2:
                path_parameters[name] = known[chance // 2 % len(known)]
    return path_parameters


@schemathesis.hook
def map_headers(context, headers):
    """A held poll takes up to 50 seconds, in which nothing is learnt."""
    for name, value in list((headers or {}).items()):
        if name.lower() == "prefer" and "wait" in str(value):
            headers[name] = "wait=1"
    return headers


def is_of_name(character):
    return unicodedata.category(character).startswith(SEEN) and character not in UNSEEN


def is_of_login(character):
    return "!" <= character <= "~"


@schemathesis.hook
def map_body(context, body):
    """
    Puts an x in the place of what names of the operator API must not have: no schema can say that. The length stays, so
    that the schema's verdict is the same.
    """
    if not context.operation.path.startswith("/operator/") or not isinstance(body, dict):
        return body
    for field, is_sound in (("name", is_of_name), ("login", is_of_login)):
        value = body.get(field)
        if isinstance(value, str):
            named = "".join(character if is_sound(character) else "x" for character in value)
            body[field] = named if named == "" or named.strip() else "x" * len(named)
    return body
