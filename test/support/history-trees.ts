import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { PayloadCodec } from '@temporalio/common';
import { inject } from 'vitest';
import { History } from '../../src/temporal/proto.ts';
import { textOf } from './scan-temporal.ts';

/** A history as the server's database has it, with or without its run. */
export interface HistoryTree {
  hasRun: boolean;
  /** Its events as text to search. */
  text: string;
}

const SCRIPT = `
import base64, json, sqlite3, sys
database = sqlite3.connect(sys.argv[1], timeout=60)
runs = {run for (run,) in database.execute('select run_id from executions')}
trees = database.execute('select tree_id from history_tree where instr(data, ?) > 0', (sys.argv[2].encode(),))
for (tree,) in trees.fetchall():
    nodes = database.execute('select data from history_node where tree_id = ?', (tree,)).fetchall()
    print(json.dumps({'hasRun': tree in runs, 'nodes': [base64.b64encode(node).decode() for (node,) in nodes]}))
`;

/**
 * The histories that the run's Temporal server holds of a workflow
 * (`allHistoryTrees`).
 */
export const historyTreesOf = (
  workflowId: string,
  codec?: PayloadCodec,
): Promise<HistoryTree[]> =>
  allHistoryTrees(inject('temporalDatabase'), { workflowId, codec });

/**
 * The histories that a Temporal server holds, also those that belong to no run,
 * which no call to the server shows. Read from its database.
 *
 * @param database the file of the server's SQLite database
 */
export async function allHistoryTrees(
  database: string,
  { workflowId = '', codec }: { workflowId?: string; codec?: PayloadCodec },
): Promise<HistoryTree[]> {
  const { stdout } = await promisify(execFile)(
    'python3',
    ['-c', SCRIPT, database, workflowId],
    { maxBuffer: 100_000_000 },
  );
  const trees = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { hasRun: boolean; nodes: string[] });
  return Promise.all(
    trees.map(async ({ hasRun, nodes }) => {
      const batches = nodes.map((node) =>
        History.decode(Buffer.from(node, 'base64')),
      );
      return { hasRun, text: await textOf(batches, codec) };
    }),
  );
}
