import type { FhirResource } from 'fhir/r4.js';
import { sql } from 'kysely';
import type { Json } from '#record-summary/fhir';
import type { ContributionStatus } from '../../../contract/contribution.ts';
import { fhirJson } from '../../../lib/written-decimals.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import { isNotOnLegalHold } from '../../people/patients/legal-hold-store.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import { noteArrival } from '../../records/arrivals/arrival-store.ts';
import {
  deliveredIn,
  documentOf,
  insertDocuments,
  insertSourcePatientIds,
  type NewDocument,
  upsertResources,
} from '../../records/deliveries/delivery-store.ts';
import {
  type InlineFile,
  withoutFiles,
} from '../../records/deliveries/inline-files.ts';
import { lockRecord } from '../../records/merge/merge-store.ts';
import { mayBeCcda } from '../../sources/connectors/collect/documents.ts';
import { CONTRIBUTION, type Contributed } from './read-contribution.ts';

const STATE_CONTRIBUTION = sqlFile('state-contribution.sql', import.meta.url);
const STATE_RESOURCES = sqlFile('state-resources.sql', import.meta.url);
const CURRENT_STATEMENTS = sqlFile('current-statements.sql', import.meta.url);
const LISTED_CONTRIBUTIONS = sqlFile(
  'listed-contributions.sql',
  import.meta.url,
);

/** What became of one resource of a contribution. */
export interface ContributionOutcome {
  name: string;
  version: number;
  outcome: 'created' | 'updated' | 'unchanged';
  at: Date;
}

/** What counts now of a resource. */
interface Statement extends Omit<ContributionOutcome, 'outcome'> {
  sha256: string;
}

interface Contribution {
  id: string;
  patientId: string;
  kind: 'resources' | 'document';
  contributedBy: string;
  resources: readonly Contributed[];
  /** An uploaded file, beside those that its resources contain. */
  uploaded?: Omit<NewDocument, 'patientId'>;
}

/**
 * Stores a contribution as deliveries to the record; one that changes nothing
 * is not stored again. Its files are written to the blob store within the
 * transaction: they are small, and what a rolled back one wrote is swept as any
 * blob that no row names.
 */
export async function contribute(
  tx: AccountTx,
  blobs: Pick<BlobStore, 'put'>,
  { id, patientId, kind, contributedBy, resources, uploaded }: Contribution,
): Promise<ContributionOutcome[]> {
  // Two contributions about one patient take effect one after the other.
  await lockRecord(tx, patientId);
  const files: InlineFile[] = [];
  const kept = resources.map(
    (resource) =>
      withoutFiles(
        resource as unknown as FhirResource,
        files,
      ) as unknown as Contributed,
  );
  const hashes = kept.map((each) => deliveredIn('', each).sha256);
  const names = resources.map(
    ({ resourceType, id: sourceId }) => `${resourceType}/${sourceId}`,
  );
  const { rows } = await CURRENT_STATEMENTS<Statement>({
    patientId,
    names,
  }).execute(tx.db);
  const current = new Map(rows.map((statement) => [statement.name, statement]));
  const outcomes = names.map((name, index): ContributionOutcome => {
    const known = current.get(name);
    if (known === undefined)
      return { name, version: 1, outcome: 'created', at: new Date() };
    if (known.sha256 === hashes[index])
      return {
        name,
        version: known.version,
        outcome: 'unchanged',
        at: known.at,
      };
    return {
      name,
      version: known.version + 1,
      outcome: 'updated',
      at: new Date(),
    };
  });
  if (
    uploaded === undefined &&
    outcomes.every(({ outcome }) => outcome === 'unchanged')
  )
    return outcomes;

  const bundle = {
    resourceType: 'Bundle',
    type: 'collection',
    entry: resources.map((resource) => ({ resource })),
  };
  const content = Buffer.from(fhirJson(bundle));
  const page = documentOf(
    await blobs.put('source-answer', content, 'application/fhir+json'),
    CONTRIBUTION,
  );
  const documents = uploaded === undefined ? [page] : [page, uploaded];
  for (const { sourceDocumentId, contentType, bytes } of files) {
    const blob = await blobs.put('document', bytes, contentType);
    documents.push(documentOf(blob, CONTRIBUTION, { sourceDocumentId }));
  }
  const toBeRead = documents.some((each) => each !== page && mayBeCcda(each));
  const fileSha256 = uploaded?.sha256;
  await insertContribution(tx, {
    id,
    patientId,
    kind,
    contributedBy,
    toBeRead,
    fileSha256,
  });
  await insertDocuments(
    tx,
    documents.map((document) => ({
      ...document,
      patientId,
      contributionId: id,
    })),
  );
  await insertSourcePatientIds(tx, patientId, CONTRIBUTION, [patientId]);
  const delivered = kept.map((each) => deliveredIn(page.fileName, each));
  await upsertResources(
    tx,
    { patientId, source: CONTRIBUTION, documentId: page.id },
    delivered,
  );
  const versions = delivered.map((each, index) => ({
    ...each,
    version: outcomes[index]?.version,
  }));
  const of = {
    patientId,
    accountId: tx.accountId,
    contributionId: id,
    documentId: page.id,
  };
  await STATE_RESOURCES({
    ...of,
    statements: JSON.stringify(versions),
  }).execute(tx.db);
  await noteArrival(tx, patientId);
  return outcomes;
}

