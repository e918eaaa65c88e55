// Asks the exchange about a patient, as an agent does, and prints an answer
// with its sources (docs/agents.md): MDX_API_KEY=mdx_… node
// examples/agent/ask.mjs <gateway>/mcp Kiehn An agent would give
// `statements` to its model. This one prints the first of each section.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [url, name] = process.argv.slice(2);
const { MDX_API_KEY: key } = process.env;
if (url === undefined || name === undefined || key === undefined) {
  console.error(
    'Usage: MDX_API_KEY=mdx_… node examples/agent/ask.mjs <address of /mcp> <name of a patient>',
  );
  process.exit(2);
}
const client = new Client({ name: 'ask', version: '1.0.0' });
const headers = { authorization: `Bearer ${key}` };
await client.connect(
  new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
);
// The client checks results against the schemas of this list.
await client.listTools();

/**
 * The structured content of a tool's result; an error of the tool ends the
 * program with its text.
 */
async function ask(tool, args) {
  const { isError, content, structuredContent } = await client.callTool({
    name: tool,
    arguments: args,
  });
  if (!isError) return structuredContent;
  console.error(content[0].text);
  process.exit(1);
}

const { patients } = await ask('find_patient', { name });
if (patients.length !== 1) {
  console.log(
    `${patients.length} patients have this name; say more about the one you mean.`,
  );
  process.exit(patients.length === 0 ? 1 : 0);
}
const [{ patient_id }] = patients;
const { statements, completeness } = await ask('patient_summary', {
  patient_id,
});
const sections = new Map(
  statements.map((statement) => [statement.section, statement]).reverse(),
);
for (const [section, { says, urls, origins }] of [...sections].reverse()) {
  console.log(`${section}: ${says}`);
  for (const { source, document_date, received_at, document_url } of origins)
    console.log(
      `    from ${source}, ${document_date ?? `received ${received_at}`} ${document_url ?? urls[0]}`,
    );
}
console.log(`\n${completeness.says}`);
await client.close();
