"""The API's own page, made from its OpenAPI description with nothing from anywhere else: no script, no font, no CDN."""

from __future__ import annotations

from html import escape
from typing import Any

STYLE_POLICY = (
    "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'self'"
)


def page(description: dict[str, Any], web: str) -> str:
    parts = [
        _operation(path, method, op) for path, methods in description["paths"].items() for method, op in methods.items()
    ]
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Rollscope API</title><link rel="icon" href="{web}icon.svg"><link rel="stylesheet" href="{web}tokens.css"><link rel="stylesheet" href="{web}pages.css"></head>'
    intro = f"<h1>Rollscope API</h1><p class='prose ink2'>Version {escape(description['info']['version'])}. Everything the pages show comes from here. The description itself: <a href='openapi.json'>openapi.json</a>. Every error is <code>{{\"error\": kind, \"says\": sentence}}</code>; an unknown parameter is a 400 that names it.</p>"
    return f'{head}<body class="reference"><main>{intro}{"".join(parts)}</main></body></html>'


def _operation(path: str, method: str, op: dict[str, Any]) -> str:
    text = escape(op.get("description") or op.get("summary") or "")
    rows = "".join(_parameter(p) for p in op.get("parameters", []))
    rows += "".join(
        f"<tr><td><code>{escape(t)}</code></td><td>body</td><td>{escape(str(s))}</td></tr>" for t, s in _body(op)
    )
    table = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    return f"<section><h2><code>{method.upper()}</code> {escape(path)}</h2><p class='read prose'>{text}</p>{table}</section>"


def _parameter(p: dict[str, Any]) -> str:
    schema = p.get("schema", {})
    kind = (
        schema.get("type")
        or ", ".join(str(s.get("type", "")) for s in schema.get("anyOf", []))
        or ", ".join(map(str, schema.get("enum", [])))
    )
    return f"<tr><td><code>{escape(p['name'])}</code></td><td>{escape(p['in'])}</td><td>{escape(str(kind))}{' (needed)' if p.get('required') else ''}</td></tr>"


def _body(op: dict[str, Any]) -> list[tuple[str, str]]:
    content = op.get("requestBody", {}).get("content", {})
    return [(media, part.get("schema", {}).get("$ref", "").rsplit("/", 1)[-1]) for media, part in content.items()]
