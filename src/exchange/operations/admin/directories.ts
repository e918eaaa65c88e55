import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { v7 as uuidv7 } from 'uuid';
import { withoutUrn } from '#ihe';
import { directoryNameSchema } from '../../sources/connectors/ihe/network-settings.ts';
import {
  countDirectory,
  deleteDirectory,
  type EntryFilter,
  findDirectory,
  listDirectories,
  listLoads,
  putDirectory,
  type StoredEntry,
  searchDirectory,
  sumRemarks,
} from '../../sources/directory/directory-store.ts';
import type { LoadCounts } from '../../sources/directory/load-counts.ts';
import { loadDirectory } from '../../sources/directory/load-directory.ts';
import { sealOriginSecret } from '../../sources/directory/origin-secret.ts';
import {
  OriginUnreadable,
  shownOrigin,
} from '../../sources/directory/read-origin.ts';
import {
  endRefresh,
  scheduleRefresh,
} from '../../sources/directory/refresh-schedule.ts';
import { auditEverywhere } from './accounts.ts';
import {
  type AdminCommand,
  AdminError,
  type AdminTarget,
  shortTime,
} from './command.ts';

const LOADS_SHOWN = 5;

/** `directory load`: from a file or an address, here and now. */
export const loadDirectoryCommand: AdminCommand<
  [string, string, { secretFile?: string }]
> = async ({ store }, name, from, { secretFile }) => {
  const directory = checkedDirectory(name);
  const address = await originAddress(from);
  const authorization = await secretIn(secretFile);
  await store.asSystem(async (tx) => {
    await putDirectory(tx, directory, {});
    await auditEverywhere(tx, 'loadDirectory', directory);
  });
  const loadId = uuidv7();
  try {
    const { counts, kept } = await loadDirectory(
      { store },
      { directory, loadId },
      { address, authorization },
      new AbortController().signal,
    );
    return {
      document: { directory, loadId, counts, kept },
      lines: [
        ...countLines(counts),
        ...(kept === undefined ? [] : [`Kept what it lacks: ${kept}.`]),
        `See what was refused or mended: npm run admin -- directory show ${directory}`,
      ],
    };
  } catch (error) {
    if (!(error instanceof OriginUnreadable)) throw error;
    throw new AdminError(
      `${shownOrigin(address)} cannot be loaded: ${error.message}`,
    );
  }
};

interface RefreshOptions {
  from: string;
  everyHours: number;
  secretFile?: string;
}

/** `directory refresh`: by a Temporal Schedule, from now on. */
export const refreshDirectoryCommand: AdminCommand<
  [string, RefreshOptions],
  'store' | 'openKeyRing' | 'openTemporal'
> = async (
  { store, openKeyRing, openTemporal },
  name,
  { from, everyHours, secretFile },
) => {
  const directory = checkedDirectory(name);
  const origin = await originAddress(from);
  const secret = await secretIn(secretFile);
  const sealed =
    secret === undefined
      ? null
      : sealOriginSecret(await openKeyRing(), directory, secret);
  await store.asSystem(async (tx) => {
    await putDirectory(tx, directory, {
      origin,
      secret: sealed,
      refreshHours: everyHours,
    });
    await auditEverywhere(tx, 'refreshDirectory', directory);
  });
  await withTemporal(openTemporal, 'the directory', (client) =>
    scheduleRefresh(client, directory, everyHours),
  );
  return {
    document: { directory, origin: shownOrigin(origin), everyHours },
    lines: [
      `The directory ${directory} is refreshed from ${shownOrigin(origin)} now, and every ${everyHours} hours.`,
      `Follow it with: npm run admin -- directory show ${directory}`,
    ],
  };
};

/** `directory stop`: it is refreshed no more; its entries stay. */
export const stopDirectoryCommand: AdminCommand<
  [string],
  'store' | 'openTemporal'
> = async ({ store, openTemporal }, name) => {
  const directory = await required(store, name);
  await store.asSystem(async (tx) => {
    await putDirectory(tx, directory, {
      origin: null,
      secret: null,
      refreshHours: null,
    });
    await auditEverywhere(tx, 'stopDirectory', directory);
  });
  await withTemporal(openTemporal, 'the directory', (client) =>
    endRefresh(client, directory),
  );
  return {
    document: { directory },
    lines: [`The directory ${directory} is refreshed no more.`],
  };
};

/** `directory delete`: with its entries. */
export const deleteDirectoryCommand: AdminCommand<
  [string],
  'store' | 'openTemporal'
> = async ({ store, openTemporal }, name) => {
  const directory = await required(store, name);
  const { origin } =
    (await store.asSystem((tx) => findDirectory(tx, directory))) ?? {};
  if (origin !== null && origin !== undefined)
    await withTemporal(openTemporal, 'the directory', (client) =>
      endRefresh(client, directory),
    );
  await store.asSystem(async (tx) => {
    await deleteDirectory(tx, directory);
    await auditEverywhere(tx, 'deleteDirectory', directory);
  });
  return {
    document: { directory },
    lines: [`The directory ${directory} is deleted, with its entries.`],
  };
};

