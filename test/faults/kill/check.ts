import { isDeepStrictEqual } from 'node:util';
import type { RequestLogEntry } from '../../../tools/simulator/request-log.ts';
import {
  callGateway,
  type Received,
  type StackAccount,
  type TestStack,
} from '../../support/stack.ts';
import type { PersonOutcome } from './outcome.ts';
import type { Workload } from './workload.ts';

/** Where what came of the persons is not what comes of them undisturbed. */
export function checkOutcome(
  expected: Record<string, PersonOutcome>,
  actual: Record<string, PersonOutcome>,
): string[] {
  const keys = new Set([...Object.keys(expected), ...Object.keys(actual)]);
  return [...keys].flatMap((key) =>
    isDeepStrictEqual(expected[key], actual[key])
      ? []
      : [
          `${key}: expected ${JSON.stringify(expected[key])}, got ${JSON.stringify(actual[key])}`,
        ],
  );
}

/**
 * What has to come of the persons in a run whose sources saw these requests.
 * The source that fails its first job, and only that, shows this to nobody when
 * the kill took the job's handle with it: then the next job is attempt 1.
 */
export function expectedIn(
  { sample, source }: { sample: string; source: string },
  undisturbed: Record<string, PersonOutcome>,
  requests: readonly RequestLogEntry[],
): Record<string, PersonOutcome> {
  const isShown = requests.some(
    (entry) =>
      entry.sample === sample &&
      entry.source === source &&
      entry.operation === 'job' &&
      entry.status >= 400,
  );
  const person = undisturbed[sample];
  if (isShown || person === undefined) return undisturbed;
  const withoutFirst = (lines: string[]) =>
    lines
      .filter((line) => !line.includes(`${source}/1`))
      .map((line) => line.replace(`${source}/2`, `${source}/1`));
  const queries = person.queries.map((query) => ({
    ...query,
    attempts: withoutFirst(query.attempts),
    events: withoutFirst(query.events),
    told: withoutFirst(query.told),
  }));
  return { ...undisturbed, [sample]: { ...person, queries } };
}

/**
 * Every answer given still stands, and its call made again under the same key
 * does nothing but give it again.
 */
export async function checkAnswers(
  { connection }: TestStack,
  account: StackAccount,
  { calls }: Workload,
): Promise<string[]> {
  const faults = await Promise.all(
    calls.map(async ({ path, body, idempotencyKey, answer }) => {
      const again = await callGateway(connection, account, 'POST', path, {
        body,
        idempotencyKey,
      });
      return again.headers['idempotent-replayed'] === 'true' &&
        isDeepStrictEqual(again.body, answer.body)
        ? []
        : [`POST ${path} again: ${again.status}, not the first answer`];
    }),
  );
  return faults.flat();
}

/**
 * Everything the account was promised is in the database: ids that answers and
 * summaries named.
 */
export async function checkPromised(
  { rows }: TestStack,
  { accountId }: StackAccount,
  { calls, onboardings }: Workload,
): Promise<string[]> {
  const named = [
    ...calls.map(
      ({ answer: { body } }) => body.networkQuery?.requestId ?? body.requestId,
    ),
    ...onboardings.flatMap(({ summary }) => summary.requestIds),
  ].filter((id) => id !== undefined);
  const there = await rows<{ id: string }>(
    'select id from network_query where account_id = $1',
    [accountId],
  );
  const known = new Set(there.map(({ id }) => id));
  return [
    ...named
      .filter((id) => !known.has(id))
      .map((id) => `query ${id} was answered and is not there`),
    ...[...known]
      .filter((id) => !named.includes(id))
      .map((id) => `query ${id} was never asked for`),
  ];
}

export interface WebhookFacts {
  faults: string[];
  /** Deliveries beyond the first of each message. */
  repeats: number;
}

/**
 * One message for one fact at the receiver, the events of one patient in their
 * order, repeats under the same id.
 */
export async function checkWebhooks(
  { rows, received }: TestStack,
  { accountId }: StackAccount,
): Promise<WebhookFacts> {
  const events = await rows<{
    id: string;
    fact_key: string;
    patient_id: string;
  }>(
    'select id, fact_key, patient_id from event where account_id = $1 order by seq',
    [accountId],
  );
  const requests = await rows<{ id: string }>(
    'select id from network_query where account_id = $1',
    [accountId],
  );
  const ofAccount = new Set(requests.map(({ id }) => id));
  const lines = (await received()).filter(({ requestId }) =>
    ofAccount.has(requestId ?? ''),
  );
  const first = lines.filter(({ repeat }) => !repeat);
  const ids = new Set(events.map(({ id }) => id));
  return {
    faults: [
      ...events.flatMap(({ id, fact_key }) => {
        const count = first.filter(({ messageId }) => messageId === id).length;
        return count === 1 ? [] : [`webhook ${fact_key}: taken ${count} times`];
      }),
      ...lines
        .filter(({ messageId }) => !ids.has(messageId))
        .map(
          ({ type, messageId }) =>
            `webhook ${type} ${messageId} tells no recorded fact`,
        ),
      ...outOfOrder(events, first),
    ],
    repeats: lines.length - first.length,
  };
}

function outOfOrder(
  events: { id: string; patient_id: string }[],
  first: Received[],
): string[] {
  const place = new Map(events.map(({ id }, index) => [id, index]));
  const patient = new Map(events.map(({ id, patient_id }) => [id, patient_id]));
  const latest = new Map<string, number>();
  return first.flatMap(({ messageId, type }) => {
    const of = patient.get(messageId) ?? '';
    const at = place.get(messageId) ?? 0;
    const before = latest.get(of) ?? -1;
    latest.set(of, Math.max(at, before));
    return at < before
      ? [`webhook ${type} ${messageId} came after a later one of its patient`]
      : [];
  });
}

/**
 * A request that a source has taken is asked for once more only where its
 * handle was lost with the killed part.
 */
export function checkSources(
  expected: readonly RequestLogEntry[],
  actual: readonly RequestLogEntry[],
): string[] {
  const kickOffs = (log: readonly RequestLogEntry[]) => {
    const counts = new Map<string, number>();
    for (const { operation, status, source, sample } of log)
      if (operation === 'everything' && status === 202)
        counts.set(
          `${source} of ${sample}`,
          (counts.get(`${source} of ${sample}`) ?? 0) + 1,
        );
    return counts;
  };
  const usual = kickOffs(expected);
  return [...kickOffs(actual)].flatMap(([of, count]) =>
    count <= (usual.get(of) ?? 0) + 1 ? [] : [`${of} was asked ${count} times`],
  );
}
