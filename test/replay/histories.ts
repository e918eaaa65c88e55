import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { History as RunHistory } from '@temporalio/common/lib/proto-utils.js';
import { History } from '../../src/temporal/proto.ts';

export const HISTORIES = fileURLToPath(
  new URL('./histories/', import.meta.url),
);

/**
 * A history as text: enums by name, bytes in base64. Not the SDK's
 * `historyToJSON`, which refuses to work where npm installs two copies of
 * protobufjs, as it does here.
 */
export const historyToText = (history: RunHistory): string =>
  JSON.stringify(
    History.toObject(History.fromObject(history), {
      longs: String,
      enums: String,
      bytes: String,
    }),
    null,
    1,
  );

export interface RecordedHistory {
  /** `<workflow>/<scenario>-v<n>` */
  name: string;
  workflowType: string;
  workflowId: string;
  runId: string;
  history: RunHistory;
}

/**
 * All recorded histories. They are fixtures: a change of workflow code never
 * changes one, it adds a version.
 */
export async function loadHistories(): Promise<RecordedHistory[]> {
  const files = (await readdir(HISTORIES, { recursive: true }))
    .filter((file) => file.endsWith('.json'))
    .sort();
  return Promise.all(
    files.map(async (file) => {
      const history = History.fromObject(
        JSON.parse(await readFile(join(HISTORIES, file), 'utf8')),
      );
      const started =
        history.events?.[0]?.workflowExecutionStartedEventAttributes;
      return {
        name: file.replaceAll('\\', '/').replace(/\.json$/, ''),
        workflowType: started?.workflowType?.name ?? '',
        workflowId: started?.workflowId ?? '',
        runId: started?.originalExecutionRunId ?? '',
        history,
      };
    }),
  );
}
