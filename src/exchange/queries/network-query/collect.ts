import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { extensionOf } from '../../../lib/file-extension.ts';
import { type BlobRef, type BlobStore, BlobStoreUnavailableError } from '../../../shared/blobs/blob-store.ts';
import { isConnectionFault } from '../../platform/database/connection-fault.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { insertOutcomes } from '../../records/conversion/conversion-store.ts';
import { isPlainText } from '../../records/conversion/convert-documents.ts';
import {
  type CollectedResource,
  insertDocuments,
  type NewDocument,
  upsertResources,
} from '../../records/deliveries/delivery-store.ts';
import { insertSourcePatientIds } from '../../records/deliveries/source-patient-store.ts';
import { lockRecord } from '../../records/merge/merge-store.ts';
import { recordPageResources } from '../../records/merge/retirement-store.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import { revisionOf } from '../../records/rules/delivery-facts.ts';
import type { Json } from '../../records/rules/json.ts';
import { SourceFailure, type SourcePage } from '../../sources/connectors/connector.ts';
import { type AttemptWork, type PartStep, readStatus, savePage } from './attempt-store.ts';
import { forgetLastCollection, rememberCollection } from './collection-store.ts';
import { type Countable, compareCounts, readCountable } from './compare-counts.ts';
import { announceFirstData, completeLocked } from './endings.ts';
import { lacksResources, leavesGap, recordExclusions, recordOmissions } from './omissions.ts';
import { endPart } from './part-store.ts';
import { lockQuery } from './query-store.ts';
import {
  type Missing,
  type Retiring,
  readMissing,
  retireMissing,
  retireRetracted,
} from './retire-missing.ts';
import type { Collection } from './tables.ts';

/**
 * A page came too late: the attempt has ended (given up, or completed by another execution of this step), or another
 * execution has stored a page meanwhile. Read the attempt's state from PostgreSQL again.
 */
export class AttemptSuperseded extends Error {
  override readonly name = 'AttemptSuperseded';
}

/** The answer is stored, but could not be merged into the patient's record: a fault of ours, never the source's. */
export class MergeFailed extends Error {
  override readonly name = 'MergeFailed';

  constructor(cause: unknown) {
    super('The answer is stored, but the exchange could not merge it into the record', { cause });
  }
}

async function merging(merge: Promise<unknown>): Promise<void> {
  await merge.catch((error: unknown) => {
    const isKnown = error instanceof AttemptSuperseded || error instanceof BlobStoreUnavailableError;
    throw isKnown || isConnectionFault(error) ? error : new MergeFailed(error);
  });
}

export interface Collecting extends Retiring {
  store: Store;
  blobs: BlobStore;
  records: RecordKeeper;
}

/** An attempt's totals before these pages. */
type TotalsBefore = Pick<AttemptWork, 'resources' | 'pages'>;

/**
 * Stores a source's pages as they arrive: the bytes in the blob store, then resources, documents and the position to
 * resume from in one transaction. After the last page everything is merged into the patient's record, and only then the
 * attempt ends, so a webhook never announces data that is not merged. A killed step resumes after the last committed page.
 *
 * @param signal aborts the reads at the source
 * @param beginning how the source was asked, to be recorded with the first page
 * @returns how many resources the attempt has collected in total
 * @throws AttemptSuperseded when the attempt was ended or taken over meanwhile
 */
export async function collectPages(
  deps: Collecting,
  step: PartStep,
  patientId: string,
  pages: AsyncIterable<SourcePage>,
  signal: AbortSignal,
  before: TotalsBefore = { resources: 0, pages: 0 },
  beginning?: Collection,
): Promise<number> {
  let { resources, pages: pageCount } = before;
  let answer: Answer | undefined;
  let isAnnounced = step.source !== 'hie';
  for await (const page of pages) {
    // A worker may have died between storing data and announcing it. The event's fact key keeps it to one.
    if (!isAnnounced && resources > 0) {
      await announceMerged(deps, step, patientId);
      isAnnounced = true;
    }
    const begun = pageCount === before.pages ? beginning : undefined;
    const stored = await storePage(deps, step, patientId, page, { pageCount, beginning: begun }, signal);
    ({ answer } = stored);
    resources += stored.resources;
    pageCount += 1;
    if (!isAnnounced && resources > 0 && page.next !== null) {
      await announceMerged(deps, step, patientId);
      isAnnounced = true;
    }
  }
  await completeCollected(deps, step, patientId, signal, answer);
  return resources;
}

