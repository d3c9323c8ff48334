"""The API's own page, from its OpenAPI description alone: no script, no font and no CDN."""

from __future__ import annotations

from html import escape
from typing import Any

STYLE_POLICY = (
    "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'self'"
)
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">\
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Rollscope API</title>\
<link rel="icon" href="{web}icon.svg"><link rel="stylesheet" href="{web}tokens.css">\
<link rel="stylesheet" href="{web}pages.css"></head><body class="reference"><main>\
<h1>Rollscope API</h1><p class='prose ink2'>Version {version}. Everything the pages show comes from here. \
The description itself: <a href='{description}'>openapi.json</a>. \
Every error is <code>{{"error": kind, "says": sentence}}</code>; an unknown parameter is a 400 that names it.</p>\
{operations}</main></body></html>"""
OPERATION = """<section><h2><code>{method}</code> {path}</h2><p class='read prose'>{text}</p>{table}</section>"""


def page(api: dict[str, Any], web: str, description: str) -> str:
    """The page of an OpenAPI description; `web` and `description` are relative addresses."""
    operations = [
        _operation(path, method, operation)
        for path, methods in api["paths"].items()
        for method, operation in methods.items()
    ]
    version = escape(api["info"]["version"])
    return PAGE.format(web=web, version=version, description=description, operations="".join(operations))


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    text = escape(operation.get("description") or operation.get("summary") or "")
    rows = [_parameter(parameter) for parameter in operation.get("parameters", [])]
    rows += [_row(media, "body", schema) for media, schema in _body(operation)]
    table = f"<table><tbody>{''.join(rows)}</tbody></table>" if rows else ""
    return OPERATION.format(method=method.upper(), path=escape(path), text=text, table=table)


def _parameter(parameter: dict[str, Any]) -> str:
    needed = " (needed)" if parameter.get("required") else ""
    return _row(parameter["name"], parameter["in"], _type(parameter.get("schema", {})) + needed)


def _row(name: str, where: str, type_: str) -> str:
    return f"<tr><td><code>{escape(name)}</code></td><td>{escape(where)}</td><td>{escape(type_)}</td></tr>"


def _type(schema: dict[str, Any]) -> str:
    if schema.get("type"):
        return str(schema["type"])
    alternatives = [str(one.get("type", "")) for one in schema.get("anyOf", [])]
    return ", ".join(alternatives or map(str, schema.get("enum", [])))


def _body(operation: dict[str, Any]) -> list[tuple[str, str]]:
    """Media type and schema name of each body that an operation takes."""
    content = operation.get("requestBody", {}).get("content", {})
    return [(media, part.get("schema", {}).get("$ref", "").rsplit("/", 1)[-1]) for media, part in content.items()]
