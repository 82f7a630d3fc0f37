"""Asks each tool of `systole mcp` through the official Python client; run by scripts/mcp-tests."""

import asyncio
import base64
import json
import sys

import jsonschema
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

RUN = "synthetic_v5e_8chip_recompile.xplane.pb"
CALLS = [
    ("open", {"path": RUN}),
    ("verdict", {"path": RUN}),
    ("hints", {"path": RUN}),
    ("explain", {"hint": "K36"}),
    ("report", {"path": RUN, "report": "compile"}),
    ("ops", {"path": RUN, "steps": "2"}),
    ("steps", {"path": RUN}),
    ("events", {"path": RUN, "kind": ["ops"], "group_by": ["name"]}),
    ("hlo", {"path": RUN}),
    ("compare", {"base": "synthetic_v5e_8chip_serial.xplane.pb", "cand": "synthetic_v5e_8chip_overlap.xplane.pb"}),
    ("what_if", {"path": RUN, "no_recompile": True}),
    ("query", {"path": RUN, "sql": "top-ops"}),
    ("doctor", {"path": RUN}),
]


def field(value, snake, camel):
    """A field of a model, which newer clients name in snake case."""
    return getattr(value, snake, None) if hasattr(value, snake) else getattr(value, camel)


async def main(program, root):
    parameters = StdioServerParameters(command=program, args=["mcp", "--root", root])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        assert "verdict" in hello.instructions, hello
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        for name, arguments in CALLS:
            result = await session.call_tool(name, arguments)
            assert not field(result, "is_error", "isError"), (name, result)
            answer = field(result, "structured_content", "structuredContent")
            jsonschema.validate(arguments, field(tools[name], "input_schema", "inputSchema"))
            size = len(json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode())
            assert size <= 20_000 and len(result.content[0].text) < 700, (name, size)
            print(f"{name}: {answer['shown']} of {answer['total']} rows, {size} bytes")
        picture = await session.call_tool("render", {"path": RUN, "steps": "2"})
        assert base64.b64decode(picture.content[0].data).startswith(b"\x89PNG\r\n\x1a\n")
        refused = await session.call_tool("verdict", {"path": "/etc/passwd"})
        assert field(refused, "is_error", "isError") and "only files below" in refused.content[0].text
    print("Python client: passed")


asyncio.run(main(*sys.argv[1:]))
