// Runs two views over an account's records as Parquet, and asks DuckDB about
// them (docs/analytics.md):
//
// BASE=<gateway>/fhir/R4 KEY=mdx_… node
// examples/views/active-conditions.mjs
//
// The patients are a ready-made view; the conditions a ViewDefinition of our
// own.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DuckDBInstance } from '@duckdb/node-api';

const { BASE, KEY } = process.env;
const CONDITIONS = {
  resourceType: 'ViewDefinition',
  name: 'active_conditions',
  status: 'active',
  resource: 'Condition',
  where: [{ path: "clinicalStatus.coding.where(code = 'active').exists()" }],
  select: [
    {
      column: [
        { name: 'patient_id', path: 'subject.getReferenceKey(Patient)' },
        {
          name: 'condition',
          path: 'iif(code.text.exists(), code.text, code.coding.display.first())',
        },
      ],
    },
  ],
};

async function call(url, init = {}) {
  const headers = {
    'x-api-key': KEY,
    'content-type': 'application/fhir+json',
    prefer: 'respond-async',
  };
  const response = await fetch(url, { ...init, headers });
  if (response.ok) return response;
  const { issue } = await response.json();
  console.error(issue.map(({ diagnostics }) => diagnostics).join('\n'));
  process.exit(1);
}

const view = (name, value) => ({ name: 'view', part: [{ name, ...value }] });
const started = await call(`${BASE}/ViewDefinition/$viewdefinition-export`, {
  method: 'POST',
  body: JSON.stringify({
    resourceType: 'Parameters',
    parameter: [
      view('viewReference', {
        valueReference: { reference: 'ViewDefinition/patients' },
      }),
      view('viewResource', { resource: CONDITIONS }),
      { name: '_format', valueCode: 'parquet' },
    ],
  }),
});
const status = started.headers.get('content-location');
let answer = await call(status);
for (; answer.status === 202; answer = await call(status)) await sleep(500);

const folder = await mkdtemp(join(tmpdir(), 'views-'));
for (const { url } of (await answer.json()).output)
  await writeFile(
    join(folder, url.split('/').at(-1)),
    Buffer.from(await (await call(url)).arrayBuffer()),
  );
const database = await DuckDBInstance.create(':memory:');
const connection = await database.connect();
const reader = await connection.runAndReadAll(`
  select c.condition, count(distinct p.id)::int as patients
  from '${folder}/active_conditions.*.parquet' c join '${folder}/patients.*.parquet' p on p.id = c.patient_id
  group by all order by patients desc, condition limit 10`);
for (const { condition, patients } of reader.getRowObjects())
  console.log(`${patients} ${condition}`);
connection.closeSync();
database.closeSync();
await rm(folder, { recursive: true });
