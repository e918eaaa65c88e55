import { mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { HISTORIES, historyToText } from './histories.ts';

/**
 * Stores a workflow's history as the fixture `name`, without the name of the
 * machine. Refuses to overwrite: a changed workflow gets a new version.
 */
export async function saveHistory(
  client: Client,
  of: { workflowId: string; runId?: string },
  name: string,
): Promise<string> {
  if (!/^[a-z-]+\/[a-z-]+-v\d+$/.test(name))
    throw new Error(
      `"${name}" is not of the form <workflow>/<scenario>-v<number>`,
    );
  const history = await client.workflow
    .getHandle(of.workflowId, of.runId)
    .fetchHistory();
  const text = historyToText(withoutHost(history) as History);
  const file = join(HISTORIES, `${name}.json`);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${text}\n`, { flag: 'wx' });
  return file;
}

function withoutHost(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(hostname(), 'host');
  if (Array.isArray(value)) return value.map(withoutHost);
  if (
    typeof value !== 'object' ||
    value === null ||
    value instanceof Uint8Array
  )
    return value;
  const copy = Object.create(Object.getPrototypeOf(value));
  for (const [key, member] of Object.entries(value))
    copy[key] = withoutHost(member);
  return copy;
}