/** `directory list`. */
export const listDirectoriesCommand: AdminCommand = async ({ store }) => {
  const directories = await store.asSystem(async (tx) => {
    const listed = [];
    for (const { name, origin, refreshHours } of await listDirectories(tx)) {
      const [last] = await listLoads(tx, name, 1);
      listed.push({
        name,
        origin: origin === null ? null : shownOrigin(origin),
        refreshHours,
        ...(await countDirectory(tx, name)),
        lastLoad: last ?? null,
      });
    }
    return listed;
  });
  return {
    document: { directories },
    table: {
      head: [
        'directory',
        'entries',
        'active',
        'gateways',
        'FHIR servers',
        'last load',
        'refreshed',
      ],
      rows: directories.map(
        ({
          name,
          entries,
          active,
          gateways,
          fhirServers,
          lastLoad,
          refreshHours,
        }) => [
          name,
          ...[entries, active, gateways, fhirServers].map(String),
          lastLoad === null
            ? '–'
            : `${lastLoad.status} ${shortTime(lastLoad.startedAt)}`,
          refreshHours === null ? 'by hand' : `every ${refreshHours} hours`,
        ],
      ),
    },
  };
};

/** `directory show`: its loads, and what was refused and mended in the last. */
export const showDirectoryCommand: AdminCommand<[string]> = async (
  { store },
  name,
) => {
  const directory = await required(store, name);
  const { standing, loads, remarks } = await store.asSystem(async (tx) => {
    const last = await listLoads(tx, directory, LOADS_SHOWN);
    const [newest] = last;
    return {
      standing: await countDirectory(tx, directory),
      loads: last,
      remarks: newest === undefined ? [] : await sumRemarks(tx, newest.id),
    };
  });
  const { entries, active, gateways, fhirServers } = standing;
  return {
    document: { directory, ...standing, loads, remarks },
    table: {
      head: ['of the last load', 'items', 'such as'],
      rows: remarks.map(({ remark, items, examples }) => [
        remark,
        String(items),
        examples.join(', '),
      ]),
    },
    lines: [
      `${directory}: ${entries} entries, ${active} active, ${gateways} gateways, ${fhirServers} FHIR servers`,
      ...loads.map(
        ({ startedAt, status, origin, counts, reason }) =>
          `${shortTime(startedAt)} ${status}, ${origin}: ${countLines(counts).join(', ')}${reason === null ? '' : ` (${reason})`}`,
      ),
    ],
  };
};

/** `directory find`: entries by place, name, NPI or OID. */
export const findEntriesCommand: AdminCommand<
  [EntryFilter & { count: number }]
> = async ({ store }, { count, oid, ...filter }) => {
  const entries = await store.asSystem((tx) =>
    searchDirectory(
      tx,
      { ...filter, oid: oid === undefined ? undefined : withoutUrn(oid) },
      { count, offset: 0 },
    ),
  );
  return {
    document: {
      entries: entries.map(({ content: _, loadId: __, ...entry }) => entry),
    },
    table: {
      head: [
        'id',
        'name',
        'active',
        'place',
        'home community',
        'reached through',
      ],
      rows: entries.map((entry) => [
        entry.id,
        entry.name ?? '–',
        entry.active ? 'yes' : 'no',
        [entry.city, entry.state, entry.zip].filter(Boolean).join(' '),
        entry.homeCommunity ?? '–',
        reachedThrough(entry),
      ]),
    },
    lines:
      entries.length < count ? [] : ['There may be more: narrow the search.'],
  };
};

function reachedThrough({
  id,
  gatewayId,
  fhirGatewayId,
}: Pick<StoredEntry, 'id' | 'gatewayId' | 'fhirGatewayId'>): string {
  const through = gatewayId ?? fhirGatewayId;
  if (through === null) return 'cannot be queried';
  return through === id ? 'itself' : through;
}

const countLines = (counts: Partial<LoadCounts>): string[] =>
  Object.entries(counts)
    .filter(([name, count]) => count > 0 || name === 'read')
    .map(([name, count]) => `${count} ${name}`);

function checkedDirectory(name: string): string {
  if (directoryNameSchema.safeParse(name).success) return name;
  throw new AdminError(
    'The name of a directory has 1 to 40 small letters, digits and hyphens, such as carequality',
  );
}

async function required(
  store: AdminTarget['store'],
  name: string,
): Promise<string> {
  const found = await store.asSystem((tx) => findDirectory(tx, name));
  if (found !== undefined) return found.name;
  throw new AdminError(
    `There is no directory ${name}; list them with: npm run admin -- directory list`,
  );
}

export async function originAddress(from: string): Promise<string> {
  if (/^(https?|file):/i.test(from)) return new URL(from).href;
  const path = resolve(from);
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile)
    throw new AdminError(`${from} is neither a file nor an address (https:)`);
  return pathToFileURL(path).href;
}

async function secretIn(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const content = await readFile(path, 'utf8').catch(() => '');
  if (content.trim() !== '') return content.trim();
  throw new AdminError(`--secret-file: ${path} cannot be read, or is empty`);
}

/** Does something about a schedule. */
export async function withTemporal(
  openTemporal: AdminTarget['openTemporal'],
  what: string,
  work: (
    client: Awaited<ReturnType<AdminTarget['openTemporal']>>,
  ) => Promise<unknown>,
): Promise<void> {
  const client = await openTemporal();
  try {
    await work(client);
  } catch {
    throw new AdminError(
      `Temporal does not answer, so that the schedule of ${what} is as before; repeat the command`,
    );
  } finally {
    await client.connection.close();
  }
}
