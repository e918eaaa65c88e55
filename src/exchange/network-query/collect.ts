import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { SourceStepInput } from '../../contract/network-query-steps.ts';
import type { BlobKind, BlobStore } from '../../shared/blobs/blob-store.ts';
import { extensionOf } from '../documents/file-name.ts';
import type { Store } from '../platform/database/database.ts';
import {
  type CollectedResource,
  insertDocuments,
  type NewDocument,
  upsertResources,
} from '../records/delivery-store.ts';
import type { RecordKeeper } from '../records/record-keeper.ts';
import { noteAnswered } from '../records/retirement-store.ts';
import { revisionOf } from '../records/rules/facts.ts';
import type { Json } from '../records/rules/json.ts';
import { insertSourcePatientIds } from '../records/source-patient-store.ts';
import type { SourcePage } from '../sources/connector.ts';
import { type AttemptWork, readAttempt, savePage } from './attempt-store.ts';
import { announceFirstData, completeAttempt } from './endings.ts';
import { recordExclusions, recordOmissions } from './omissions.ts';
import { lockQuery } from './query-store.ts';
import { type Retiring, retireMissing, retireRetracted } from './retire-missing.ts';

/**
 * A page came too late: the attempt has ended (given up, or completed by a twin of this step), or a twin has kept a
 * page meanwhile. Where the attempt stands is in PostgreSQL.
 */
export class AttemptSuperseded extends Error {
  override readonly name = 'AttemptSuperseded';
}

export interface Collecting extends Retiring {
  store: Store;
  blobs: BlobStore;
  records: RecordKeeper;
}

/** Where an attempt stood before these pages. */
export type Before = Pick<AttemptWork, 'resources' | 'pages'>;

/**
 * Stores a source's pages as they come: bytes to the blob store, then resources, documents and where to go on in
 * one transaction. After the last page all of it is merged into the patient's record, and only then the attempt ends:
 * what the webhook announces is merged. Killed at any point, it goes on after the last page that was committed.
 *
 * @returns how many resources the attempt has collected
 */
export async function collectPages(
  deps: Collecting,
  step: SourceStepInput,
  patientId: string,
  pages: AsyncIterable<SourcePage>,
  signal: AbortSignal,
  before: Before = { resources: 0, pages: 0 },
): Promise<number> {
  let { resources, pages: pageCount } = before;
  let isAnnounced = step.source !== 'hie';
  for await (const page of pages) {
    // A worker that died may not have got to announce what it had kept; told once all the same.
    if (!isAnnounced && resources > 0) {
      await announceMerged(deps, step, patientId);
      isAnnounced = true;
    }
    resources += await keepPage(deps, step, patientId, page, pageCount);
    pageCount += 1;
    if (!isAnnounced && resources > 0 && page.next !== null) {
      await announceMerged(deps, step, patientId);
      isAnnounced = true;
    }
  }
  await completeCollected(deps, step, patientId, signal);
  return resources;
}

async function keepPage(
  deps: Pick<Collecting, 'store' | 'blobs'>,
  step: SourceStepInput,
  patientId: string,
  page: SourcePage,
  pageCount: number,
): Promise<number> {
  const documents = await keepBytes(deps.blobs, step, patientId, page);
  const collected = identify(page, documents[0]?.fileName ?? '');
  const counts = {
    resources: collected.length,
    strays: page.misattributedCount,
    documents: documents.length,
  };
  const isKept = await deps.store.asAccount(step.accountId, async (tx) => {
    if (!(await savePage(tx, step, pageCount, counts, page.next))) return false;
    await insertDocuments(tx, documents);
    await insertSourcePatientIds(tx, patientId, step.source, page.patientIds);
    const documentId = documents[0]?.id ?? '';
    await upsertResources(tx, { patientId, source: step.source, documentId }, collected);
    await retireRetracted(tx, step, patientId, page);
    await noteAnswered(tx, step, pageCount, {
      resources: collected.map(({ resourceType, sourceId }) => ({ resourceType, id: sourceId })),
      isPartial: page.reportedErrors > 0,
    });
    await recordOmissions(tx, step, page);
    return true;
  });
  if (!isKept) {
    // Nobody knows of these; the attempt, and perhaps the patient, is gone.
    for (const { blobRef } of documents) await deps.blobs.delete(blobRef);
    throw new AttemptSuperseded('The attempt was ended or taken over meanwhile');
  }
  return collected.length;
}

