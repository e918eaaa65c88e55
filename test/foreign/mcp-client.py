"""Asks for a patient as an agent's runtime does: tools, a patient, the summary, then wrong arguments. Prints what it saw as JSON."""

import asyncio
import json
import sys

from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


async def main(url: str, bearer: str, patient_id: str, mode: str) -> None:
    async with create_mcp_http_client(headers={"authorization": f"Bearer {bearer}"}) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            tools = (await client.list_tools()).tools
            # The client checks each result against the schema that the tool states.
            summary = await client.call_tool("patient_summary", {"patient_id": patient_id})
            wrong = await client.call_tool("patient_summary", {"patient_id": "x"})
            seen = {
                "protocol": client.protocol_version,
                "tools": sorted(tool.name for tool in tools),
                "summary": summary.structured_content,
                "wrong": [wrong.is_error, wrong.content[0].text],
            }
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
