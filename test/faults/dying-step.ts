import { EventEmitter } from 'node:events';
import { ApplicationFailure } from '@temporalio/activity';
import { createSourceActivities } from '../../src/activities/exchange/network-query.ts';
import type { SourceStepInput } from '../../src/contract/network-query-workflow.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { createStartGuard } from '../../src/exchange/platform/recovery/start-guard.ts';
import type { SourceConnector } from '../../src/exchange/sources/connectors/connector.ts';
import { createSourceHealth } from '../../src/exchange/sources/health/source-health.ts';
import { runActivity } from '../support/network-query-environment.ts';

/**
 * A process that asks a source whose answer ends it, as an error event without
 * a listener does.
 */
const [databaseUrl = '', step = ''] = process.argv.slice(2);
const store = createStore({ databaseUrl, poolMax: 2 });
const deadly = {
  begin: () => {
    setImmediate(() =>
      new EventEmitter().emit('error', new Error('not listened to')),
    );
    return new Promise(() => undefined);
  },
} as unknown as SourceConnector;
const { askSource } = createSourceActivities({
  store,
  blobs: undefined as never,
  records: undefined as never,
  connectors: { hie: deadly, pharmacy: deadly, lab: deadly },
  callbackBaseUrl: () => undefined,
  callbackKey: 'callback-key-of-the-tests-only',
  startGuard: createStartGuard(store),
  sourceHealth: createSourceHealth(store),
});
await runActivity(askSource, JSON.parse(step) as SourceStepInput).catch(
  (error: unknown) => {
    if (!(error instanceof ApplicationFailure)) throw error;
    console.log(
      JSON.stringify({
        type: error.type,
        nonRetryable: error.nonRetryable,
        message: error.message,
      }),
    );
  },
);
await store.close();
