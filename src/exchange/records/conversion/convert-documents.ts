import { createHash } from 'node:crypto';
import type { DocumentReference, Patient } from 'fhir/r4.js';
import { agreesWithPerson } from '#person-matching';
import type { Json } from '#record-summary/fhir';
import type { RecordSource, SourceType } from '../../../contract/primitives.ts';
import {
  BlobNotFoundError,
  type BlobStore,
} from '../../../shared/blobs/blob-store.ts';
import { sharedAmong } from '../../people/households/shared-values.ts';
import {
  findPatient,
  type StoredPatient,
} from '../../people/patients/patient-store.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { isRefusedData } from '../../platform/database/postgres-errors.ts';
import {
  type CollectedResource,
  deleteReplaced,
  documentOf,
  insertDocuments,
  readSourcePatientIds,
  upsertResources,
} from '../deliveries/delivery-store.ts';
import { type InlineFile, withoutFiles } from '../deliveries/inline-files.ts';
import { lockRecord } from '../merge/merge-store.ts';
import { CCDA_BYTES_MAX, type CcdaConverter } from './ccda-converter.ts';
import type { CcdaOutcome } from './ccda-thread.ts';
import {
  deleteConverted,
  deleteMadeInError,
  insertAsBefore,
  insertConversion,
  insertOutcomes,
  isBodyStored,
  type NewOutcome,
  readDeliveryOf,
  readDocumentWork,
  type UnconvertedDocument,
  unconvertedDocuments,
} from './conversion-store.ts';

export interface ConvertDeps {
  store: Pick<Store, 'asAccount'>;
  blobs: BlobStore;
  converter: CcdaConverter;
  /**
   * Notes, in the query that delivered it, that a document is in the record
   * only in part, or not at all.
   */
  noteIncomplete: NoteIncomplete;
}

/**
 * Adds a sentence without personal data to the timeline of a query, if that
 * query still exists.
 */
export type NoteIncomplete = (
  tx: AccountTx,
  queryId: string,
  source: SourceType,
  message: string,
) => Promise<void>;

/**
 * Finds the documents that must be converted before a merge: those that older
 * rules converted, and new ones of the given source, unless the record has what
 * their bytes state. The caller holds the record's lock.
 */
export async function documentsToConvert(
  tx: AccountTx,
  patientId: string,
  source?: RecordSource,
): Promise<UnconvertedDocument[]> {
  const { hasUnconverted, hasWithdrawn } = await readDocumentWork(
    tx,
    patientId,
    source,
  );
  if (hasWithdrawn && source !== undefined)
    await deleteMadeInError(tx, patientId, source);
  const listed = hasUnconverted
    ? await unconvertedDocuments(tx, patientId, source)
    : [];
  const documents: UnconvertedDocument[] = [];
  for (const files of bySourceDocument(listed))
    if (!(await isKnown(tx, patientId, files))) documents.push(...files);
  // Otherwise `convertDocuments` does it, when it knows what they state.
  if (
    (hasWithdrawn || listed.length > 0) &&
    documents.length === 0 &&
    source !== undefined
  )
    await deleteReplaced(tx, patientId);
  return documents;
}

/**
 * Whether the newest version of a document has the bytes that the record's
 * resources were made of. If so, that is its outcome.
 */
async function isKnown(
  tx: AccountTx,
  patientId: string,
  files: readonly UnconvertedDocument[],
): Promise<boolean> {
  const [[file, ...parts] = [], ...older] = versionsOf(files);
  if (
    file === undefined ||
    parts.length > 0 ||
    !(await insertAsBefore(tx, patientId, file))
  )
    return false;
  const olderIds = older.flat().map(({ id }) => id);
  if (olderIds.length > 0)
    await insertOutcomes(tx, patientId, olderIds, 'superseded');
  return true;
}

/**
 * Converts C-CDA documents to FHIR resources, stored as deliveries of their
 * source: the newest version of each; an older version only if no newer one can
 * be converted. Each document gets one outcome. One that could not be converted
 * stays available as a document, and the timeline of its query says why. Then
 * what documents state that others have replaced leaves the record.
 */
export async function convertDocuments(
  deps: ConvertDeps,
  of: { accountId: string; patientId: string },
  documents: readonly UnconvertedDocument[],
): Promise<void> {
  const candidates = await withoutPlainText(
    deps,
    of,
    bySourceDocument(documents),
  );
  for (const files of candidates) {
    const [newest = [], ...older] = versionsOf(files);
    let isConverted = await convertParts(deps, of, newest);
    for (const version of older) {
      const ids = version.map(({ id }) => id);
      if (isConverted)
        await deps.store.asAccount(of.accountId, (tx) =>
          insertOutcomes(tx, of.patientId, ids, 'superseded'),
        );
      else isConverted = await convertParts(deps, of, version);
    }
  }
  await deps.store.asAccount(of.accountId, async (tx) => {
    await lockRecord(tx, of.patientId);
    await deleteReplaced(tx, of.patientId);
  });
}

