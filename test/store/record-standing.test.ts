import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { describe, expect } from 'vitest';
import { CANCELLED } from '../../src/contract/network-query-workflow.ts';
import type { SourceType } from '../../src/contract/primitives.ts';
import type { AccountTx } from '../../src/exchange/platform/database/database.ts';
import { insertQuery } from '../../src/exchange/queries/network-query/query-store.ts';
import { addToTimeline } from '../../src/exchange/queries/network-query/timeline-store.ts';
import { insertConversion } from '../../src/exchange/records/conversion/conversion-store.ts';
import { insertDocuments } from '../../src/exchange/records/deliveries/delivery-store.ts';
import {
  completenessLines,
  incompleteness,
  readRecordCompleteness,
  type SourceCompleteness,
} from '../../src/exchange/records/reading/completeness.ts';
import { consolidatedBundle } from '../../src/exchange/records/reading/read-consolidated.ts';
import { personOf, samples } from '../support/deliveries.ts';
import { fhirIssues } from '../support/fhir-issues.ts';
import { recordTest } from '../support/fixtures.ts';

const [sample] = samples;
if (sample === undefined) throw new Error('there are no samples');

const test = recordTest.extend('patient', async ({ environment }) => {
  const patientId = await environment.addPatient(personOf(sample));
  const inTx = (work: (tx: AccountTx) => Promise<unknown>): Promise<unknown> =>
    environment.store.asAccount(environment.accountId, work);
  const standing = () =>
    environment.store.asAccount(environment.accountId, (tx) =>
      readRecordCompleteness(tx, patientId),
    );
  async function of(
    source: SourceType,
  ): Promise<SourceCompleteness | undefined> {
    return (await standing()).sources.find((each) => each.source === source);
  }
  async function ask(source: SourceType, refusal?: string): Promise<string> {
    const id = uuidv7();
    await inTx((tx) =>
      insertQuery(tx, {
        id,
        patientId,
        purposeOfUse: 'treatment',
        origin: 'interactive',
        metadata: null,
        requested: [],
        startErrors:
          refusal === undefined
            ? []
            : [
                {
                  source,
                  httpStatus: 429,
                  message: refusal,
                  timestamp: new Date().toISOString(),
                },
              ],
        starting:
          refusal === undefined
            ? [
                {
                  source,
                  callbackHash: createHash('sha256').update(id).digest(),
                },
              ]
            : [],
      }),
    );
    return id;
  }
  const end = (
    queryId: string,
    status: 'completed' | 'failed',
    rest: { reason?: string; will_retry?: boolean } = {},
  ) =>
    inTx((tx) =>
      tx.db
        .updateTable('network_query_attempt')
        .set({ status, completed_at: new Date(), ...rest })
        .where('query_id', '=', queryId)
        .execute(),
    );
  async function bring(
    queryId: string,
    content: string,
    outcome?: { outcome: 'failed' | 'converted'; reason?: string },
  ) {
    const id = uuidv7();
    await inTx(async (tx) => {
      await insertDocuments(tx, [
        {
          id,
          patientId,
          queryId,
          source: 'hie',
          kind: 'attachment',
          sourceDocumentId: 'doc-1',
          fileName: `${id}.xml`,
          contentType: 'application/xml',
          sizeBytes: 1,
          sha256: createHash('sha256').update(content).digest(),
          blobRef: 'x',
        },
      ]);
      if (outcome !== undefined)
        await insertConversion(tx, patientId, id, outcome);
    });
    return `${id}.xml`;
  }
  return { ...environment, patientId, inTx, standing, of, ask, end, bring };
});

