import { sql } from 'kysely';
import { type Members, membersOf } from '../../platform/database/columns.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import {
  integerArray,
  rowsOf,
  sqlFile,
  textArray,
} from '../../platform/database/pg-arrays.ts';
import type { LoadCounts } from './load-counts.ts';
import type { DirectoryEntry, DirectoryPart } from './rules/read-resource.ts';

const REACH_FHIR_SERVERS = sqlFile('reach-fhir-servers.sql', import.meta.url);
const REMARK_ON_LINKS = sqlFile('remark-on-links.sql', import.meta.url);
const WRITE_ENTRIES = sqlFile('write-entries.sql', import.meta.url);
const JOIN_PARTS = sqlFile('join-parts.sql', import.meta.url);
const FIND_FHIR_SERVERS = sqlFile('find-fhir-servers.sql', import.meta.url);
const FIND_GATEWAYS = sqlFile('find-gateways.sql', import.meta.url);

export type StoredDirectory = Members<'directory'>;
export type StoredLoad = Members<'directory_load'>;
export type StoredEntry = Members<'directory_entry'>;

/** Which load of which directory. */
export interface Load {
  directory: string;
  loadId: string;
}

/** An entry with what the loader adds to what was read. */
export interface EntryToWrite extends DirectoryEntry {
  /** SHA-256 of what was read, in hex. */
  content: string;
  positionFrom: 'location' | 'zip' | null;
}

export interface DirectoryRemark {
  place: number;
  entryId: string | null;
  remark: string;
}

/** The settings of all directories, by name. */
export async function listDirectories(
  tx: SystemTx,
): Promise<StoredDirectory[]> {
  const rows = await tx.db
    .selectFrom('directory')
    .selectAll()
    .orderBy('name')
    .execute();
  return rows.map(membersOf);
}

export async function findDirectory(
  tx: SystemTx,
  name: string,
): Promise<StoredDirectory | undefined> {
  const row = await tx.db
    .selectFrom('directory')
    .selectAll()
    .where('name', '=', name)
    .executeTakeFirst();
  return row && membersOf(row);
}

/** Makes a directory, or changes where it is refreshed from. */
export async function putDirectory(
  tx: SystemTx,
  name: string,
  settings: Partial<
    Pick<StoredDirectory, 'origin' | 'secret' | 'refreshHours'>
  >,
): Promise<void> {
  const columns = {
    ...(settings.origin === undefined ? {} : { origin: settings.origin }),
    ...(settings.secret === undefined ? {} : { secret: settings.secret }),
    ...(settings.refreshHours === undefined
      ? {}
      : { refresh_hours: settings.refreshHours }),
    changed_at: sql<Date>`now()`,
  };
  await tx.db
    .insertInto('directory')
    .values({ name, ...columns })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(columns))
    .execute();
}

export async function deleteDirectory(
  tx: SystemTx,
  name: string,
): Promise<void> {
  await tx.db.deleteFrom('directory').where('name', '=', name).execute();
}

/** So many loads are remembered for each directory. */
const LOADS_KEPT = 30;

/** Begins a load. Those that a crash left open have failed. */
export async function beginLoad(
  tx: SystemTx,
  { directory, loadId }: Load,
  origin: string,
): Promise<void> {
  await tx.db
    .updateTable('directory_load')
    .set({
      status: 'failed',
      reason: 'it did not end',
      ended_at: sql<Date>`now()`,
    })
    .where(({ and }) => and({ directory, status: 'running' }))
    .execute();
  await tx.db
    .insertInto('directory_load')
    .values({ id: loadId, directory, origin })
    .execute();
  await sql`delete from directory_load where id in (
    select id from directory_load where directory = ${directory} order by started_at desc offset ${LOADS_KEPT})`.execute(
    tx.db,
  );
}

/** Writes entries, each at most once in a call. */
export async function writeEntries(
  tx: SystemTx,
  load: Load,
  entries: readonly EntryToWrite[],
): Promise<Pick<LoadCounts, 'added' | 'changed' | 'unchanged'>> {
  const columns = entries.map(
    ({ parentId, managedBy, homeCommunity, positionFrom, ...entry }) => ({
      ...entry,
      parent_id: parentId,
      managed_by: managedBy,
      home_community: homeCommunity,
      position_from: positionFrom,
      discovery_url: entry.discoveryUrl,
      query_url: entry.queryUrl,
      retrieve_url: entry.retrieveUrl,
      fhir_url: entry.fhirUrl,
      endpoint_ids: entry.endpointIds,
      location_ids: entry.locationIds,
    }),
  );
  const [counts] = await rowsOf(
    tx,
    WRITE_ENTRIES<Pick<LoadCounts, 'added' | 'changed' | 'unchanged'>>({
      ...load,
      entries: JSON.stringify(columns),
    }),
  );
  return counts ?? { added: 0, changed: 0, unchanged: 0 };
}

