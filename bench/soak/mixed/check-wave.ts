import { isDeepStrictEqual } from 'node:util';
import { parse } from 'csv-parse/sync';
import { request } from 'undici';
import { loadSamplePatients } from '../../../src/local-stack/sample-patients.ts';
import {
  callGateway,
  type Received,
  type StackAccess,
} from '../../../test/support/stack.ts';
import { checkWebhooks, type Expected } from './check-webhooks.ts';
import type { Wave } from './wave.ts';

/** Number of resources in the merged record of each sample, by its key. */
export type RecordSizes = Record<string, number>;

export interface WaveFacts {
  faults: string[];
  queries: number;
  webhooks: number;
  /** Webhooks that came again under their id. */
  repeats: number;
  /** Queries of hie for patients whom it knows. */
  hieQueries: number;
  records: RecordSizes;
}

interface Query {
  requestId: string;
  status: string;
  sources: { type: string; status: string }[];
}

/**
 * Patients that the waves create besides those of the samples and of the file.
 */
const SAMPLES = 6;

/**
 * Judges a wave by the public interface and the receiver's log alone: nothing
 * lost, doubled or still under way.
 */
export async function checkWave(
  stack: StackAccess,
  wave: Wave,
  received: readonly Received[],
  usual: RecordSizes | undefined,
): Promise<WaveFacts> {
  const { caller } = wave;
  const faults: string[] = [];
  const expect = (isSo: boolean, otherwise: string) => {
    if (!isSo) faults.push(`wave ${wave.number}: ${otherwise}`);
  };
  const list = async <T>(path: string, member: string): Promise<T[]> => {
    const body = await caller.get(
      `${path}${path.includes('?') ? '&' : '?'}count=500`,
    );
    expect(
      body.meta.itemsInTotal === body[member].length,
      `${path} has more than one page`,
    );
    return body[member];
  };

  // Queries: those that were asked for and those of the import and the cohort,
  // once each, and all completed.
  const queries = await list<Query>('network/query', 'queries');
  const asked = [
    ...wave.workload.calls.flatMap(
      ({ answer: { body } }) =>
        body.networkQuery?.requestId ?? body.requestId ?? [],
    ),
    ...wave.workload.onboardings.flatMap(({ summary }) => summary.requestIds),
    wave.steered,
  ];
  const known = new Set(queries.map(({ requestId }) => requestId));
  for (const id of asked) expect(known.has(id), `query ${id} is lost`);
  const total =
    asked.length +
    wave.imported.panel.toQuery +
    wave.monitored.patientIds.length;
  expect(
    queries.length === total,
    `${total} queries expected, got ${queries.length}`,
  );
  for (const { requestId, status } of queries)
    expect(status === 'completed', `query ${requestId} is ${status}`);

  // Patients: one for each person.
  const patients = await list<{ id: string; externalId: string }>(
    'patient',
    'patients',
  );
  const persons = new Set(patients.map(({ externalId }) => externalId)).size;
  const wanted =
    SAMPLES + wave.imported.panel.persons + wave.monitored.patientIds.length;
  expect(
    patients.length === wanted && persons === wanted,
    `${wanted} patients, got ${patients.length} of ${persons} persons`,
  );
  for (const { sample, summary } of wave.workload.onboardings)
    expect(
      summary.status === 'completed',
      `onboarding of ${sample}: ${summary.status}`,
    );

  // The records, and what else was promised.
  const records = await recordSizes(wave, patients);
  if (usual !== undefined)
    expect(
      isDeepStrictEqual(records, usual),
      `records have ${JSON.stringify(records)} resources, not ${JSON.stringify(usual)}`,
    );
  const { patientId, requestId } = wave.consolidated;
  const consolidated = await caller.get(
    `patient/${patientId}/consolidated/query/${requestId}`,
  );
  expect(
    consolidated.status === 'completed',
    `consolidated query ${requestId}: ${consolidated.status}`,
  );
  const messages = await list<{ id: string; status: string }>(
    'message',
    'messages',
  );
  expect(
    messages.length === wave.messages.length,
    `${wave.messages.length} messages, got ${messages.length}`,
  );
  for (const { id, status } of messages)
    expect(status === 'completed', `message ${id} is ${status}`);
  for (const fault of await checkImport(wave)) expect(false, fault);
  const { started, failed } = wave.monitored.status;
  expect(
    started === wave.monitored.patientIds.length && failed === 0,
    `monitoring: ${started} started, ${failed} failed`,
  );

  for (const { path, body, idempotencyKey, answer } of wave.posts) {
    const again = await callGateway(
      stack.connection,
      caller.account,
      'POST',
      path,
      { body, idempotencyKey },
    );
    expect(
      isDeepStrictEqual(again.body, answer.body),
      `POST ${path} again: ${again.status}, not the first answer`,
    );
  }

  const events = checkWebhooks(received, expectedWebhooks(wave, queries));
  for (const fault of events.faults) expect(false, fault);
  const { pending, deadLettered } = await caller.get('settings/webhook');
  expect(
    pending === 0 && deadLettered === 0,
    `${pending} webhooks pending, ${deadLettered} dead-lettered`,
  );
  return {
    faults,
    queries: queries.length,
    webhooks: events.messages,
    repeats: events.repeats,
    hieQueries: asked.length,
    records,
  };
}