/**
 * Retires what the whole answer no longer holds, merges what an attempt has collected and ends it; the last step of every
 * attempt that brought data.
 */
export async function completeCollected(
  deps: Pick<Collecting, 'store' | 'records' | 'connectors'>,
  step: SourceStepInput,
  patientId: string,
  signal: AbortSignal,
): Promise<void> {
  await retireMissing(deps, step, patientId, signal);
  await deps.records.merge(step.accountId, patientId, { documentsOf: step.source });
  const status = await deps.store.asAccount(step.accountId, async (tx) => {
    await lockQuery(tx, step.requestId);
    await recordExclusions(tx, step, patientId);
    await completeAttempt(tx, step);
    return (await readAttempt(tx, step))?.status;
  });
  // Somebody may give an attempt up while its last pages are merged.
  if (status !== 'completed') throw new AttemptSuperseded('The attempt was ended meanwhile');
}

async function announceMerged(
  deps: Pick<Collecting, 'store' | 'records'>,
  step: SourceStepInput,
  patientId: string,
): Promise<void> {
  await deps.records.merge(step.accountId, patientId, { documentsOf: step.source });
  await deps.store.asAccount(step.accountId, (tx) => announceFirstData(tx, step));
}

/** The answer itself comes first; its name is what `meta.source` of its resources will say. */
async function keepBytes(
  blobs: BlobStore,
  step: SourceStepInput,
  patientId: string,
  page: SourcePage,
): Promise<NewDocument[]> {
  const keep = async (
    kind: 'page' | 'attachment',
    bytes: Buffer,
    contentType: string,
    sourceDocumentId?: string,
  ) => {
    const blobKind: BlobKind = kind === 'page' ? 'source-answer' : 'document';
    const blob = await blobs.put(blobKind, bytes, contentType);
    const id = uuidv7();
    return {
      id,
      patientId,
      queryId: step.requestId,
      source: step.source,
      kind,
      sourceDocumentId,
      fileName: `${step.source}-${id}.${extensionOf(contentType)}`,
      contentType,
      sizeBytes: blob.sizeBytes,
      sha256: Buffer.from(blob.sha256, 'hex'),
      blobRef: blob.ref,
    } satisfies NewDocument;
  };
  const documents: NewDocument[] = [];
  // A page may be empty: a search that the source does not serve, a list that held only strays.
  if (page.raw.bytes.length > 0) documents.push(await keep('page', page.raw.bytes, page.raw.contentType));
  const attachments = page.attachments.map(({ bytes, contentType, documentReferenceId }) =>
    keep('attachment', bytes, contentType, documentReferenceId),
  );
  return [...documents, ...(await Promise.all(attachments))];
}

/**
 * Resources by their identity at the source, each naming the document it came from; a repeat within a page counts
 * once: the newer version, where both say which they are, else the later one.
 */
function identify(page: SourcePage, fileName: string): CollectedResource[] {
  const byIdentity = new Map<string, CollectedResource>();
  for (const resource of page.resources) {
    const { resourceType, id } = resource;
    if (id === undefined) continue;
    const revision = revisionOf(resource as unknown as Json);
    const known = byIdentity.get(`${resourceType}/${id}`);
    if (known !== undefined && revision !== '' && revision < known.revision) continue;
    const json = JSON.stringify({ ...resource, meta: { ...resource.meta, source: fileName } });
    byIdentity.set(`${resourceType}/${id}`, {
      resourceType,
      sourceId: id,
      // The name differs with every collection; the same content must have the same hash.
      sha256: createHash('sha256')
        .update(fileName === '' ? json : json.replaceAll(fileName, ''))
        .digest('hex'),
      json,
      revision,
    });
  }
  return [...byIdentity.values()];
}
