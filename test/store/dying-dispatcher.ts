import type { Client } from '@temporalio/client';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { createDeliveries } from '../support/events-environment.ts';

/** A process that sends committed events until it is killed. */
const [databaseUrl = '', accountId = '', eventIds = ''] = process.argv.slice(2);
const { webhookDispatcher } = createDeliveries(
  createStore({ databaseUrl }),
  undefined as unknown as Client,
);
webhookDispatcher.send(accountId, eventIds.split(','));
await webhookDispatcher.drain();
