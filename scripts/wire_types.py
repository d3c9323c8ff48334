"""Write web/wire/types.gen.d.ts from the OpenAPI description: `python scripts/wire_types.py`.

`--check` writes nothing and exits with 1 if the file is out of date; a test does the same.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "src/rollscope/web/wire/types.gen.d.ts"
HEAD = "/* Written by scripts/wire_types.py from the OpenAPI description; not to be edited. */\n\n"
SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def typescript(schema: dict[str, Any]) -> str:
    """One schema as a TypeScript type."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(typescript(s) for s in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " | ".join(repr(v).replace("'", '"') for v in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        inner = typescript(schema.get("items", {}))
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if schema.get("type") == "object":
        extra = schema.get("additionalProperties")
        return f"Record<string, {typescript(extra) if isinstance(extra, dict) else 'any'}>"
    return SIMPLE.get(schema.get("type", ""), "any")


def interface(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    doc = f"/** {schema['description'].splitlines()[0]} */\n" if schema.get("description") else ""
    fields = [(key if key in required else f"{key}?", part) for key, part in schema.get("properties", {}).items()]
    lines = "".join(f"  {key}: {typescript(part)};\n" for key, part in fields)
    return f"{doc}export interface {name} {{\n{lines}}}\n"


def text() -> str:
    from rollscope.server.app import application

    schemas = application(".").openapi()["components"]["schemas"]
    objects = [(name, schema) for name, schema in sorted(schemas.items()) if schema.get("type") == "object"]
    return HEAD + "\n".join(interface(name, schema) for name, schema in objects)


def main() -> int:
    if "--check" in sys.argv:
        return 0 if TARGET.read_text() == text() else 1
    TARGET.write_text(text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
