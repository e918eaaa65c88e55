import { hash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { Json } from '#record-summary/fhir';
import { extensionOf } from '../../../lib/file-extension.ts';
import type { BlobRef, BlobStore } from '../../../shared/blobs/blob-store.ts';
import {
  type AccountTx,
  NOT_FLUSHED,
} from '../../platform/database/database.ts';
import { insertOutcomes } from '../../records/conversion/conversion-store.ts';
import { isPlainText } from '../../records/conversion/convert-documents.ts';
import {
  type CollectedResource,
  insertDocuments,
  insertSourcePatientIds,
  type NewDocument,
  readSourcePatientIds,
  readStoredFiles,
  upsertResources,
} from '../../records/deliveries/delivery-store.ts';
import { lockRecord } from '../../records/merge/merge-store.ts';
import {
  recordPageResources,
  retire,
} from '../../records/merge/retirement-store.ts';
import { fileOwnerOf } from '../../records/rules/attachments.ts';
import { revisionOf } from '../../records/rules/delivery-facts.ts';
import { isTakenBack } from '../../records/rules/retirement.ts';
import {
  SourceFailure,
  type SourcePage,
} from '../../sources/connectors/connector.ts';
import { type PartStep, type SourceWork, savePage } from './attempt-store.ts';
import {
  forgetLastCollection,
  lacksResources,
  leavesGap,
  recordOmissions,
} from './collection-store.ts';
import {
  type Completing,
  completeCollected,
  merge,
  readAnswer,
  type StoredAnswer,
} from './complete.ts';
import { announceFirstData } from './endings.ts';
import { isOfAnotherPerson } from './same-person.ts';
import { AttemptSuperseded, StepGoesOn } from './step-errors.ts';
import type { Collection } from './tables.ts';
import { createTimeBox } from './time-box.ts';

export interface Collecting extends Completing {
  blobs: BlobStore;
}

/**
 * Stores a source's pages as they arrive: the bytes in the blob store, then
 * resources, documents and the position to resume from in one transaction.
 * After the last page everything is merged into the patient's record, and only
 * then the attempt ends, so a webhook never announces data that is not merged.
 * A killed step resumes after the last committed page.
 *
 * @param files the files that are stored (`readStoredFiles`), if they have been
 *   read
 * @param beginning how the source was asked, to be recorded with the first page
 * @returns how many resources the attempt has collected in total
 * @throws AttemptSuperseded when the attempt was ended or taken over meanwhile,
 *   StepGoesOn when the time of the step is over before the last page,
 *   SourceFailure `refused` when the answer is about another person
 */
export async function collectPages(
  deps: Collecting,
  on: SourceWork,
  pages: AsyncIterable<SourcePage>,
  files?: ReadonlyMap<string, string>,
  beginning?: Collection,
): Promise<number> {
  const { step, work } = on;
  const readFiles = (tx: AccountTx) =>
    readStoredFiles(tx, work.patientId, step.source);
  const known =
    files ?? (await deps.store.asAccount(step.accountId, readFiles));
  const storing = { store: deps.store, blobs: knowing(deps.blobs, known) };
  let { resources, pages: pageCount } = work;
  let answer: StoredAnswer | undefined;
  let isAnnounced = step.source !== 'hie';
  const announce = async () => {
    await merge(deps.records, on, (tx) => announceFirstData(tx, step));
    isAnnounced = true;
  };
  const { isOver } = createTimeBox(deps.clock);
  for await (const page of pages) {
    await ensureSamePerson(deps, on, page);
    // A worker may have died between storing data and announcing it. The
    // event's fact key keeps it to one.
    if (!isAnnounced && resources > 0) await announce();
    const begun = pageCount === work.pages ? beginning : undefined;
    const stored = await storePage(storing, on, page, {
      pageCount,
      beginning: begun,
    });
    ({ answer } = stored);
    resources += stored.resources;
    pageCount += 1;
    if (page.next === null) continue;
    if (!isAnnounced && resources > 0) await announce();
    if (isOver()) throw new StepGoesOn(step.source);
  }
  await completeCollected(deps, on, answer);
  return resources;
}

/** @throws SourceFailure `refused` when a page has another person */
async function ensureSamePerson(
  { store, records }: Collecting,
  on: SourceWork,
  page: SourcePage,
): Promise<void> {
  if (!(await isOfAnotherPerson(store, on, page))) return;
  // What was stored before is out of the record, too.
  await merge(records, on, async () => undefined);
  throw new SourceFailure('refused', `${on.step.source} ${OTHER_PERSON}`);
}

const OTHER_PERSON =
  'answered with another person under the id of the patient: nothing of this answer is filed; compare our description of the patient with the source, or decide on the candidate (npm run admin -- candidates list), then query it again';

/**
 * Stores one page. Returns the number of its resources and, after the last
 * page, what the answer is compared with.
 */
async function storePage(
  { store, blobs }: Pick<Collecting, 'store' | 'blobs'>,
  on: SourceWork,
  page: SourcePage,
  { pageCount, beginning }: { pageCount: number; beginning?: Collection },
): Promise<{ resources: number; answer?: StoredAnswer }> {
  const { step, work, signal } = on;
  const { patientId } = work;
  const { documents, plainTextIds } = await storeBytes(
    blobs,
    step,
    patientId,
    page,
  );
  const large = await storeLargeAttachment(
    blobs,
    step,
    patientId,
    page,
    signal,
  );
  if (large !== undefined) documents.push(large);
  const isLargeLost = page.largeAttachment !== undefined && large === undefined;
  const collected = identify(
    page,
    documents.find(({ kind }) => kind === 'page')?.fileName ?? '',
  );
  const counts = {
    resources: collected.length,
    strays: page.misattributedCount,
    documents: countAttachments(documents),
    hasGap: isLargeLost || leavesGap(page),
  };
  const stored = await store.asAccount(
    step.accountId,
    async (tx) => {
      // Taken before the attempt's row, as the transaction that ends the attempt
      // takes them.
      if (page.retracted.length > 0) await lockRecord(tx, patientId);
      const saved = await savePage(
        tx,
        step,
        pageCount,
        counts,
        page.next,
        beginning,
      );
      if (saved === undefined) return undefined;
      // All of it in one statement: each writes rows of a table of its own.
      await tx.db.united(async (db) => {
        const set = { ...tx, db };
        if (beginning !== undefined)
          await forgetLastCollection(set, step, patientId);
        await insertDocuments(set, documents);
        if (plainTextIds.length > 0)
          await insertOutcomes(set, patientId, plainTextIds, 'not-cda');
        await insertSourcePatientIds(
          set,
          patientId,
          step.source,
          page.patientIds,
        );
        const documentId = documents[0]?.id ?? '';
        await upsertResources(
          set,
          { patientId, source: step.source, documentId },
          collected,
        );
        await recordPageResources(set, step, saved.place, {
          resources: collected.map(({ resourceType, sourceId }) => ({
            resourceType,
            id: sourceId,
          })),
          // What has not changed is missing from an answer with changes, and not
          // from the source.
          isPartial:
            saved.collection?.since !== undefined || lacksResources(page),
        });
      });
      await retireRetracted(tx, step, patientId, page);
      const skippedAttachments =
        page.skippedAttachments + (isLargeLost ? 1 : 0);
      await recordOmissions(tx, step, { ...page, skippedAttachments });
      return {
        answer:
          page.next === null
            ? await readAnswer(tx, on, saved.collection)
            : undefined,
      };
    },
    NOT_FLUSHED,
  );
  if (stored === undefined) {
    // No row refers to these blobs.
    for (const { blobRef } of documents) await blobs.delete(blobRef);
    throw new AttemptSuperseded(
      'The attempt was ended, or continued by another execution of this step',
    );
  }
  return { resources: collected.length, ...stored };
}

/**
 * Retires, with the page itself, the resources that the page reports as deleted
 * or as another person's.
 */
async function retireRetracted(
  tx: AccountTx,
  step: PartStep,
  patientId: string,
  { retracted }: SourcePage,
): Promise<void> {
  if (retracted.length === 0) return;
  const ids =
    (await readSourcePatientIds(tx, patientId)).get(step.source) ?? new Set();
  await retire(
    tx,
    step,
    patientId,
    retracted.filter((retraction) => isTakenBack(retraction, ids)),
  );
}

/**
 * The blob store for one who has these files, by SHA-256: it stores their bytes
 * again only if they got lost, and keeps their blobs.
 */
function knowing(
  blobs: BlobStore,
  files: ReadonlyMap<string, string>,
): BlobStore {
  const kept = new Set(files.values());
  return {
    ...blobs,
    put: async (kind, content, contentType) => {
      if (!(content instanceof Uint8Array))
        return blobs.put(kind, content, contentType);
      const sha256 = hash('sha256', content);
      const ref = files.get(sha256);
      return ref !== undefined && (await blobs.has(ref))
        ? { ref, sha256, sizeBytes: content.length, contentType }
        : blobs.put(kind, content, contentType);
    },
    delete: async (ref) => (kept.has(ref) ? undefined : blobs.delete(ref)),
  };
}

/**
 * Stores a page's bytes and attachments as blobs. The page itself is the first
 * document; its file name becomes the `meta.source` of the page's resources.
 * Returns also which attachments are plain text.
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
  // A page is empty when the source does not serve a search, or when all of its
  // resources were misattributed.
  if (raw.bytes.length > 0)
    documents.push(
      describe(
        'page',
        await blobs.put('source-answer', raw.bytes, raw.contentType),
      ),
    );
  const stored = new Map<string, Promise<BlobRef>>();
  const attachments = await Promise.all(
    page.attachments.map(async ({ bytes, contentType, sourceDocumentId }) => {
      // A source may give a file with a report and as a document of its own.
      const name = `${contentType} ${hash('sha256', bytes)}`;
      const blob =
        stored.get(name) ?? blobs.put('document', bytes, contentType);
      stored.set(name, blob);
      return describe('attachment', await blob, sourceDocumentId);
    }),
  );
  const isPlain = page.attachments.map(({ bytes, contentType }) =>
    isPlainText(bytes, contentType),
  );
  return {
    documents: [...documents, ...attachments],
    plainTextIds: attachments
      .filter((_, index) => isPlain[index])
      .map(({ id }) => id),
  };
}

/**
 * How many of the files a person can get, as `listedDocuments` selects them: no
 * stored answers, equal files of a resource once, and what is a document of its
 * own not again as the file of a report.
 */
function countAttachments(documents: readonly NewDocument[]): number {
  const files = documents.flatMap(({ kind, sourceDocumentId = '', sha256 }) =>
    kind === 'attachment'
      ? [{ key: sourceDocumentId, hash: sha256.toString('hex') }]
      : [],
  );
  const isDocument = ({ key }: { key: string }) =>
    fileOwnerOf(key).resourceType === 'DocumentReference';
  const ofDocuments = new Set(files.filter(isDocument).map(({ hash }) => hash));
  return new Set(
    files
      .filter((file) => isDocument(file) || !ofDocuments.has(file.hash))
      .map(({ key, hash }) => `${key} ${hash}`),
  ).size;
}

/**
 * Streams the page's large attachment into the blob store. Undefined if there
 * is none, or if it broke off twice.
 */
async function storeLargeAttachment(
  blobs: BlobStore,
  step: PartStep,
  patientId: string,
  { largeAttachment }: SourcePage,
  signal: AbortSignal,
): Promise<NewDocument | undefined> {
  if (largeAttachment === undefined) return undefined;
  const { contentType, sourceDocumentId } = largeAttachment;
  for (const isLast of [false, true]) {
    try {
      const blob = await blobs.put(
        'document',
        largeAttachment.chunks(),
        contentType,
      );
      return describerFor(step, patientId)(
        'attachment',
        blob,
        sourceDocumentId,
      );
    } catch (error) {
      if (!(error instanceof SourceFailure) || signal.aborted) throw error;
      if (isLast || error.kind !== 'transport') break;
    }
  }
  return undefined;
}

const describerFor =
  (step: PartStep, patientId: string) =>
  (
    kind: 'page' | 'attachment',
    blob: BlobRef,
    sourceDocumentId?: string,
  ): NewDocument => {
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
 * A page's resources, one for each type and id, with `meta.source` naming the
 * document they came from. Of repeated resources the newer version counts where
 * both carry a version, otherwise the later in the page. Resources without an
 * id are left out.
 */
function identify(page: SourcePage, fileName: string): CollectedResource[] {
  const byIdentity = new Map<string, CollectedResource>();
  for (const resource of page.resources) {
    const { resourceType, id } = resource;
    if (id === undefined) continue;
    const revision = revisionOf(resource as unknown as Json);
    const known = byIdentity.get(`${resourceType}/${id}`);
    if (known !== undefined && revision !== '' && revision < known.revision)
      continue;
    const json = JSON.stringify({
      ...resource,
      meta: { ...resource.meta, source: fileName },
    });
    byIdentity.set(`${resourceType}/${id}`, {
      resourceType,
      sourceId: id,
      // The file name differs with every collection, and equal content must
      // have an equal hash.
      sha256: hash(
        'sha256',
        fileName === '' ? json : json.replaceAll(fileName, ''),
      ),
      json,
      revision,
    });
  }
  return [...byIdentity.values()];
}
