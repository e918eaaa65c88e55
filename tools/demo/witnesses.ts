import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { request } from 'undici';
import { z } from 'zod';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../src/contract/primitives.ts';
import type { RequestLogEntry } from '../simulator/request-log.ts';
import { expectedEnd, INCIDENTS } from './scenario.ts';

/** One line of the webhook receiver's log. */
const receivedSchema = z.object({
  messageId: z.string(),
  type: z.string(),
  requestId: z.string().optional(),
  repeat: z.boolean(),
  signalled: z.boolean(),
});
export type Received = z.infer<typeof receivedSchema>;

export async function readReceiverLog(dataDir: string): Promise<Received[]> {
  const text = await readFile(
    join(dataDir, 'logs', 'received-webhooks.jsonl'),
    'utf8',
  ).catch(() => '');
  const lines = text.split('\n').filter(Boolean);
  return lines.map((line) => receivedSchema.parse(JSON.parse(line)));
}

/** Results of one patient, for the checks and for the table at the end. */
export interface PatientFacts {
  sample: string;
  requestId: string;
  sources: { type: SourceType; status: string; attempts: number }[];
  consolidatedDataUrl?: string;
}

/**
 * Returns the number of resources in the record that a webhook's link leads to.
 */
export async function countMerged(url: string | undefined): Promise<number> {
  if (url === undefined) return 0;
  const answer = await request(url);
  const bundle = z
    .object({ entry: z.array(z.unknown()).default([]) })
    .parse(await answer.body.json());
  return bundle.entry.length;
}

/**
 * Compares the results with the logs of the sources and of the receiver, which
 * do not depend on the exchange. Returns all differences; empty when the demo
 * succeeded.
 */
export function findFaults(
  facts: readonly PatientFacts[],
  requests: readonly RequestLogEntry[],
  received: readonly Received[],
): string[] {
  const of = (sample: string, source: SourceType) =>
    requests.filter(
      (entry) => entry.sample === sample && entry.source === source,
    );
  return [
    ...INCIDENTS.flatMap(({ sample, source, title, proof }) => {
      const missing = proof(of(sample, source));
      return missing === undefined
        ? []
        : [`${source} of ${sample} (${title}): ${missing}`];
    }),
    ...facts.flatMap((patient) =>
      SOURCE_TYPES.flatMap((source) =>
        checkEnd(patient, source, of(patient.sample, source)),
      ),
    ),
    ...facts.flatMap((patient) =>
      SOURCE_TYPES.flatMap((source) =>
        checkWebhooks(patient, source, received),
      ),
    ),
  ];
}

/**
 * Checks that the source returned data exactly when it should, and that the
 * exchange reports the expected outcome.
 */
function checkEnd(
  patient: PatientFacts,
  type: SourceType,
  log: readonly RequestLogEntry[],
): string[] {
  const expected = expectedEnd(patient.sample, type);
  const shown = patient.sources.find((source) => source.type === type);
  const knows = !log.some(({ fault }) => fault === 'unknown-patient');
  const served = log.some(
    ({ status, operation }) =>
      status === 200 &&
      ['everything', 'search', 'job', 'page'].includes(operation),
  );
  const where = `${type} of ${patient.sample}`;
  return [
    ...(served === (expected.outcome === 'completed' && knows)
      ? []
      : [
          `${where}: expected ${served ? 'no data' : 'data'}, but data was ${served ? '' : 'not '}returned`,
        ]),
    ...(shown?.status === expected.outcome
      ? []
      : [
          `${where}: expected ${expected.outcome}, got ${shown?.status ?? 'nothing'}`,
        ]),
    ...(shown?.attempts === expected.attempts
      ? []
      : [
          `${where}: expected attempts: ${expected.attempts}, got ${shown?.attempts ?? 0}`,
        ]),
  ];
}

/**
 * Checks that each source led to exactly one webhook, and that the receiver
 * signalled the waiting workflow.
 */
function checkWebhooks(
  patient: PatientFacts,
  source: SourceType,
  received: readonly Received[],
): string[] {
  const messages = received.filter(
    ({ requestId, type, repeat }) =>
      requestId === patient.requestId &&
      type === `network-query.${source}` &&
      !repeat,
  );
  const where = `webhook of ${source} of ${patient.sample}`;
  if (messages.length !== 1)
    return [`${where}: expected one message, got ${messages.length}`];
  return messages.every(({ signalled }) => signalled)
    ? []
    : [`${where}: no workflow was signalled`];
}
