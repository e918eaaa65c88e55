import { mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { Payload, PayloadCodec } from '@temporalio/common';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { HISTORIES, historyToText } from './histories.ts';

/**
 * Stores a workflow's history as the fixture `name`, its payloads re-encrypted from the key it ran with to the
 * tests' key, without the name of the machine. Refuses to overwrite: a changed workflow gets a new version.
 */
export async function saveHistory(
  client: Client,
  workflowId: string,
  name: string,
  codecs: { from: PayloadCodec; to: PayloadCodec },
): Promise<string> {
  if (!/^[a-z-]+\/[a-z-]+-v\d+$/.test(name))
    throw new Error(`"${name}" is not of the form <workflow>/<scenario>-v<number>`);
  const history = await client.workflow.getHandle(workflowId).fetchHistory();
  const text = historyToText((await cleanCopy(history, codecs)) as History);
  const file = join(HISTORIES, `${name}.json`);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${text}\n`, { flag: 'wx' });
  return file;
}

/** A copy in which every payload, wherever it stands, is encrypted with the other codec, and no machine is named. */
async function cleanCopy(value: unknown, codecs: { from: PayloadCodec; to: PayloadCodec }): Promise<unknown> {
  if (typeof value === 'string') return value.replaceAll(hostname(), 'host');
  if (Array.isArray(value)) return Promise.all(value.map((member) => cleanCopy(member, codecs)));
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  if (isEncrypted(value)) return (await codecs.to.encode(await codecs.from.decode([value])))[0];
  const copy = Object.create(Object.getPrototypeOf(value));
  for (const [key, member] of Object.entries(value)) copy[key] = await cleanCopy(member, codecs);
  return copy;
}

/** Search attributes are payloads too, and stay as they are. */
const isEncrypted = (value: object): value is Payload =>
  'metadata' in value &&
  typeof value.metadata === 'object' &&
  value.metadata !== null &&
  'encryption-key-id' in value.metadata;