/**
 * Groups the files of a document by the query or message that delivered them,
 * the newest first.
 */
function versionsOf(
  files: readonly UnconvertedDocument[],
): UnconvertedDocument[][] {
  const byDelivery = Map.groupBy(files, ({ broughtBy }) => broughtBy);
  const newestIn = (version: readonly UnconvertedDocument[]): number =>
    Math.max(...version.map((file) => files.indexOf(file)));
  return [...byDelivery.values()].sort(
    (left, right) => newestIn(right) - newestIn(left),
  );
}

/**
 * XML has its first tag within this many bytes in any encoding (see openXml).
 */
const FIRST_TAG_WITHIN_BYTES = 4_000;
const READ_AT_ONCE = 8;
/** Content types that do not say whether a file is XML. */
const MAYBE_XML: ReadonlySet<string> = new Set([
  'application/octet-stream',
  'text/plain',
]);

/**
 * Whether a file, while it is still in memory, is seen not to be XML although
 * its content type leaves it open. Most attachments are such notes. With the
 * outcome `not-cda` (`insertOutcomes`) they need not be read again to find that
 * out.
 */
export const isPlainText = (bytes: Uint8Array, contentType: string): boolean =>
  MAYBE_XML.has(contentType) &&
  !hasTag(bytes.subarray(0, FIRST_TAG_WITHIN_BYTES));

const hasTag = (start: Uint8Array): boolean =>
  start.includes('<'.charCodeAt(0));

/**
 * Files that are not declared as XML and have no `<` at their beginning get the
 * outcome `not-cda`, in one statement. Most have it from when they were stored;
 * those of messages and large ones have not. Returns the remaining documents.
 */
async function withoutPlainText(
  { store, blobs }: ConvertDeps,
  { accountId, patientId }: { accountId: string; patientId: string },
  groups: readonly UnconvertedDocument[][],
): Promise<UnconvertedDocument[][]> {
  const isPlain = async ({
    saysXml,
    formerOutcome,
    blobRef,
  }: UnconvertedDocument): Promise<boolean> => {
    if (saysXml) return false;
    if (formerOutcome === 'not-cda') return true;
    const start = await blobs
      .getRange(blobRef, 0, FIRST_TAG_WITHIN_BYTES)
      .catch((error: unknown) => {
        if (error instanceof BlobNotFoundError) return undefined;
        throw error;
      });
    return start !== undefined && !hasTag(start);
  };
  const plain = new Set<UnconvertedDocument[]>();
  for (let index = 0; index < groups.length; index += READ_AT_ONCE) {
    await Promise.all(
      groups.slice(index, index + READ_AT_ONCE).map(async (versions) => {
        if (!(await Promise.all(versions.map(isPlain))).includes(false))
          plain.add(versions);
      }),
    );
  }
  const plainIds = [...plain].flat().map(({ id }) => id);
  if (plainIds.length > 0)
    await store.asAccount(accountId, (tx) =>
      insertOutcomes(tx, patientId, plainIds, 'not-cda'),
    );
  return groups.filter((versions) => !plain.has(versions));
}

/** Groups documents by their resource, oldest first in each group. */
const bySourceDocument = (
  documents: readonly UnconvertedDocument[],
): UnconvertedDocument[][] => [
  ...Map.groupBy(
    documents,
    ({ source, sourceDocumentId }) => `${source} ${sourceDocumentId}`,
  ).values(),
];

/**
 * Converts the files of one resource, which may refer to several.
 *
 * @returns whether the content of any of them is in the record now
 */
