import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { generateApiKey } from '../../src/exchange/access/accounts/rules/api-key.ts';
import { seedDemoAccount } from '../../src/exchange/operations/admin/seed.ts';
import { insertPatient } from '../../src/exchange/people/patients/patient-store.ts';
import { newContent } from '../../src/exchange/people/patients/rules/patient-content.ts';
import {
  createStore,
  type Store,
} from '../../src/exchange/platform/database/database.ts';
import { createWebhookKeys } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { noteIncomplete } from '../../src/exchange/queries/network-query/timeline-store.ts';
import { convertDatedCcda } from '../../src/exchange/records/conversion/ccda-conversion.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import {
  insertDocuments,
  insertSourcePatientIds,
  upsertResources,
} from '../../src/exchange/records/deliveries/delivery-store.ts';
import { consolidatedBundle } from '../../src/exchange/records/reading/read-consolidated.ts';
import { createRecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import { openFileBlobStore } from '../../src/shared/blobs/file-blob-store.ts';
import { startPostgres } from '../../tools/embedded/postgres.ts';
import { loadCcda } from '../../tools/simulator/samples.ts';
import { median } from '../command-parts.ts';
import {
  copyOf,
  deliveriesOfBundle,
  deliveriesOfSample,
  type SourceDelivery,
} from './deliveries.ts';

export interface MergeBenchOptions {
  sample: string;
  /**
   * How many times the record is repeated, each time as different resources.
   */
  copies: number;
  rounds: number;
  /** A Synthea bundle (.json.gz) instead of the sample. */
  bundle?: string;
}

export interface MergeRound {
  deliveries: number;
  sizeBytes: number;
  /** Time to read every delivery from the database, to text and back. */
  floorMs: number;
  mergeMs: number;
  /** Time to merge again without new deliveries. */
  againMs: number;
  /** Time to write the whole record as a Bundle. */
  bundleMs: number;
}

export interface MergeBenchResult {
  options: MergeBenchOptions;
  rounds: MergeRound[];
  /**
   * Times for one document of each sample: the bare library's two calls, and
   * ours.
   */
  ccda: { sizeBytes: number; ms: number }[];
  /**
   * Highest resident memory of this process while it merged and wrote bundles.
   */
  peakMemoryBytes: number;
}

const PAGE = 500;

/**
 * Measures merging and reading a record against only reading its deliveries, on
 * one server.
 */
export async function benchMerge(
  options: MergeBenchOptions,
  note: (line: string) => void,
): Promise<MergeBenchResult> {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-merge-'));
  const postgres = await startPostgres({
    dataDir: join(dataDir, 'postgres'),
    logFile: join(dataDir, 'postgres.log'),
  });
  const store = createStore({ databaseUrl: postgres.databaseUrl });
  try {
    await store.migrate();
    const { accountId } = await seedDemoAccount(store, {
      apiKey: generateApiKey(),
      webhookKeys: createWebhookKeys(
        parseKeyRing(`bench:${randomBytes(32).toString('base64')}`),
      ),
    });
    const keyRing = parseKeyRing(`bench:${randomBytes(32).toString('base64')}`);
    const blobs = await openFileBlobStore(join(dataDir, 'blobs'), keyRing);
    const records = createRecordKeeper({
      store,
      blobs,
      converter: createCcdaConverter(),
      noteIncomplete,
    });
    const deliveries =
      options.bundle === undefined
        ? deliveriesOfSample(sampleOf(options.sample))
        : deliveriesOfBundle(options.bundle);
    const result: MergeBenchResult = {
      options,
      rounds: [],
      ccda: [],
      peakMemoryBytes: 0,
    };
    for (let round = 0; round <= options.rounds; round += 1) {
      const isWarmUp = round === 0;
      const patientId = await addPatient(
        store,
        accountId,
        sampleOf(options.sample),
      );
      await deliver(
        store,
        accountId,
        patientId,
        deliveries,
        isWarmUp ? 1 : options.copies,
      );
      const memory = watchMemory();
      const floor = await timed(() => readAll(store, accountId, patientId));
      const merge = await timed(() => records.merge(accountId, patientId));
      const again = await timed(() => records.merge(accountId, patientId));
      const bundle = await timed(() =>
        writeBundle(store, accountId, patientId),
      );
      result.peakMemoryBytes = Math.max(result.peakMemoryBytes, memory.stop());
      if (isWarmUp) continue;
      const measured = {
        ...floor.value,
        floorMs: floor.ms,
        mergeMs: merge.ms,
        againMs: again.ms,
        bundleMs: bundle.ms,
      };
      result.rounds.push(measured);
      note(`round ${round}: ${JSON.stringify(measured)}`);
    }
    for (const sample of loadSamplePatients())
      result.ccda.push(convertOften(loadCcda(sample)));
    return result;
  } finally {
    await store.close();
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

export function sampleOf(key: string) {
  const sample = loadSamplePatients().find((each) => each.key === key);
  if (sample === undefined)
    throw new Error(`There is no sample patient ${key}`);
  return sample;
}

export async function addPatient(
  store: Store,
  accountId: string,
  { createBody }: ReturnType<typeof sampleOf>,
): Promise<string> {
  const patientId = uuidv7();
  const described = {
    firstNames: [createBody.firstName],
    lastNames: [createBody.lastName],
    dob: createBody.dob,
    gender: createBody.genderAtBirth,
    addresses: createBody.address,
    contacts: createBody.contact,
    personalIdentifiers: [],
  };
  await store.asAccount(accountId, (tx) =>
    insertPatient(tx, patientId, newContent(described, {}, []), []),
  );
  return patientId;
}

export async function deliver(
  store: Store,
  accountId: string,
  patientId: string,
  deliveries: readonly SourceDelivery[],
  copies: number,
): Promise<void> {
  for (let copy = 0; copy < copies; copy += 1) {
    for (const { source, patientIds, resources } of deliveries) {
      const documentId = uuidv7();
      await store.asAccount(accountId, async (tx) => {
        await insertDocuments(tx, [
          {
            id: documentId,
            patientId,
            queryId: uuidv7(),
            source,
            kind: 'page',
            fileName: `${source}-${documentId}.json`,
            contentType: 'application/fhir+json',
            sizeBytes: 1,
            sha256: createHash('sha256').digest(),
            blobRef: 'x',
          },
        ]);
        await insertSourcePatientIds(tx, patientId, source, patientIds);
        for (let from = 0; from < resources.length; from += PAGE) {
          const page = copyOf(resources.slice(from, from + PAGE), copy);
          await upsertResources(tx, { patientId, source, documentId }, page);
        }
      });
    }
  }
}

/**
 * The floor: reads every delivery once through the driver, to text and back.
 */
async function readAll(store: Store, accountId: string, patientId: string) {
  let deliveries = 0;
  let sizeBytes = 0;
  let after = { source: '', resource_type: '', source_id: '' };
  for (;;) {
    const rows = await store.asAccount(accountId, (tx) =>
      tx.db
        .selectFrom('delivered_resource')
        .select(['source', 'resource_type', 'source_id', 'content'])
        .where('patient_id', '=', patientId)
        .where(({ eb, refTuple, tuple }) =>
          eb(
            refTuple('source', 'resource_type', 'source_id'),
            '>',
            tuple(after.source as 'hie', after.resource_type, after.source_id),
          ),
        )
        .orderBy('source')
        .orderBy('resource_type')
        .orderBy('source_id')
        .limit(PAGE)
        .execute(),
    );
    for (const { content } of rows) {
      const text = JSON.stringify(content);
      JSON.parse(text);
      sizeBytes += text.length;
    }
    deliveries += rows.length;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE)
      return { deliveries, sizeBytes };
    after = last;
  }
}

async function writeBundle(
  store: Store,
  accountId: string,
  patientId: string,
): Promise<number> {
  let length = 0;
  for await (const part of consolidatedBundle(store, {
    accountId,
    patientId,
    publicBaseUrl: 'https://exchange.example.org',
  }))
    length += part.length;
  return length;
}

/** The median of five. */
function convertOften(bytes: Buffer) {
  const times = Array.from({ length: 5 }, () => {
    const start = performance.now();
    convertDatedCcda(bytes, { unit: 'bench', patientId: 'p' });
    return performance.now() - start;
  });
  return { sizeBytes: bytes.length, ms: median(times) };
}

async function timed<T>(
  work: () => Promise<T>,
): Promise<{ value: T; ms: number }> {
  const start = performance.now();
  const value = await work();
  return { value, ms: performance.now() - start };
}

function watchMemory() {
  let peak = 0;
  const look = () => {
    peak = Math.max(peak, process.memoryUsage().rss);
  };
  const timer = setInterval(look, 50);
  return {
    stop() {
      clearInterval(timer);
      look();
      return peak;
    },
  };
}
