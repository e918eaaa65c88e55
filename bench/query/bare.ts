import pg from 'pg';
import { Agent } from 'undici';
import type { SourceType } from '../../src/contract/primitives.ts';
import { DEMO_ACCOUNT_ID } from '../../src/exchange/operations/admin/seed.ts';
import type { Ends } from './ends.ts';
import { type Recording, replayCalls, replayStatements } from './recording.ts';

export interface BareInput {
  requestId: string;
  patientId: string;
  sample: string;
}

export interface SampleRecording {
  requestId: string;
  patientId: string;
  bySource: Record<SourceType, Recording>;
}

export type BareActivities = ReturnType<typeof createBareActivities>;

/**
 * The same source calls and SQL statements as our source steps, without
 * anything else.
 */
export function createBareActivities(deps: {
  pool: pg.Pool;
  recordings: ReadonlyMap<string, SampleRecording>;
  ends: Ends;
}) {
  const dispatcher = new Agent();
  const askBare = async (
    input: BareInput & { source: SourceType },
  ): Promise<void> => {
    const recorded = deps.recordings.get(input.sample);
    if (recorded === undefined) throw new Error('Nothing was recorded');
    const { calls, statements } = recorded.bySource[input.source];
    await replayCalls(calls, dispatcher);
    const ids = new Map([
      [recorded.requestId, input.requestId],
      [recorded.patientId, input.patientId],
      [DEMO_ACCOUNT_ID, DEMO_ACCOUNT_ID],
    ]);
    await replayStatements(statements, deps.pool, ids);
  };
  return { askBare: deps.ends.noting(askBare, () => true) };
}

export function createBarePool(databaseUrl: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 20 });
  // The database stops while the last idle connections are still closing.
  pool.on('error', () => undefined);
  return pool;
}