async function convertParts(
  deps: ConvertDeps,
  { accountId, patientId }: { accountId: string; patientId: string },
  parts: readonly UnconvertedDocument[],
): Promise<boolean> {
  let isAnyConverted = false;
  const sorted = [...parts].sort((left, right) =>
    left.sha256 < right.sha256 ? -1 : 1,
  );
  const keptIds: string[] = [];
  for (const [index, part] of sorted.entries()) {
    const { person, names } = await deps.store.asAccount(
      accountId,
      async (tx) => ({
        person: await findPatient(tx, patientId),
        names: await namesOf(tx, patientId, part, index),
      }),
    );
    const outcome: Outcome = await convertOne(deps, accountId, part, names);
    const isOurs =
      outcome.kind !== 'converted' ||
      (person !== undefined &&
        (await isAbout(
          deps,
          accountId,
          person,
          outcome.patient as unknown as Patient,
        )));
    const write = (tx: AccountTx) =>
      writeOutcome(
        deps,
        tx,
        patientId,
        part,
        isOurs ? outcome : ANOTHER,
        keptIds,
      );
    try {
      await deps.store.asAccount(accountId, write);
      isAnyConverted ||= isOurs && outcome.kind === 'converted';
    } catch (error) {
      if (!isRefusedData(error)) throw error;
      const refused = {
        kind: 'failed',
        reason: 'the database refused its content',
      } as const;
      await deps.store.asAccount(accountId, (tx) =>
        writeOutcome(deps, tx, patientId, part, refused, keptIds),
      );
    }
  }
  return isAnyConverted;
}

/** Whether the person in a document's header is this patient. */
async function isAbout(
  { store }: ConvertDeps,
  accountId: string,
  person: StoredPatient,
  theirs: Patient,
): Promise<boolean> {
  if (!agreesWithPerson(person, theirs)) return false;
  const shared = await store.asAccount(accountId, (tx) =>
    sharedAmong(tx, accountId, person, [theirs]),
  );
  return agreesWithPerson(person, theirs, shared);
}

type Outcome = CcdaOutcome | typeof GONE;
const GONE = {
  kind: 'failed',
  reason: 'its content is no longer stored',
  isPassing: true,
} as const;
const ANOTHER: Outcome = { kind: 'skipped', reason: 'it names another person' };

/**
 * @param keptIds `Type/id` of the document's resources so far; those of this
 *   part are appended
 */
async function writeOutcome(
  deps: Pick<ConvertDeps, 'blobs' | 'noteIncomplete'>,
  tx: AccountTx,
  patientId: string,
  part: UnconvertedDocument,
  outcome: Outcome,
  keptIds: string[],
): Promise<void> {
  // What older rules made of a document that today's cannot convert, no rule
  // vouches for any more.
  if (
    part.isOutdated &&
    part.formerOutcome === 'converted' &&
    outcome.kind !== 'converted'
  ) {
    await lockRecord(tx, patientId);
    await deleteConverted(tx, patientId, part, keptIds);
  }
  switch (outcome.kind) {
    case 'not-cda':
      await insertConversion(tx, patientId, part.id, { outcome: 'not-cda' });
      return;
    case 'not-xml':
      return record(deps, tx, patientId, part, {
        outcome: 'skipped',
        reason: outcome.reason,
      });
    case 'skipped':
    case 'failed': {
      const { kind, ...rest } = outcome;
      return record(deps, tx, patientId, part, { outcome: kind, ...rest });
    }
    case 'converted': {
      const files: InlineFile[] = [];
      const resources = outcome.resources.map((resource) =>
        asCollected(
          isBody(resource, outcome)
            ? (withoutFiles(
                resource as unknown as DocumentReference,
                files,
              ) as unknown as Json)
            : resource,
        ),
      );
      keptIds.push(
        ...resources.map(
          ({ resourceType, sourceId }) => `${resourceType}/${sourceId}`,
        ),
      );
      await lockRecord(tx, patientId);
      await deleteConverted(tx, patientId, part, keptIds);
      const { source, sourceDocumentId: convertedFrom } = part;
      await upsertResources(
        tx,
        { patientId, source, documentId: part.id, convertedFrom },
        resources,
      );
      for (const file of files)
        await storeBody(deps.blobs, tx, patientId, part, file);
      const written = {
        resources: resources.length,
        reason: unconvertedParts(outcome),
        version: outcome.version,
      };
      return record(deps, tx, patientId, part, {
        outcome: 'converted',
        ...written,
      });
    }
  }
}

const isBody = (
  { resourceType, id }: Json,
  { bodyId }: CcdaOutcome & { kind: 'converted' },
): boolean =>
  bodyId !== undefined && resourceType === 'DocumentReference' && id === bodyId;

/**
 * Stores the file that is the body of a document as a document of its own, beside
 * the one it was in, once for each delivery of that.
 */
async function storeBody(
  blobs: Pick<BlobStore, 'put'>,
  tx: AccountTx,
  patientId: string,
  part: UnconvertedDocument,
  { sourceDocumentId, contentType, bytes }: InlineFile,
): Promise<void> {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (await isBodyStored(tx, part, { sourceDocumentId, sha256 })) return;
  // What a transaction that fails has written is swept, as no row names it.
  const blob = await blobs.put('document', bytes, contentType);
  const stored = documentOf(blob, part.source, { sourceDocumentId });
  const delivered = await readDeliveryOf(tx, part.id);
  await insertDocuments(tx, [{ ...stored, patientId, ...delivered }]);
  await insertOutcomes(tx, patientId, [stored.id], 'not-cda');
}