/** What the pages of an answer are compared with, once they are all stored. */
interface Answer {
  countable: Countable | undefined;
  missing: Missing | undefined;
}

const readAnswer = async (
  tx: AccountTx,
  deps: Pick<Collecting, 'connectors'>,
  step: PartStep,
  patientId: string,
): Promise<Answer> => ({
  countable: await readCountable(tx, deps, step, patientId),
  missing: await readMissing(tx, step, patientId),
});

/** Stores one page. Returns the number of its resources and, after the last page, what the answer is compared with. */
async function storePage(
  deps: Pick<Collecting, 'store' | 'blobs' | 'connectors'>,
  step: PartStep,
  patientId: string,
  page: SourcePage,
  { pageCount, beginning }: { pageCount: number; beginning?: Collection },
  signal: AbortSignal,
): Promise<{ resources: number; answer?: Answer }> {
  const { documents, plainTextIds } = await storeBytes(deps.blobs, step, patientId, page);
  const large = await storeLargeAttachment(deps.blobs, step, patientId, page, signal);
  if (large !== undefined) documents.push(large);
  const isLargeLost = page.largeAttachment !== undefined && large === undefined;
  const collected = identify(page, documents.find(({ kind }) => kind === 'page')?.fileName ?? '');
  const counts = {
    resources: collected.length,
    strays: page.misattributedCount,
    documents: countAttachments(documents),
    hasGap: isLargeLost || leavesGap(page),
  };
  const stored = await deps.store.asAccount(step.accountId, async (tx) => {
    // Taken before the attempt's row, as the transaction that ends the attempt takes them.
    if (page.retracted.length > 0) await lockRecord(tx, patientId);
    const saved = await savePage(tx, step, pageCount, counts, page.next, beginning);
    if (saved === undefined) return undefined;
    if (beginning !== undefined) await forgetLastCollection(tx, step, patientId);
    await insertDocuments(tx, documents);
    if (plainTextIds.length > 0) await insertOutcomes(tx, patientId, plainTextIds, 'not-cda');
    await insertSourcePatientIds(tx, patientId, step.source, page.patientIds);
    const documentId = documents[0]?.id ?? '';
    await upsertResources(tx, { patientId, source: step.source, documentId }, collected);
    await retireRetracted(tx, step, patientId, page);
    await recordPageResources(tx, step, saved.place, {
      resources: collected.map(({ resourceType, sourceId }) => ({ resourceType, id: sourceId })),
      // What has not changed is missing from an answer with changes, and not from the source.
      isPartial: saved.isOfChanges || lacksResources(page),
    });
    const skippedAttachments = page.skippedAttachments + (isLargeLost ? 1 : 0);
    await recordOmissions(tx, step, { ...page, skippedAttachments });
    return { answer: page.next === null ? await readAnswer(tx, deps, step, patientId) : undefined };
  });
  if (stored === undefined) {
    // No row refers to these blobs.
    for (const { blobRef } of documents) await deps.blobs.delete(blobRef);
    throw new AttemptSuperseded('The attempt was ended, or continued by another execution of this step');
  }
  return { resources: collected.length, ...stored };
}

/**
 * Finishes an attempt, or a part of it, whose pages are all stored: retires what the source no longer has, merges the
 * collected data into the patient's record, and ends the attempt or the part in the transaction that merges the last of it.
 * Throws AttemptSuperseded when the attempt was ended otherwise meanwhile, and CountsDiffer when an answer with changes does
 * not account for what the source has.
 *
 * @param answer what the answer is compared with, if it has been read
 */
export async function completeCollected(
  deps: Pick<Collecting, 'store' | 'records' | 'connectors'>,
  step: PartStep,
  patientId: string,
  signal: AbortSignal,
  answer?: Answer,
): Promise<void> {
  const { countable, missing } =
    answer ?? (await deps.store.asAccount(step.accountId, (tx) => readAnswer(tx, deps, step, patientId)));
  await compareCounts(deps, step, countable, signal);
  await retireMissing(deps, step, patientId, missing, signal);
  let isEnded = false as boolean;
  await merging(
    deps.records.merge(step.accountId, patientId, {
      documentsOf: step.source,
      atEnd: async (tx) => {
        isEnded = await endMerged(tx, step, patientId);
      },
    }),
  );
  // The attempt may have been given up while its last pages were merged.
  if (!isEnded) throw new AttemptSuperseded('The attempt was ended while its data was merged');
}