interface NewContribution
  extends Pick<Contribution, 'id' | 'patientId' | 'kind' | 'contributedBy'> {
  toBeRead: boolean;
  /** JSON of the DocumentReference of a document whose file is awaited. */
  awaiting?: string;
  fileSha256?: Buffer;
}

/**
 * Also for a document whose file has come: then nothing is awaited any more.
 */
export async function insertContribution(
  tx: AccountTx,
  contribution: NewContribution,
): Promise<void> {
  await STATE_CONTRIBUTION({
    ...contribution,
    accountId: tx.accountId,
  }).execute(tx.db);
}

/** Newest first. */
export async function listContributions(tx: AccountTx, patientId: string) {
  const { rows } = await LISTED_CONTRIBUTIONS<
    Pick<Contribution, 'id' | 'kind'> & {
      contributedAt: Date;
      status: ContributionStatus;
      resources: number;
    }
  >({ patientId }).execute(tx.db);
  return rows;
}

interface FoundContribution
  extends Pick<Contribution, 'patientId' | 'contributedBy'> {
  /** The DocumentReference of a document whose file is awaited. */
  awaiting: Json | null;
  /** SHA-256 of a document's file, in hex. */
  sha256: string | null;
}

export async function findContribution(
  tx: AccountTx,
  id: string,
): Promise<FoundContribution | undefined> {
  const { rows } = await sql<FoundContribution>`
    select patient_id as "patientId", contributed_by as "contributedBy", awaiting, encode(file_sha256, 'hex') as sha256
    from contribution where id = ${id}`.execute(tx.db);
  return rows[0];
}

/** Documents whose files did not arrive within a week. */
export async function removeNeverArrived(
  tx: SystemTx,
  limit: number,
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from contribution where id in (
      select id from contribution where awaiting is not null and created_at < now() - interval '7 days'
        and ${isNotOnLegalHold('contribution')} order by created_at limit ${limit})`.execute(
    tx.db,
  );
  return Number(numAffectedRows ?? 0);
}

/**
 * Returns false if the patient has no such contribution. The caller holds the
 * record's lock.
 */
export async function removeContribution(
  tx: AccountTx,
  patientId: string,
  id: string,
): Promise<boolean> {
  const { rows } = await sql<{ removed: boolean }>`
    select remove_contribution(${patientId}, ${id}) as removed`.execute(tx.db);
  if (rows[0]?.removed !== true) return false;
  await noteArrival(tx, patientId);
  return true;
}