async function convertOne(
  { blobs, converter }: ConvertDeps,
  accountId: string,
  document: UnconvertedDocument,
  names: { unit: string; patientId: string },
): Promise<CcdaOutcome | typeof GONE> {
  const megabytes = (bytes: number) => Math.round(bytes / 1_000_000);
  if (document.sizeBytes > CCDA_BYTES_MAX) {
    const size = megabytes(document.sizeBytes);
    const max = megabytes(CCDA_BYTES_MAX);
    return {
      kind: 'skipped',
      reason: `it has ${size} MB; at most ${max} MB are converted`,
    };
  }
  try {
    const outcome = await converter.convert(
      accountId,
      await blobs.read(document.blobRef),
      names,
    );
    // A plain-text note or an image was never meant to be C-CDA.
    return outcome.kind === 'not-xml' && !document.saysXml
      ? { kind: 'not-cda' }
      : outcome;
  } catch (error) {
    if (error instanceof BlobNotFoundError) return GONE;
    throw error;
  }
}

async function namesOf(
  tx: AccountTx,
  patientId: string,
  document: UnconvertedDocument,
  index: number,
) {
  const ids = await readSourcePatientIds(tx, patientId);
  const unit = createHash('sha256')
    .update(document.sourceDocumentId)
    .digest('hex')
    .slice(0, 16);
  const [sourcePatientId = 'unknown'] = [
    ...(ids.get(document.source) ?? []),
  ].sort();
  return {
    unit: index === 0 ? unit : `${unit}.${index}`,
    patientId: sourcePatientId,
  };
}

function asCollected(resource: Json): CollectedResource {
  const json = JSON.stringify(resource);
  return {
    resourceType: String(resource.resourceType),
    sourceId: String(resource.id),
    sha256: createHash('sha256').update(json).digest('hex'),
    json,
    revision: '',
  };
}

/** What can be read in the document only. */
function unconvertedParts({
  skippedSections,
  leftOutEntries,
  leftOutTemplates,
  leftOutParts,
  readAs,
  unevenSections,
}: CcdaOutcome & { kind: 'converted' }): string | undefined {
  const parts = [
    skippedSections === 0 ? [] : `${skippedSections} of its sections`,
    leftOutEntries === 0 ? [] : `${leftOutEntries} of its entries`,
  ].flat();
  const which = byTemplate('entries', leftOutTemplates);
  const inner = Object.values(leftOutParts).reduce((sum, one) => sum + one, 0);
  const innerParts =
    inner === 0
      ? []
      : [
          `${inner} parts of its entries can be read in the document only${byTemplate('parts', leftOutParts)}`,
        ];
  const otherwise =
    readAs === undefined
      ? []
      : [`it was read as ${readAs}, which is not the encoding it states`];
  const missing =
    parts.length === 0
      ? []
      : [`${parts.join(' and ')} could not be converted${which}`];
  const uneven =
    unevenSections.length === 0
      ? []
      : [
          `its words and its entries differ in number: ${unevenSections.join(', ')}`,
        ];
  return (
    [...missing, ...innerParts, ...uneven, ...otherwise].join('; ') || undefined
  );
}

/** ` (entries by template: 4.99: 3)`; '' for none. */
function byTemplate(
  what: string,
  counts: Readonly<Record<string, number>>,
): string {
  const each = Object.entries(counts).map(
    ([template, number]) => `${template}: ${number}`,
  );
  return each.length === 0 ? '' : ` (${what} by template: ${each.join(', ')})`;
}

/**
 * Records the outcome of a document, and says in its query what could not be
 * converted, unless that is known there.
 */
async function record(
  { noteIncomplete }: Pick<ConvertDeps, 'noteIncomplete'>,
  tx: AccountTx,
  patientId: string,
  { id, queryId, source, formerReason }: UnconvertedDocument,
  outcome: NewOutcome,
): Promise<void> {
  const { reason } = outcome;
  const isNew = await insertConversion(tx, patientId, id, outcome);
  if (!isNew || reason === undefined || reason === formerReason) return;
  if (queryId === null || source === 'message' || source === 'contribution')
    return;
  const what =
    outcome.outcome === 'converted'
      ? 'was converted, but '
      : 'is kept but was not converted: ';
  await noteIncomplete(tx, queryId, source, `A document ${what}${reason}`);
}
