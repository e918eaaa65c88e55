import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { SourceStepInput } from '../../contract/source-steps.ts';
import type { BlobKind, BlobStore } from '../blobs/blob-store.ts';
import type { Page } from '../sources/connector.ts';
import { savePage } from '../store/attempts.ts';
import {
  type CollectedResource,
  insertDocuments,
  type NewDocument,
  upsertResources,
} from '../store/collected.ts';
import type { AccountTx, Store } from '../store/database.ts';
import { lockQuery } from '../store/network-queries.ts';
import { tell } from '../store/timeline.ts';
import { announceFirstData, completeAttempt } from './endings.ts';

/**
 * A page came too late: the attempt has ended (given up, or completed by a twin of this step), or a twin has kept a
 * page meanwhile. Where the attempt stands is in PostgreSQL.
 */
export class AttemptSuperseded extends Error {
  override readonly name = 'AttemptSuperseded';
}

export interface Collected {
  resources: number;
  eventIds: string[];
}

/**
 * Stores a source's pages as they come: bytes to the blob store, then resources, documents and where to go on in
 * one transaction; the last page's transaction also ends the attempt. Killed at any point, it goes on after the
 * last page that was committed.
 */
export async function collectPages(
  deps: { store: Store; blobs: BlobStore },
  step: SourceStepInput,
  patientId: string,
  pages: AsyncIterable<Page>,
  onPage: (eventIds: readonly string[]) => void,
  before = { resources: 0, pages: 0 },
): Promise<Collected> {
  let { resources, pages: pageCount } = before;
  let ended = false;
  const eventIds: string[] = [];

  for await (const page of pages) {
    const documents = await keepBytes(deps.blobs, step, patientId, page);
    const collected = identify(page, documents[0]?.fileName ?? '');
    const bringsFirstData = resources === 0 && collected.length > 0;
    const isLast = page.next === null;
    const isFirstData = step.source === 'hie' && bringsFirstData && !isLast;
    const events = await deps.store.asAccount(step.accountId, async (tx) => {
      // Before the attempt, as everyone does who ends one: two who meet then wait instead of blocking each other.
      if (isLast || isFirstData) await lockQuery(tx, step.requestId);
      const counts = { resources: collected.length, strays: page.strayCount, documents: documents.length };
      if (!(await savePage(tx, step, pageCount, counts, page.next)))
        throw new AttemptSuperseded('The attempt was ended or taken over meanwhile');
      await insertDocuments(tx, documents);
      const documentId = documents[0]?.id ?? '';
      await upsertResources(tx, { patientId, source: step.source, documentId }, collected);
      await tellOmissions(tx, step, page);
      const firstData = isFirstData ? await announceFirstData(tx, step) : undefined;
      const end = isLast ? await completeAttempt(tx, step) : undefined;
      return [firstData, end].filter((id) => id !== undefined);
    });
    ended ||= isLast;
    pageCount += 1;
    resources += collected.length;
    eventIds.push(...events);
    onPage(events);
  }

  if (!ended) {
    const event = await deps.store.asAccount(step.accountId, (tx) => completeAttempt(tx, step));
    if (event !== undefined) onPage([event]);
  }
  return { resources, eventIds };
}

/** What the source could not bring in full is told, not passed over. */
async function tellOmissions(tx: AccountTx, step: SourceStepInput, page: Page): Promise<void> {
  const { source, attempt } = step;
  const omissions = [
    page.strayCount > 0 ? `${page.strayCount} resources of other patients put aside` : undefined,
    page.skippedAttachments > 0 ? `${page.skippedAttachments} documents could not be fetched` : undefined,
    page.reportedErrors > 0 ? `the source reports ${page.reportedErrors} errors of its own` : undefined,
  ].filter((omission) => omission !== undefined);
  if (omissions.length === 0) return;
  await tell(tx, step.requestId, { source, attempt, kind: 'incomplete', message: omissions.join('; ') });
}

/** The answer itself comes first; its name is what `meta.source` of its resources will say. */
async function keepBytes(
  blobs: BlobStore,
  step: SourceStepInput,
  patientId: string,
  page: Page,
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

/** Resources by their identity at the source, each naming the document it came from; a repeat within a page counts once. */
function identify(page: Page, fileName: string): CollectedResource[] {
  const byIdentity = new Map<string, CollectedResource>();
  for (const resource of page.resources) {
    const { resourceType, id } = resource;
    if (id === undefined) continue;
    const json = JSON.stringify({ ...resource, meta: { ...resource.meta, source: fileName } });
    byIdentity.set(`${resourceType}/${id}`, {
      resourceType,
      sourceId: id,
      // The name differs with every collection; the same content must have the same hash.
      sha256: createHash('sha256')
        .update(fileName === '' ? json : json.replaceAll(fileName, ''))
        .digest('hex'),
      json,
    });
  }
  return [...byIdentity.values()];
}

function extensionOf(contentType: string): string {
  if (contentType.includes('ndjson')) return 'ndjson';
  if (contentType.includes('json')) return 'json';
  if (contentType.includes('xml')) return 'xml';
  if (contentType.includes('pdf')) return 'pdf';
  if (contentType.startsWith('text/html')) return 'html';
  return contentType.startsWith('text/') ? 'txt' : 'bin';
}
