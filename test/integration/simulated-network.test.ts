import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SourcePage } from '../../src/exchange/sources/connectors/connector.ts';
import { createIheConnector } from '../../src/exchange/sources/connectors/ihe/ihe-connector.ts';
import { iheSettingsSchema } from '../../src/exchange/sources/connectors/ihe/ihe-settings.ts';
import { SIMULATED_GATEWAY } from '../../src/local-stack/simulator/protocol.ts';
import { loadCcda } from '../../tools/simulator/samples.ts';
import { personOf } from '../support/deliveries.ts';
import {
  sample,
  startTestSimulator,
  type TestSimulator,
} from '../support/simulator.ts';

// Two hands wrote the connector and the simulated gateway: do they understand
// each other?

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator();
});
afterAll(() => simulator?.close());

test('the simulated gateway knows a sample patient and gives out the exact bytes of the summary', async () => {
  const { url } = simulator;
  const { discovery, query, retrieve, homeCommunity } = SIMULATED_GATEWAY;
  const connector = createIheConnector(
    { source: 'hie', baseUrl: `${url}${discovery}`, auth: { kind: 'none' } },
    iheSettingsSchema.parse({
      queryUrl: `${url}${query}`,
      retrieveUrl: `${url}${retrieve}`,
      homeCommunity,
      ownHomeCommunity: '2.999.1',
    }),
  );
  const { signal } = new AbortController();
  const begun = await connector.begin(personOf(sample()), {}, signal);
  if (begun.kind !== 'ready') throw new Error(`the gateway said ${begun.kind}`);
  const pages: SourcePage[] = [];
  for await (const page of begun.pages) pages.push(page);
  const files = pages.flatMap(({ attachments }) => attachments);
  const summary = loadCcda(sample());
  expect(files.some(({ bytes }) => bytes.equals(summary))).toBe(true);
  expect(pages.map(({ skippedAttachments }) => skippedAttachments)).toEqual(
    pages.map(() => 0),
  );
  expect(pages.at(-1)?.next).toBeNull();
});
