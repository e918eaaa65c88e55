import type { Bundle, FhirResource, OperationOutcome } from 'fhir/r4.js';
import { sql } from 'kysely';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canonicalJson } from '#record-summary/fhir';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { createExportLauncher } from '../../src/exchange/delivery/bulk-export/launcher.ts';
import { createExportRunner } from '../../src/exchange/delivery/bulk-export/run-export.ts';
import { addPatients } from '../../src/exchange/people/cohorts/member-store.ts';
import { orphanSweep } from '../../src/exchange/platform/blobs/orphan-sweep.ts';
import type { BlobStore } from '../../src/shared/blobs/blob-store.ts';
import { delivery, personOf, smallSamples } from '../support/deliveries.ts';
import {
  createFhirDoor,
  diagnosticsIn,
  FHIR_BASE,
  type FhirDoor,
  idsIn,
  resourcesIn,
} from '../support/fhir-door.ts';
import { fhirIssues } from '../support/fhir-issues.ts';
import { TEST_BASE_URL } from '../support/gateway.ts';
import { takeUpAll } from '../support/take-up.ts';
import { consentBody } from './every-operation/cases/consents.ts';

const ASYNC = { prefer: 'respond-async' };

let door: FhirDoor;
let patientIds: string[];
let cohortId: string;
beforeAll(async () => {
  door = await createFhirDoor();
  patientIds = [];
  for (const sample of smallSamples)
    patientIds.push(await door.addSample(sample));
  cohortId = await addCohort(patientIds);
});
afterAll(() => door.close());

async function addCohort(members: readonly string[]): Promise<string> {
  const id = uuidv7();
  await door.store.asAccount(door.accountId, async (tx) => {
    // The row alone: what else belongs to a cohort does not matter here.
    await sql`insert into cohort (id, account_id, name, description, color, purpose_of_use, settings)
      values (${id}, ${door.accountId}, ${id}, '', 'blue', 'treatment', '{}')`.execute(
      tx.db,
    );
    await addPatients(tx, id, members);
  });
  return id;
}

interface Manifest {
  transactionTime: string;
  request: string;
  requiresAccessToken: boolean;
  output: { type: string; url: string; count: number }[];
  deleted: { type: string; url: string; count: number }[];
  error: { type: string; url: string; count: number }[];
}

const DAY_MS = 24 * 60 * 60_000;
const SMALL = { bytes: 60_000, patients: 1 };
const runnerOf = (blobs = door.blobs, slice = SMALL) =>
  createExportRunner({
    store: door.store,
    blobs,
    records: door.records,
    idHmacKey: door.idHmacKey,
    publicBaseUrl: TEST_BASE_URL,
    slice,
  });

async function kickOff(path: string): Promise<string> {
  const response = await door.get(path, ASYNC);
  expect(response.statusCode, response.body).toBe(202);
  return String(response.headers['content-location']);
}
const idOf = (url: string) => String(url.split('/').at(-1));

async function run(url: string, runner = runnerOf()): Promise<Manifest> {
  const of = { accountId: door.accountId, exportId: idOf(url) };
  await runner.listPatients(of);
  expect(await runner.writeSlices(of)).toMatchObject({ state: 'completed' });
  return (await door.get(url)).json();
}
const exported = async (path: string) => run(await kickOff(path));

async function linesOf<T = FhirResource>(
  files: Manifest['output'],
): Promise<T[]> {
  const lines: T[] = [];
  for (const { url, count } of files) {
    const response = await door.get(url);
    expect(response.headers['content-type']).toContain(
      'application/fhir+ndjson',
    );
    const own = response.body.split('\n').slice(0, -1);
    expect(own).toHaveLength(count);
    lines.push(...own.map((line) => JSON.parse(line) as T));
  }
  return lines;
}

async function settle(): Promise<void> {
  await door.store.asAccount(door.accountId, async (tx) => {
    await sql`update record_resource set changed_at = changed_at - interval '1 hour'`.execute(
      tx.db,
    );
    await sql`update patient set created_at = created_at - interval '1 hour', updated_at = updated_at - interval '1 hour'`.execute(
      tx.db,
    );
    await sql`update cohort_member set added_at = added_at - interval '1 hour'`.execute(
      tx.db,
    );
  });
}