export async function writeParts(
  tx: SystemTx,
  { directory, loadId }: Load,
  parts: readonly DirectoryPart[],
): Promise<void> {
  if (parts.length === 0) return;
  await tx.db
    .insertInto('directory_part')
    .values(
      parts.map(({ entryId, ...part }) => ({
        ...part,
        directory,
        load_id: loadId,
        entry_id: entryId,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['directory', 'id']).doUpdateSet(({ ref }) => ({
        load_id: ref('excluded.load_id'),
        entry_id: ref('excluded.entry_id'),
        transaction: ref('excluded.transaction'),
        address: ref('excluded.address'),
        latitude: ref('excluded.latitude'),
        longitude: ref('excluded.longitude'),
      })),
    )
    .execute();
}

export async function writeRemarks(
  tx: SystemTx,
  { loadId }: Load,
  remarks: readonly DirectoryRemark[],
): Promise<void> {
  if (remarks.length === 0) return;
  const places = integerArray(remarks.map(({ place }) => place));
  const entries = textArray(remarks.map(({ entryId }) => entryId));
  const texts = textArray(remarks.map(({ remark }) => remark));
  await sql`insert into directory_remark (load_id, place, entry_id, remark)
    select ${loadId}, * from unnest(${places}::integer[], ${entries}::text[], ${texts}::text[])`.execute(
    tx.db,
  );
}

/**
 * Ends a load that was read to its end: joins endpoints and locations, finds
 * each entry's gateway, and marks what is no longer there as removed. A load
 * with less than half of the entries before removes nothing: it is more likely
 * to be a part.
 * @returns how many entries were removed, and why none was
 */
export async function completeLoad(
  tx: SystemTx,
  load: Load,
): Promise<{ removed: number; kept?: string }> {
  const { directory, loadId } = load;
  await JOIN_PARTS({ ...load }).execute(tx.db);
  const [sums] = await rowsOf(
    tx,
    sql<{ present: number; missing: number }>`
      select count(*) filter (where load_id = ${loadId}) as present, count(*) filter (where load_id <> ${loadId}) as missing
      from directory_entry where directory = ${directory} and removed_at is null`,
  );
  const { present = 0, missing = 0 } = sums ?? {};
  const isPart = missing > present;
  if (missing > 0 && !isPart) {
    await tx.db
      .updateTable('directory_entry')
      .set({
        removed_at: sql<Date>`now()`,
        gateway_id: null,
        fhir_gateway_id: null,
      })
      .where('directory', '=', directory)
      .where('load_id', '<>', loadId)
      .where('removed_at', 'is', null)
      .execute();
    await tx.db
      .deleteFrom('directory_part')
      .where('directory', '=', directory)
      .where('load_id', '<>', loadId)
      .execute();
  }
  await FIND_GATEWAYS({ directory }).execute(tx.db);
  await FIND_FHIR_SERVERS({ directory }).execute(tx.db);
  await REACH_FHIR_SERVERS({ directory }).execute(tx.db);
  return isPart
    ? {
        removed: 0,
        kept: `it has ${present} of ${present + missing} entries, less than half: none was removed`,
      }
    : { removed: missing };
}

/** Says which references of a load lead nowhere, or in a circle. */
export async function remarkOnLinks(tx: SystemTx, load: Load): Promise<void> {
  await REMARK_ON_LINKS({ ...load }).execute(tx.db);
}

export async function endLoad(
  tx: SystemTx,
  { loadId }: Load,
  end: {
    status: 'completed' | 'failed';
    counts: LoadCounts;
    reason?: string | undefined;
  },
): Promise<void> {
  await tx.db
    .updateTable('directory_load')
    .set({
      status: end.status,
      counts: JSON.stringify(end.counts),
      reason: end.reason ?? null,
      ended_at: sql<Date>`clock_timestamp()`,
    })
    .where('id', '=', loadId)
    .execute();
}

/** The loads of a directory, newest first. */
export async function listLoads(
  tx: SystemTx,
  directory: string,
  limit: number,
): Promise<StoredLoad[]> {
  const rows = await tx.db
    .selectFrom('directory_load')
    .selectAll()
    .where('directory', '=', directory)
    .orderBy('started_at', 'desc')
    .limit(limit)
    .execute();
  return rows.map(membersOf);
}

/** What was remarked on in a load, each kind with a few examples. */
export async function sumRemarks(
  tx: SystemTx,
  loadId: string,
): Promise<{ remark: string; items: number; examples: string[] }[]> {
  return rowsOf(
    tx,
    sql<{ remark: string; items: number; examples: string[] }>`
      select remark, count(*) as items,
        (array_agg(coalesce(entry_id, 'item ' || place) order by place))[1:3] as examples
      from directory_remark where load_id = ${loadId} group by remark order by items desc, remark`,
  );
}

/**
 * How a directory stands: entries, those in use, and the gateways among these
 * that speak IHE and FHIR.
 */
export async function countDirectory(
  tx: SystemTx,
  directory: string,
): Promise<DirectoryCounts> {
  const [counts] = await rowsOf(
    tx,
    sql<DirectoryCounts>`
      select count(*) as entries, count(*) filter (where active) as active,
        count(*) filter (where active and gateway_id = id) as gateways,
        count(*) filter (where active and fhir_gateway_id = id) as "fhirServers"
      from directory_entry where directory = ${directory} and removed_at is null`,
  );
  return counts ?? { entries: 0, active: 0, gateways: 0, fhirServers: 0 };
}

export interface DirectoryCounts {
  entries: number;
  active: number;
  gateways: number;
  fhirServers: number;
}

export interface EntryFilter {
  directory?: string | undefined;
  /** A part of the name. */
  name?: string | undefined;
  city?: string | undefined;
  state?: string | undefined;
  /** The zip, or its beginning. */
  zip?: string | undefined;
  npi?: string | undefined;
  /** A home community. */
  oid?: string | undefined;
  id?: string | undefined;
}

/** Entries by place, name or OID: those in use first, then by name. */
export async function searchDirectory(
  tx: AccountTx | SystemTx,
  filter: EntryFilter,
  { count, offset }: { count: number; offset: number },
): Promise<StoredEntry[]> {
  let query = tx.db
    .selectFrom('directory_entry')
    .selectAll()
    .where('removed_at', 'is', null);
  const { directory, name, city, state, zip, npi, oid, id } = filter;
  if (directory !== undefined) query = query.where('directory', '=', directory);
  if (name !== undefined)
    query = query.where('name', 'ilike', `%${escapedLike(name)}%`);
  if (city !== undefined)
    query = query.where('city', 'ilike', escapedLike(city));
  if (state !== undefined) query = query.where('state', '=', state);
  if (zip !== undefined)
    query = query.where('zip', 'like', `${escapedLike(zip)}%`);
  if (npi !== undefined) query = query.where('npi', '=', npi);
  if (oid !== undefined) query = query.where('home_community', '=', oid);
  if (id !== undefined) query = query.where('id', '=', id);
  const rows = await query
    .orderBy('active', 'desc')
    .orderBy('name')
    .orderBy('directory')
    .orderBy('id')
    .limit(count)
    .offset(offset)
    .execute();
  return rows.map(membersOf);
}

const escapedLike = (text: string): string =>
  text.replaceAll(/[\\%_]/g, '\\$&');

/** Where the documents of each community of a directory are asked for. */
export async function communityAddresses(
  tx: AccountTx,
  directory: string,
): Promise<{ homeCommunity: string; queryUrl: string; retrieveUrl: string }[]> {
  const rows = await tx.db
    .selectFrom('directory_entry')
    .select(['home_community', 'query_url', 'retrieve_url'])
    .where('directory', '=', directory)
    .where('removed_at', 'is', null)
    .where('active', '=', true)
    .where('query_url', 'is not', null)
    .where('retrieve_url', 'is not', null)
    .orderBy('id')
    .execute();
  return rows.flatMap(({ home_community, query_url, retrieve_url }) =>
    home_community === null || query_url === null || retrieve_url === null
      ? []
      : [
          {
            homeCommunity: home_community,
            queryUrl: query_url,
            retrieveUrl: retrieve_url,
          },
        ],
  );
}