/** Ends an attempt, or a part of it, whose data is merged; returns false when the attempt was ended otherwise. */
async function endMerged(tx: AccountTx, step: PartStep, patientId: string): Promise<boolean> {
  if (step.part !== undefined) {
    await rememberCollection(tx, step, patientId);
    await endPart(tx, step, step.part, { status: 'completed' });
    return (await readStatus(tx, step)) === 'running';
  }
  const query = await lockQuery(tx, step.requestId);
  await recordExclusions(tx, step, patientId);
  const since = (await rememberCollection(tx, step, patientId))?.since;
  return (await completeLocked(tx, step, query, { since })) || (await readStatus(tx, step)) === 'completed';
}

/** Merges the data collected so far and announces that the first data can be read. */
async function announceMerged(
  deps: Pick<Collecting, 'records'>,
  step: PartStep,
  patientId: string,
): Promise<void> {
  await merging(
    deps.records.merge(step.accountId, patientId, {
      documentsOf: step.source,
      atEnd: (tx) => announceFirstData(tx, step),
    }),
  );
}

/**
 * Stores a page's bytes and attachments as blobs. The page itself is the first document; its file name becomes the
 * `meta.source` of the page's resources. Returns also which attachments are plain text.
 */
async function storeBytes(
  blobs: BlobStore,
  step: PartStep,
  patientId: string,
  page: SourcePage,
): Promise<{ documents: NewDocument[]; plainTextIds: string[] }> {
  const describe = describerFor(step, patientId);
  const documents: NewDocument[] = [];
  const { raw } = page;
  // A page is empty when the source does not serve a search, or when all of its resources were misattributed.
  if (raw.bytes.length > 0)
    documents.push(describe('page', await blobs.put('source-answer', raw.bytes, raw.contentType)));
  const attachments = await Promise.all(
    page.attachments.map(async ({ bytes, contentType, documentReferenceId }) =>
      describe('attachment', await blobs.put('document', bytes, contentType), documentReferenceId),
    ),
  );
  const isPlain = page.attachments.map(({ bytes, contentType }) => isPlainText(bytes, contentType));
  return {
    documents: [...documents, ...attachments],
    plainTextIds: attachments.filter((_, index) => isPlain[index]).map(({ id }) => id),
  };
}

/** How many of the files a person can get: the list of documents has no stored answers, and equal files once. */
const countAttachments = (documents: readonly NewDocument[]): number =>
  new Set(
    documents
      .filter(({ kind }) => kind === 'attachment')
      .map(({ sourceDocumentId, sha256 }) => `${sourceDocumentId} ${sha256.toString('hex')}`),
  ).size;

/** Streams the page's large attachment into the blob store. Undefined if there is none, or if it broke off twice. */
async function storeLargeAttachment(
  blobs: BlobStore,
  step: PartStep,
  patientId: string,
  { largeAttachment }: SourcePage,
  signal: AbortSignal,
): Promise<NewDocument | undefined> {
  if (largeAttachment === undefined) return undefined;
  const { contentType, documentReferenceId } = largeAttachment;
  for (const isLast of [false, true]) {
    try {
      const blob = await blobs.put('document', largeAttachment.chunks(), contentType);
      return describerFor(step, patientId)('attachment', blob, documentReferenceId);
    } catch (error) {
      if (!(error instanceof SourceFailure) || signal.aborted) throw error;
      if (isLast || error.kind !== 'transport') break;
    }
  }
  return undefined;
}

const describerFor =
  (step: PartStep, patientId: string) =>
  (kind: 'page' | 'attachment', blob: BlobRef, sourceDocumentId?: string): NewDocument => {
    const id = uuidv7();
    return {
      id,
      patientId,
      queryId: step.requestId,
      source: step.source,
      kind,
      sourceDocumentId,
      fileName: `${step.source}-${id}.${extensionOf(blob.contentType)}`,
      contentType: blob.contentType,
      sizeBytes: blob.sizeBytes,
      sha256: Buffer.from(blob.sha256, 'hex'),
      blobRef: blob.ref,
    };
  };

/**
 * A page's resources, one for each type and id, with `meta.source` naming the document they came from. Of repeated
 * resources the newer version counts where both carry a version, otherwise the later in the page. Resources without an id
 * are left out.
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
      // The file name differs with every collection, and equal content must have an equal hash.
      sha256: createHash('sha256')
        .update(fileName === '' ? json : json.replaceAll(fileName, ''))
        .digest('hex'),
      json,
      revision,
    });
  }
  return [...byIdentity.values()];
}
