import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AGENT_TOOLS } from '../../src/exchange/delivery/agents/tool-table.ts';
import { freePort } from '../../src/lib/free-port.ts';
import { samples } from '../support/deliveries.ts';
import { createFhirDoor, type FhirDoor } from '../support/fhir-door.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { hasPython, installPython, run } from './python.ts';

/** The Model Context Protocol's own Python SDK (PyPI). */
const CLIENT = 'mcp==2.3.0';
const PROGRAM = fileURLToPath(new URL('mcp-client.py', import.meta.url));

let folder: string;
let programs: string;
let door: FhirDoor;
let base: string;
beforeAll(async () => {
  if (!hasPython) return;
  folder = await makeTestFolder();
  programs = await installPython(folder, CLIENT);
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  door = await createFhirDoor({ publicBaseUrl: base });
  await door.gateway.app.listen({ host: '127.0.0.1', port });
});
afterAll(async () => {
  if (!hasPython) return;
  await door.close();
  await rm(folder, { recursive: true, force: true });
});

test.runIf(hasPython).each(['auto', 'legacy'])(
  'the Python SDK (connecting %s) lists our tools, gets a summary that fits its schema, and a clear error',
  { timeout: 300_000 },
  async (mode) => {
    const [sample] = samples;
    if (sample === undefined) throw new Error('there are no samples');
    const patientId = await door.addSample(sample);
    const key = await door.addKey(door.accountId, ['read']);
    const { stdout } = await run(join(programs, 'python'), [
      PROGRAM,
      `${base}/mcp`,
      key,
      patientId,
      mode,
    ]);
    const seen = JSON.parse(stdout);
    expect(seen.tools).toEqual(Object.keys(AGENT_TOOLS).sort());
    expect(JSON.stringify(seen.summary)).toContain('origins');
    expect(seen.wrong).toEqual([true, expect.stringContaining('patient_id')]);
  },
);
