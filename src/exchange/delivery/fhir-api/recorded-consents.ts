import type { FhirResource } from 'fhir/r4.js';
import { canonical, type Json } from '#record-summary/fhir';
import {
  findConsentsById,
  listConsents,
  type StoredConsent,
} from '../../people/consents/consent-store.ts';
import { serializeConsent } from '../../people/consents/rules/fhir-consent.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import type { FoundPlace } from '../../records/reading/record-search-store.ts';
import { matchesSearch, type SearchRequest } from './rules/search-request.ts';
import {
  type RecordPage,
  type ServedResource,
  searchRecord,
} from './search-record.ts';

/*
 * Consents recorded here, as the FHIR API gives them. They are the account's
 * own statements about a patient, no source delivered them, so they are not
 * part of the consolidated record; a reader of Consents expects them
 * nevertheless.
 */

/**
 * Where the next page of a search continues: after a recorded consent, or
 * within the record.
 */
export type SearchPlace = FoundPlace | { recordedConsent: string };

/** The account's recorded consents with these ids, with their patients. */
export async function readRecordedConsents(
  tx: AccountTx,
  ids: readonly string[],
): Promise<{ patientId: string; resource: ServedResource }[]> {
  const rows = await findConsentsById(tx, ids);
  return rows.map((row) => ({
    patientId: row.patient_id,
    resource: served(row),
  }));
}

/**
 * A page of a patient's resources of one type; of Consents, those recorded here
 * come before those of the record.
 */
export async function searchServed(
  tx: AccountTx,
  of: { patientId: string; resourceType: string; request: SearchRequest },
  after: SearchPlace | undefined,
): Promise<RecordPage<SearchPlace>> {
  if (after !== undefined && !('recordedConsent' in after))
    return searchRecord(tx, of, after);
  if (of.resourceType !== 'Consent') return searchRecord(tx, of, undefined);
  const { request, patientId } = of;
  const all = (await listConsents(tx, patientId))
    .map(served)
    .filter((each) => matchesSearch(each, request));
  const start =
    after === undefined
      ? 0
      : all.findIndex(({ id }) => id === after.recordedConsent) + 1;
  const own = all.slice(start, start + request.count);
  const last = own.at(-1);
  if (last !== undefined && own.length === request.count)
    return { matches: own, next: { recordedConsent: last.id } };
  const count = request.count - own.length;
  const found = await searchRecord(
    tx,
    { ...of, request: { ...request, count } },
    undefined,
  );
  return { ...found, matches: [...own, ...found.matches] };
}

function served(row: StoredConsent): ServedResource {
  const json = canonical(serializeConsent(row)) as Json;
  return {
    resourceType: 'Consent',
    id: row.id,
    json,
    content: json as unknown as FhirResource,
    origins: [],
    changedAt: row.ended_at ?? row.recorded_at,
  };
}
