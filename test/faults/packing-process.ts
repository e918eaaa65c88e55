import { setTimeout as sleep } from 'node:timers/promises';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { packingRecovery } from '../../src/exchange/records/packing/packing.ts';

/** A process that moves contents as `reconcile` does, until it is killed. */
const [databaseUrl = '', name = ''] = process.argv.slice(2);
const recovery = packingRecovery(
  createStore({ databaseUrl, poolMax: 2, name }),
);
for (;;) {
  const round = {
    limit: 500,
    signal: AbortSignal.timeout(240_000),
    recheckBefore: new Date(),
  };
  // PostgreSQL is away for a moment when one of its sessions was killed.
  const taken = await recovery.takeUp(round).catch(() => undefined);
  if (taken?.isBehind !== true) await sleep(50);
}
