import { createHash } from 'node:crypto';
import { getGlobalDispatcher } from 'undici';
import {
  type BulkExports,
  createBulkExports,
  type ExportManifest,
  type ExportState,
} from '../../../src/starter/target/bulk-exports.ts';
import type { StackAccount, TestStack } from '../../support/stack.ts';
import { until } from '../kill/until.ts';

/** What an export gave. */
export interface Exported {
  /**
   * `output Condition Condition.1.ndjson 120 <hash of its bytes>`, in the order
   * of the manifest.
   */
  files: string[];
  /** `Condition/<id>` of each line of the output. */
  resources: string[];
}

/** The bulk exports of the account, by the starter's client. */
export const exportsOf = (
  { connection }: TestStack,
  { apiKey }: StackAccount,
): BulkExports =>
  createBulkExports({
    baseUrl: connection.baseUrl,
    apiKey,
    dispatcher: getGlobalDispatcher(),
  });

/** Waits for the manifest of an export. */
export async function manifestOf(
  exports: BulkExports,
  exportId: string,
  timeoutMs: number,
): Promise<ExportManifest> {
  const states: ExportState[] = [];
  const hasEnded = async () => {
    states.unshift(await exports.read(exportId));
    return states[0]?.status !== 'running';
  };
  await until(hasEnded, { timeoutMs, everyMs: 250 });
  const [state] = states;
  if (state?.status !== 'completed')
    throw new Error(`not completed: ${JSON.stringify(state)}`);
  return state.manifest;
}

/** Downloads all files of an export. */
export async function download(
  exports: BulkExports,
  exportId: string,
  manifest: ExportManifest,
): Promise<Exported> {
  const exported: Exported = { files: [], resources: [] };
  for (const kind of ['output', 'deleted', 'error'] as const)
    for (const { type, url, count } of manifest[kind]) {
      const name = url.split('/').at(-1) ?? '';
      const text = await textOf(
        await exports.download(exportId, name, AbortSignal.timeout(240_000)),
      );
      const hash = createHash('sha256').update(text).digest('hex');
      exported.files.push([kind, type, name, count, hash].join(' '));
      if (kind !== 'output') continue;
      for (const line of text.split('\n').slice(0, -1)) {
        const { resourceType, id } = JSON.parse(line) as {
          resourceType: string;
          id: string;
        };
        exported.resources.push(`${resourceType}/${id}`);
      }
    }
  return exported;
}

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
