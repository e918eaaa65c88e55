import type { Bundle, FhirResource } from 'fhir/r4.js';
import type { SourceType } from '../../../../contract/primitives.ts';
import { fhirJson } from '../../../../lib/written-decimals.ts';
import type { BlobRef } from '../../../../shared/blobs/blob-store.ts';
import type { AccountTx } from '../../../platform/database/database.ts';
import type { Platform } from '../../../platform/platform.ts';
import { noteArrival } from '../../../records/arrivals/arrival-store.ts';
import {
  deliveredIn,
  documentOf,
  insertDocuments,
  insertSourcePatientIds,
  type NewDocument,
  upsertResources,
} from '../../../records/deliveries/delivery-store.ts';
import {
  type InlineFile,
  withoutFiles,
} from '../../../records/deliveries/inline-files.ts';
import { messageNamespaceOf } from '../../../records/rules/ids.ts';
import { mayBeCcda } from '../../../sources/connectors/collect/documents.ts';
import { named } from '../../../sources/connectors/namespaced-connector.ts';
import type { StoredSubject } from '../inbound-store.ts';
import { type PresentSubject, presentSubject } from './present-subject.ts';
import {
  markRecorded,
  type Recording,
  readKind,
  readRecording,
  retireReported,
  storedHashes,
} from './recording-store.ts';

export type RecordingDeps = Pick<Platform, 'store' | 'blobs' | 'idHmacKey'>;

export interface OfPatient {
  accountId: string;
  patientId: string;
  subjectId: string;
}

/**
 * Concurrent messages about the same subject after which the rest is left to
 * `reconcile`.
 */
const ROUNDS_MAX = 5;

const SOURCES = {
  encounter: 'hie',
  pharmacy: 'pharmacy',
  laboratory: 'lab',
  clinical: 'hie',
} as const;

/** The source that what messages report of a subject is recorded under. */
export const recordSource = (kind: StoredSubject['kind']): SourceType =>
  SOURCES[kind];

/**
 * Makes a patient's record say of a subject what its messages say: delivers its
 * resources and files, or retires them when the subject turned out to be about
 * another person. Repeating it changes nothing. Returns false if there was
 * nothing to do.
 */
export async function recordSubject(
  deps: RecordingDeps,
  of: OfPatient,
): Promise<boolean> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const state = await deps.store.asAccount(of.accountId, (tx) =>
      readRecording(tx, of),
    );
    if (state === undefined || state.recorded === state.wanted)
      return round > 0;
    // Read after `wanted`, so that it contains at least what was wanted then.
    const isWritten = state.isAbout
      ? await deliver(deps, of, state)
      : await takeOut(deps, of, state);
    if (isWritten) return true;
  }
  throw new Error(
    'Messages about a subject arrived faster than they could be recorded',
  );
}

/** Returns false if a further message came in the meantime. */
async function takeOut(
  { store }: RecordingDeps,
  of: OfPatient,
  { wanted }: Recording,
): Promise<boolean> {
  const kind = await store.asSystem((tx) => readKind(tx, of.subjectId));
  return store.asAccount(of.accountId, async (tx) => {
    if (!(await isStillWanted(tx, of, wanted))) return false;
    const namespace = messageNamespaceOf(of.subjectId);
    await retireReported(
      tx,
      { ...of, source: recordSource(kind), namespace },
      [],
      'moved',
    );
    await markRecorded(tx, of, { recorded: wanted, toBeRead: false });
    await noteArrival(tx, of.patientId);
    return true;
  });
}

const isStillWanted = async (
  tx: AccountTx,
  of: OfPatient,
  wanted: number,
): Promise<boolean> => (await readRecording(tx, of, true))?.wanted === wanted;

async function deliver(
  deps: RecordingDeps,
  of: OfPatient,
  { wanted }: Recording,
): Promise<boolean> {
  const { store, blobs } = deps;
  const present = await presentSubject(deps, of.subjectId);
  const { resources, files } = deliveryOf(of.subjectId, present.resources);
  const source = recordSource(present.kind);
  const known = await store.asAccount(of.accountId, (tx) =>
    storedHashes(tx, of),
  );
  const documents: NewDocument[] = [];
  try {
    const describe = describerFor(of, present, wanted);
    const answer = Buffer.from(fhirJson(bundleOf(present.resources)));
    documents.push(
      describe(
        await blobs.put('source-answer', answer, 'application/fhir+json'),
      ),
    );
    for (const { sourceDocumentId, contentType, bytes } of files)
      documents.push(
        describe(
          await blobs.put('document', bytes, contentType),
          sourceDocumentId,
        ),
      );
  } catch (error) {
    for (const { blobRef } of documents) await blobs.delete(blobRef);
    throw error;
  }
  const isKnown = (document: NewDocument): boolean =>
    known.has(
      `${document.sourceDocumentId ?? ''} ${document.sha256.toString('hex')}`,
    );
  const [page] = documents;
  const fresh = documents.filter(
    (document) => document === page || !isKnown(document),
  );
  const isWritten = await store.asAccount(of.accountId, async (tx) => {
    if (!(await isStillWanted(tx, of, wanted))) return false;
    await insertDocuments(tx, fresh);
    await insertSourcePatientIds(tx, of.patientId, source, [
      personIdOf(of.subjectId),
    ]);
    // Messages are ordered before they are delivered; the last delivery counts.
    const delivered = resources.map((resource) =>
      deliveredIn(page?.fileName ?? '', resource),
    );
    await upsertResources(
      tx,
      { patientId: of.patientId, source, documentId: page?.id ?? '' },
      delivered,
    );
    const names = delivered.map(
      ({ resourceType, sourceId }) => `${resourceType}/${sourceId}`,
    );
    await retireReported(
      tx,
      { ...of, source, namespace: messageNamespaceOf(of.subjectId) },
      names,
      'deleted',
    );
    await markRecorded(tx, of, {
      recorded: wanted,
      ...(fresh.some((each) => each !== page && mayBeCcda(each))
        ? { toBeRead: true }
        : {}),
    });
    await noteArrival(tx, of.patientId);
    return true;
  });
  // No row refers to these blobs.
  for (const document of documents)
    if (!isWritten || !fresh.includes(document))
      await blobs.delete(document.blobRef);
  return isWritten;
}

const describerFor =
  (
    { patientId, subjectId }: OfPatient,
    { sender, kind }: PresentSubject,
    delivery: number,
  ) =>
  (blob: BlobRef, sourceDocumentId?: string): NewDocument => {
    const name = `${recordSource(kind)}-message-of-${sender}`;
    const document = documentOf(blob, recordSource(kind), {
      name,
      sourceDocumentId,
    });
    return { ...document, patientId, notified: { subjectId, delivery } };
  };

interface Delivery {
  resources: FhirResource[];
  files: InlineFile[];
}

/** The person's Patient id in what a subject's messages report. */
const personIdOf = (subjectId: string): string =>
  `${messageNamespaceOf(subjectId)}person`;

/**
 * What is reported of a subject, with ids of its own namespace, and its files.
 */
export function deliveryOf(
  subjectId: string,
  reported: readonly FhirResource[],
): Delivery {
  const namespace = messageNamespaceOf(subjectId);
  const files: InlineFile[] = [];
  const resources = reported.map((resource) =>
    withoutFiles(named(namespace, resource), files),
  );
  return { resources, files };
}

/**
 * The stored answer behind the resources, as a page of a source is behind those
 * of a query.
 */
const bundleOf = (resources: readonly FhirResource[]): Bundle => ({
  resourceType: 'Bundle',
  type: 'collection',
  entry: resources.map((resource) => ({ resource })),
});