describe('how complete a record is', () => {
  test('a request cancelled on purpose has not failed, and takes nothing away from what was complete', async ({
    patient,
  }) => {
    await patient.end(await patient.ask('hie'), 'failed', {
      reason: CANCELLED.query,
    });
    expect(await patient.of('hie')).toMatchObject({
      state: 'cancelled',
      reason: 'Cancelled on request',
    });
    expect(incompleteness(await patient.standing())).toBe(
      'This record is incomplete: the request to HIE was cancelled before it was answered.',
    );
    await patient.end(await patient.ask('hie'), 'completed');
    expect(incompleteness(await patient.standing())).toBeUndefined();
    await patient.end(await patient.ask('hie'), 'failed', {
      reason: CANCELLED.source,
    });
    expect(incompleteness(await patient.standing())).toBeUndefined();
    expect(completenessLines(await patient.standing())[0]).toMatch(
      /the request was cancelled \(Given up on request\); last completed /,
    );
    await patient.end(await patient.ask('hie'), 'failed', {
      reason: 'No answer within 2 days',
    });
    expect(incompleteness(await patient.standing())).toContain(
      'the last request to HIE failed',
    );
  });

  test('a source that was never asked, is being asked, waits, has failed, or has answered', async ({
    patient,
  }) => {
    expect(incompleteness(await patient.standing())).toContain(
      'no source has been queried yet',
    );
    expect(await patient.of('hie')).toMatchObject({
      state: 'never-asked',
      resources: 0,
    });

    const first = await patient.ask('hie');
    expect(await patient.of('hie')).toMatchObject({
      state: 'running',
      lastCompleted: undefined,
    });
    expect(incompleteness(await patient.standing())).toMatch(
      /^This record is incomplete: HIE is still being queried since .+ UTC\.$/,
    );
    await patient.end(first, 'failed', { will_retry: true });
    expect((await patient.of('hie'))?.state).toBe('waiting');
    await patient.end(first, 'completed', { will_retry: false });
    const answered = await patient.of('hie');
    expect(answered).toMatchObject({
      state: 'completed',
      lastCompleted: expect.any(Date),
    });
    expect(incompleteness(await patient.standing())).toBeUndefined();

    const second = await patient.ask('hie');
    const third = await patient.ask('hie');
    await patient.end(third, 'completed');
    // The later query has its answer; the earlier one is still at it.
    expect((await patient.of('hie'))?.state).toBe('running');
    // Nothing is missing that was there: a line of the sources says that it is
    // asked again.
    expect(incompleteness(await patient.standing())).toBeUndefined();
    expect(completenessLines(await patient.standing())[0]).toMatch(
      /being queried since .+; last completed /,
    );
    await patient.end(second, 'completed');
    await patient.end(await patient.ask('hie'), 'failed', {
      reason: 'The source does not answer',
    });
    expect(await patient.of('hie')).toMatchObject({
      state: 'failed',
      reason: 'The source does not answer',
      lastCompleted: expect.any(Date),
    });
    expect(incompleteness(await patient.standing())).toContain(
      'the last request to HIE failed',
    );
    expect(await patient.of('lab')).toMatchObject({ state: 'never-asked' });
  });

  test('a source that could not even be started has failed, until it is asked again', async ({
    patient,
  }) => {
    await patient.ask('lab', 'Above the limit');
    expect(await patient.of('lab')).toMatchObject({
      state: 'failed',
      reason: 'Above the limit',
    });
    await patient.end(await patient.ask('lab'), 'completed');
    expect(await patient.of('lab')).toMatchObject({ state: 'completed' });
  });

  test('what a source could not bring in its last complete answer; of other patients nothing is missing', async ({
    patient,
  }) => {
    const query = await patient.ask('hie');
    await patient.inTx(async (tx) => {
      const entry = { source: 'hie', attempt: 1, kind: 'incomplete' } as const;
      await addToTimeline(tx, query, {
        ...entry,
        message: 'Two documents are missing',
        isGap: true,
      });
      await addToTimeline(tx, query, {
        ...entry,
        message: '3 resources of other patients put aside',
      });
    });
    await patient.end(query, 'completed');
    expect(await patient.of('hie')).toMatchObject({
      omissions: ['Two documents are missing'],
    });
    expect(incompleteness(await patient.standing())).toContain(
      'HIE could not deliver everything',
    );
    await patient.end(await patient.ask('hie'), 'completed');
    expect(incompleteness(await patient.standing())).toBeUndefined();
  });

  test('a document that could not be read is named with its reason, until a newer version of it can be', async ({
    patient,
  }) => {
    const first = await patient.ask('hie');
    const second = await patient.ask('hie');
    const third = await patient.ask('hie');
    for (const query of [first, second, third])
      await patient.end(query, 'completed');
    await patient.bring(first, 'broken', {
      outcome: 'failed',
      reason: 'it is not well-formed',
    });
    expect((await patient.standing()).unread).toMatchObject([
      { source: 'hie', reason: 'it is not well-formed' },
    ]);
    expect(incompleteness(await patient.standing())).toContain(
      '1 document could not be read in full',
    );
    await patient.bring(second, 'partly', {
      outcome: 'converted',
      reason: '1 of its sections could not be converted',
    });
    const again = await patient.bring(third, 'partly', {
      outcome: 'converted',
      reason: 'as before',
    });
    const reason = '1 of its sections could not be converted';
    expect((await patient.standing()).unread).toEqual([
      { source: 'hie', fileName: again, reason },
    ]);
    await patient.bring(await patient.ask('hie'), 'whole', {
      outcome: 'converted',
    });
    expect((await patient.standing()).unread).toEqual([]);
  });

  test('stands in the meta of the Bundle, which stays valid FHIR and gets no entry by it', async ({
    patient,
  }) => {
    await patient.end(await patient.ask('hie'), 'failed', {
      reason: 'The source does not answer',
    });
    let json = '';
    for await (const piece of consolidatedBundle(patient.store, {
      accountId: patient.accountId,
      patientId: patient.patientId,
      filter: { types: ['AllergyIntolerance'] },
      publicBaseUrl: 'https://exchange.example.org',
      type: 'searchset',
    }))
      json += piece;
    const bundle = JSON.parse(json) as {
      meta: {
        tag: object[];
        extension: { url: string; extension: object[] }[];
      };
    };
    expect(fhirIssues(bundle)).toEqual([]);
    expect(bundle).not.toHaveProperty('entry');
    expect(bundle.meta.tag).toMatchObject([
      { system: 'urn:medical-exchange:completeness', code: 'incomplete' },
    ]);
    expect(bundle.meta.extension[0]?.extension).toEqual(
      expect.arrayContaining([
        { url: 'source', valueCode: 'hie' },
        { url: 'state', valueCode: 'failed' },
        { url: 'reason', valueString: 'The source does not answer' },
      ]),
    );
  });
});