async function recordSizes(
  { caller }: Wave,
  patients: readonly { id: string; externalId: string }[],
): Promise<RecordSizes> {
  const sizes: RecordSizes = {};
  for (const { key, createBody } of loadSamplePatients()) {
    const patient = patients.find(
      ({ externalId }) => externalId === createBody.externalId,
    );
    sizes[key] =
      patient === undefined
        ? 0
        : (await caller.get(`patient/${patient.id}/consolidated/count`)).total;
  }
  return sizes;
}

/**
 * Every row once, and every person created once: a row that was handled twice
 * would say `updated`.
 */
export async function checkImport({
  caller,
  imported: { requestId, panel },
}: Pick<Wave, 'caller' | 'imported'>): Promise<string[]> {
  const { status, counts, result, sweep } = await caller.get(
    `patient/bulk/${requestId}`,
  );
  if (status !== 'completed') return [`import ${requestId} is ${status}`];
  const rows = parse(await (await request(result)).body.text(), {
    columns: true,
  }) as Record<string, string>[];
  const created = rows.filter((row) => row.status === 'created').length;
  return [
    ...(rows.length === panel.rows && counts.handled === panel.rows
      ? []
      : [`import: ${rows.length} rows of ${panel.rows}`]),
    ...(created === panel.persons
      ? []
      : [`import: ${created} created, ${panel.persons} expected`]),
    ...(sweep.started === panel.toQuery && sweep.failed === 0
      ? []
      : [`sweep: ${JSON.stringify(sweep)}`]),
  ];
}

function expectedWebhooks(wave: Wave, queries: readonly Query[]): Expected[] {
  const ofQueries = queries.flatMap(({ requestId, sources }) =>
    [...new Set(sources.map(({ type }) => type))].map((type) => ({
      requestId,
      type: `network-query.${type}`,
      // A source that was given up and asked again has ended twice, unless it
      // had ended before it was given up.
      atMost:
        requestId === wave.steered && type === 'lab'
          ? sources.filter((source) => source.type === type).length
          : 1,
    })),
  );
  return [
    ...ofQueries,
    {
      requestId: wave.consolidated.requestId,
      type: 'medical.consolidated-data',
      atMost: 1,
    },
    ...wave.messages.map((requestId) => ({
      requestId,
      type: 'message.status',
      atMost: 1,
    })),
    // `processing` and `completed`.
    {
      requestId: wave.imported.requestId,
      type: 'medical.bulk-patient-create',
      atLeast: 2,
      atMost: 2,
    },
  ];
}