describe('an export', () => {
  test('of a cohort contains what $everything of its patients contains, in valid files of one type each', async () => {
    const manifest = await exported(`Group/${cohortId}/$export`);
    expect(manifest).toMatchObject({ requiresAccessToken: true, deleted: [] });
    expect(manifest.request).toBe(`${FHIR_BASE}/Group/${cohortId}/$export`);
    const wanted: FhirResource[] = [];
    for (const patientId of patientIds)
      wanted.push(
        ...resourcesIn(await door.bundle(`Patient/${patientId}/$everything`)),
      );
    const lines = await linesOf(manifest.output);
    const keyed = (resources: readonly FhirResource[]) =>
      Object.fromEntries(
        resources.map((each) => [`${each.resourceType}/${each.id}`, each]),
      );
    expect(lines).toHaveLength(wanted.length);
    expect(keyed(lines)).toEqual(keyed(wanted));
    // What we add (claims, statements of absence) is in the same order as the
    // rest, so that equal resources are equal texts.
    for (const line of lines)
      expect(JSON.stringify(line)).toBe(canonicalJson(line));
    for (const { type, url } of manifest.output)
      for (const each of await linesOf([
        { type, url, count: (await door.get(url)).body.split('\n').length - 1 },
      ]))
        expect(each.resourceType).toBe(type);
    expect(fhirIssues(lines[0] ?? {})).toEqual([]);
    const notes = await linesOf<OperationOutcome>(manifest.error);
    expect(notes.map(diagnosticsIn).join()).toContain(
      'This record is incomplete',
    );
  });

  test('of Provenance contains what $everything with the type Provenance contains', async () => {
    const keysOf = (found: readonly FhirResource[]) =>
      found.map(({ resourceType, id }) => `${resourceType}/${id}`).sort();
    for (const types of ['Provenance', 'Condition,Provenance']) {
      const lines = await linesOf(
        (await exported(`Group/${cohortId}/$export?_type=${types}`)).output,
      );
      const read: FhirResource[] = [];
      for (const patientId of patientIds)
        read.push(
          ...resourcesIn(
            await door.bundle(
              `Patient/${patientId}/$everything?_type=${types}`,
            ),
          ),
        );
      expect(lines.length).toBeGreaterThan(0);
      expect(keysOf(read)).toEqual(keysOf(lines));
    }
  });

  test('can be started by POST, for certain types and searches', async () => {
    const parameters = {
      resourceType: 'Parameters',
      parameter: [
        { name: '_type', valueString: 'Condition,Observation' },
        {
          name: '_typeFilter',
          valueString: 'Observation?category=laboratory&date=ge2015',
        },
        { name: '_outputFormat', valueString: 'ndjson' },
      ],
    };
    const response = await door.call(
      'POST',
      'Patient/$export',
      { ...ASYNC, 'content-type': 'application/fhir+json' },
      JSON.stringify(parameters),
    );
    expect(response.statusCode).toBe(202);
    const manifest = await run(String(response.headers['content-location']));
    expect(new Set(manifest.output.map(({ type }) => type))).toEqual(
      new Set(['Condition', 'Observation']),
    );
    const ids: string[] = [];
    for (const patientId of patientIds)
      for (const page of await door.pages(
        `Observation?patient=${patientId}&category=laboratory&date=ge2015`,
      ))
        for (const { resource, search } of page.entry ?? [])
          if (search?.mode === 'match') ids.push(String(resource?.id));
    const observations = (await linesOf(manifest.output)).filter(
      ({ resourceType }) => resourceType === 'Observation',
    );
    expect(observations.map(({ id }) => id).sort()).toEqual(ids.sort());
  });

  test('by a search for one patient, or for ids, has only these of that type', async () => {
    const [patientId] = patientIds;
    const own = idsIn(
      await door.pages(`Observation?patient=${patientId}`),
    ).sort();
    expect(own.length).toBeGreaterThan(1);
    for (const [filter, wanted] of [
      [`patient=${patientId}`, own],
      [`patient=Patient/${patientId}&_id=${own[0]}`, own.slice(0, 1)],
      [`_id=${own[0]},${own[1]}`, own.slice(0, 2)],
    ] as const) {
      const query = `_type=Observation&_typeFilter=${encodeURIComponent(`Observation?${filter}`)}`;
      const lines = await linesOf(
        (await exported(`Patient/$export?${query}`)).output,
      );
      expect(lines.map(({ id }) => String(id)).sort()).toEqual(wanted);
    }
  });

  test('refuses a body that is not Parameters, instead of exporting what it meant to leave out', async () => {
    const headers = { ...ASYNC, 'content-type': 'application/fhir+json' };
    const body = JSON.stringify({
      resourceType: 'Patient',
      _type: 'Condition',
    });
    const response = await door.call('POST', 'Patient/$export', headers, body);
    expect(response.statusCode).toBe(400);
    expect(diagnosticsIn(response.json())).toContain('Parameters');
  });

  test.each([
    ['Patient/$export', {}, 'respond-async'],
    ['Patient/$export?_type=Colour', ASYNC, '_type'],
    ['Patient/$export?_since=yesterday', ASYNC, '_since'],
    ['Patient/$export?_outputFormat=csv', ASYNC, '_outputFormat'],
    [
      'Patient/$export?_typeFilter=Observation%3Fcolour%3Dblue',
      ASYNC,
      'colour',
    ],
    [
      'Patient/$export?_typeFilter=Observation%3F_elements%3Dcode',
      ASYNC,
      '_elements',
    ],
    ['Patient/$export?_typeFilter=Observation%3F_count%3D5', ASYNC, '_count'],
    [
      'Patient/$export?_type=Condition&_typeFilter=Observation%3Fstatus%3Dfinal',
      ASYNC,
      '_typeFilter',
    ],
    ['Patient/$export?includeAssociatedData=x', ASYNC, 'includeAssociatedData'],
    ['Patient/$export?organizeOutputBy=Patient', ASYNC, 'organizeOutputBy'],
  ])('of %s is refused', async (path, headers, named) => {
    const response = await door.get(path, headers);
    expect(response.statusCode).toBe(400);
    expect(diagnosticsIn(response.json())).toContain(named);
  });

  test('killed at any point gives the same files', async () => {
    const whole = await exported(`Group/${cohortId}/$export`);
    const url = await kickOff(`Group/${cohortId}/$export`);
    const of = { accountId: door.accountId, exportId: idOf(url) };
    let puts = 0;
    const failing = withPut(async (...args) => {
      puts += 1;
      const own = puts;
      const ref = await door.blobs.put(...args);
      // The blob is there, and the process ends before its row is committed.
      if (own % 5 === 0) throw new Error('killed');
      return ref;
    });
    await runnerOf().listPatients(of);
    let deaths = 0;
    for (;;) {
      // Each new execution survives a little longer than it takes to write one
      // slice.
      const survivor = puts > 60 ? runnerOf() : runnerOf(failing);
      const progress = await survivor.writeSlices(of).catch(() => undefined);
      if (progress?.state === 'completed') break;
      deaths += 1;
      if (deaths > 400) throw new Error('the export makes no progress');
    }
    expect(deaths).toBeGreaterThan(3);
    const again: Manifest = (await door.get(url)).json();
    const shapeOf = ({ output, error }: Manifest) =>
      [...output, ...error].map(({ type, count }) => [type, count]);
    expect(shapeOf(again)).toEqual(shapeOf(whole));
    for (const [index, { url: file }] of again.output.entries())
      expect((await door.get(file)).body).toBe(
        (await door.get(whole.output[index]?.url ?? '')).body,
      );
  });

  test('of which one file cannot be written leaves no other file of the slice behind', async () => {
    const url = await kickOff(`Group/${cohortId}/$export`);
    const of = { accountId: door.accountId, exportId: idOf(url) };
    await runnerOf().listPatients(of);
    const refs: string[] = [];
    let calls = 0;
    const failing = withPut(async (...args) => {
      calls += 1;
      if (calls === 2) throw new Error('the disk is full');
      const ref = await door.blobs.put(...args);
      refs.push(ref.ref);
      return ref;
    });
    await expect(runnerOf(failing).writeSlices(of)).rejects.toThrow(
      'the disk is full',
    );
    expect(refs.length).toBeGreaterThan(1);
    for (const ref of refs) await expect(door.blobs.get(ref)).rejects.toThrow();
    await run(url);
  });

  test('whose process is killed leaves files that no row names, which reconcile deletes a day later, and only these', async () => {
    const whole = await exported(`Group/${cohortId}/$export`);
    const url = await kickOff(`Group/${cohortId}/$export`);
    const of = { accountId: door.accountId, exportId: idOf(url) };
    await runnerOf().listPatients(of);
    let puts = 0;
    // A killed process does not tidy up after itself.
    const killed: BlobStore = {
      ...door.blobs,
      put: async (...args) => {
        puts += 1;
        if (puts === 30) throw new Error('killed');
        return door.blobs.put(...args);
      },
      delete: async () => undefined,
    };
    await expect(runnerOf(killed).writeSlices(of)).rejects.toThrow('killed');
    await runnerOf().writeSlices(of);
    const files = await listBlobs();

    const sweep = (ageMs: number) => {
      const list = async function* (part: string) {
        for await (const blob of door.blobs.list(part))
          yield {
            ...blob,
            writtenAt: new Date(blob.writtenAt.getTime() - ageMs),
          };
      };
      const blobs = { list, delete: (ref: string) => door.blobs.delete(ref) };
      return takeUpAll(
        orphanSweep({
          store: door.store,
          blobs,
          logger: pino({ level: 'silent' }),
        }),
      );
    };
    expect(await sweep(DAY_MS / 2)).toBe(0);
    const left = await sweep(DAY_MS + 60_000);
    expect(left).toBeGreaterThan(0);
    expect(await listBlobs()).toHaveLength(files.length - left);
    const manifest: Manifest = (await door.get(url)).json();
    for (const [index, { url: file }] of manifest.output.entries())
      expect((await door.get(file)).body).toBe(
        (await door.get(whole.output[index]?.url ?? '')).body,
      );
  });

  test('written by two executions at once has each slice once', async () => {
    const url = await kickOff(`Group/${cohortId}/$export`);
    const of = { accountId: door.accountId, exportId: idOf(url) };
    await runnerOf().listPatients(of);
    await Promise.all([runnerOf().writeSlices(of), runnerOf().writeSlices(of)]);
    const manifest: Manifest = (await door.get(url)).json();
    const ids = (await linesOf(manifest.output)).map(
      ({ resourceType, id }) => `${resourceType}/${id}`,
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('is audited for each patient', async () => {
    const url = await kickOff(`Group/${cohortId}/$export`);
    await run(url);
    const rows = await door.store.asAccount(door.accountId, (tx) =>
      tx.db
        .selectFrom('audit_entry')
        .select(['patient_id', 'actor'])
        .where('operation', '=', 'fhirExport')
        .where('target_id', '=', idOf(url))
        .where('patient_id', 'is not', null)
        .execute(),
    );
    expect(new Set(rows.map((row) => row.patient_id))).toEqual(
      new Set(patientIds),
    );
    expect(rows[0]?.actor).toMatch(/^key:/);
  });
});

describe('an export since a time', () => {
  test('contains what is new in our record, deletions, and all of a patient who is new to the cohort', async () => {
    const old = await door.addPatient(personOf(smallSamples[0] ?? fail()));
    const condition = (id: string, subject = 'p') =>
      delivery('hie', {
        resourceType: 'Condition',
        id,
        subject: { reference: `Patient/${subject}` },
        code: { text: id },
      });
    await door.deliver(old, 'hie', [condition('one'), condition('two')], ['p']);
    await door.records.merge(door.accountId, old);
    const added = await door.addPatient(personOf(smallSamples[0] ?? fail()));
    await door.deliver(added, 'hie', [condition('three')], ['p']);
    await door.records.merge(door.accountId, added);
    const cohort = await addCohort([old]);
    const first = await exported(
      `Group/${cohort}/$export?_type=Condition,Patient`,
    );
    expect((await linesOf(first.output)).length).toBe(3);
    await settle();
    const since = encodeURIComponent(first.transactionTime);
    const texts = async (manifest: Manifest) =>
      (
        await linesOf<{ code?: { text: string } }>(
          manifest.output.filter(({ type }) => type === 'Condition'),
        )
      )
        .map(({ code }) => code?.text)
        .sort();

    const nothing = await exported(`Group/${cohort}/$export?_since=${since}`);
    expect(nothing.output).toEqual([]);

    await door.deliver(old, 'hie', [condition('four')], ['p']);
    expect(
      await texts(await exported(`Group/${cohort}/$export?_since=${since}`)),
    ).toEqual(['four']);

    await door.store.asAccount(door.accountId, (tx) =>
      addPatients(tx, cohort, [added]),
    );
    expect(
      await texts(await exported(`Group/${cohort}/$export?_since=${since}`)),
    ).toEqual(['four', 'three']);

    // The source moves a resource to another person; what refers to it comes
    // again.
    await door.deliver(old, 'hie', [condition('one', 'another')], ['p']);
    const moved = await exported(`Group/${cohort}/$export?_since=${since}`);
    expect(await texts(moved)).toEqual(['four', 'three', 'two']);
    const [bundle] = await linesOf<Bundle>(moved.deleted);
    expect(bundle?.entry?.map(({ request }) => request?.method)).toEqual([
      'DELETE',
    ]);
    expect(bundle?.entry?.[0]?.request?.url).toMatch(
      /^Condition\/[0-9a-f-]{36}$/,
    );
    expect(fhirIssues(bundle ?? {})).toEqual([]);
  });
});

describe('the status', () => {
  test('reports progress, then the manifest with its expiry', async () => {
    const url = await kickOff(`Group/${cohortId}/$export`);
    expect(door.gateway.launched).toContain(idOf(url));
    const first = await door.get(url);
    expect(first.statusCode).toBe(202);
    expect(first.headers).toMatchObject({
      'x-progress': 'starting',
      'retry-after': '5',
    });
    await runnerOf().listPatients({
      accountId: door.accountId,
      exportId: idOf(url),
    });
    expect((await door.get(url)).headers['x-progress']).toBe(
      '0 of 2 patients, 0 resources',
    );
    await run(url);
    const last = await door.get(url);
    expect(last.statusCode).toBe(200);
    expect(Date.parse(String(last.headers.expires))).toBeGreaterThan(
      Date.now(),
    );
  });

  test('of a cancelled export is 404, it goes no further, and no blob remains', async () => {
    const url = await kickOff(`Group/${cohortId}/$export`);
    const of = { accountId: door.accountId, exportId: idOf(url) };
    await runnerOf().listPatients(of);
    const refs: string[] = [];
    const noting = withPut(async (...args) => {
      const ref = await door.blobs.put(...args);
      refs.push(ref.ref);
      if (refs.length === 8)
        expect((await door.call('DELETE', url)).statusCode).toBe(202);
      return ref;
    });
    expect(await runnerOf(noting).writeSlices(of)).toMatchObject({
      state: 'cancelled',
    });
    expect((await door.get(url)).statusCode).toBe(404);
    expect(door.gateway.stopped).toContain(of.exportId);
    await clearFiles();
    for (const ref of refs) await expect(door.blobs.get(ref)).rejects.toThrow();
  });

  test('of an export whose patient was deleted is 410, and its files are deleted', async () => {
    const patientId = await door.addPatient(
      personOf(smallSamples[0] ?? fail()),
    );
    const url = await kickOff(`Group/${await addCohort([patientId])}/$export`);
    const manifest = await run(url);
    const file = manifest.output[0]?.url ?? '';
    expect((await door.get(file)).statusCode).toBe(200);
    await door.store.asAccount(door.accountId, async (tx) => {
      await tx.db
        .deleteFrom('cohort_member')
        .where('patient_id', '=', patientId)
        .execute();
      await tx.db.deleteFrom('patient').where('id', '=', patientId).execute();
    });
    expect((await door.get(url)).statusCode).toBe(410);
    expect((await door.get(file)).statusCode).toBe(410);
    await clearFiles();
    expect(await rowsOf(idOf(url))).toBe(0);
  });

  test('of an export is 410 once a consent about labels of one of its patients changes, and of no other', async () => {
    const [own = fail(), other = fail()] = await Promise.all(
      smallSamples.slice(0, 2).map((each) => door.addPatient(personOf(each))),
    );
    const kickOffs = [own, other].map(async (patientId) =>
      kickOff(`Group/${await addCohort([patientId])}/$export`),
    );
    const [ofOwn = '', ofOther = ''] = await Promise.all(kickOffs);
    await run(ofOwn);
    await run(ofOther);
    const apiKey = await door.addKey(door.accountId, ['read', 'write']);
    const response = await door.call(
      'POST',
      `${TEST_BASE_URL}/medical/v1/patient/${own}/consent`,
      { 'x-api-key': apiKey },
      consentBody({
        provision: { type: 'deny', securityLabel: [{ code: 'ETH' }] },
      }),
    );
    expect(response.statusCode).toBe(201);
    expect((await door.get(ofOwn)).statusCode).toBe(410);
    expect((await door.get(ofOther)).statusCode).toBe(200);
  });

  test('of an expired export is 410', async () => {
    const url = await kickOff(`Group/${cohortId}/$export`);
    await run(url);
    await door.store.asAccount(door.accountId, (tx) =>
      sql`update bulk_export set ended_at = now() - interval '73 hours' where id = ${idOf(url)}`.execute(
        tx.db,
      ),
    );
    expect((await door.get(url)).statusCode).toBe(410);
    await clearFiles();
    expect(await rowsOf(idOf(url))).toBe(0);
  });

  test('and the files are for the account alone, and need a key', async () => {
    const url = await kickOff(`Group/${cohortId}/$export`);
    const manifest = await run(url);
    const other = uuidv7();
    await door.store.asSystem((tx) =>
      insertAccount(tx, { id: other, name: 'Other', settings: {} }),
    );
    const headers = { 'x-api-key': await door.addKey(other) };
    for (const path of [url, manifest.output[0]?.url ?? '']) {
      expect((await door.get(path, headers)).statusCode).toBe(404);
      expect(
        (await door.gateway.app.inject({ url: new URL(path).pathname }))
          .statusCode,
      ).toBe(401);
    }
    expect(
      (await door.get(`Group/${cohortId}/$export`, { ...ASYNC, ...headers }))
        .statusCode,
    ).toBe(404);
    expect((await door.get(`${url}/Patient.9.ndjson`)).statusCode).toBe(404);
  });

  test('a third export at a time is refused', async () => {
    const path = `Group/${cohortId}/$export`;
    const urls = [await kickOff(path), await kickOff(path)];
    const third = await door.get(path, ASYNC);
    expect(third.statusCode).toBe(429);
    expect(third.headers['retry-after']).toBeDefined();
    for (const url of urls) await door.call('DELETE', url);
    await door.call('DELETE', await kickOff(path));
  });
});

async function listBlobs(): Promise<string[]> {
  const refs: string[] = [];
  for (let part = 0; part < 256; part++)
    for await (const { ref } of door.blobs.list(
      part.toString(16).padStart(2, '0'),
    ))
      refs.push(ref);
  return refs;
}
const withPut = (put: BlobStore['put']): BlobStore => ({ ...door.blobs, put });

async function clearFiles(): Promise<void> {
  const { store, blobs } = door;
  const silent = { warn: () => undefined } as never;
  const { recoveries } = createExportLauncher({
    store,
    blobs,
    temporal: undefined as never,
    logger: silent,
  });
  const round = {
    limit: 100,
    signal: new AbortController().signal,
    recheckBefore: new Date(),
  };
  await recoveries
    .find(({ name }) => name === 'files of bulk exports')
    ?.takeUp(round);
}
const rowsOf = async (exportId: string): Promise<number> =>
  (
    await door.store.asAccount(door.accountId, (tx) =>
      tx.db
        .selectFrom('bulk_export_part')
        .select('slice')
        .where('export_id', '=', exportId)
        .execute(),
    )
  ).length;

function fail(): never {
  throw new Error('there is no sample');
}
