import { readFile } from 'node:fs/promises';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { createFacilityBodySchema } from '../../../contract/facilities.ts';
import { transportOf } from '../../../contract/messages.ts';
import { SOURCE_TYPES, type SourceType } from '../../../contract/primitives.ts';
import {
  insertAccount,
  listAccounts,
  lockAccount,
  updateAccount,
} from '../../access/accounts/account-store.ts';
import { createFacility } from '../../people/facilities/change-facility.ts';
import { listFacilities } from '../../people/facilities/facility-store.ts';
import type { AccountSettings, Dialect } from '../../platform/account.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import {
  type Store,
  type SystemTx,
  withinAccount,
} from '../../platform/database/database.ts';
import { InvalidRequestError } from '../../platform/errors.ts';
import { labelCodes } from '../../records/reading/record-store.ts';
import {
  ADMIN_ACTOR,
  type AdminCommand,
  AdminError,
  shortTime,
} from './command.ts';

interface AccountOptions extends SettingOptions {
  name?: string;
  dialect?: Dialect;
}

/** `accounts create`. All sources are enabled by default. */
export const createAccountCommand: AdminCommand<[AccountOptions]> = async (
  { store },
  { name = '', dialect, ...options },
) => {
  const id = uuidv7();
  const settings = changedSettings(
    {},
    { sources: 'hie,pharmacy,lab', ...options },
  );
  await store.asSystem(async (tx) => {
    await insertAccount(tx, { id, name: checkedName(name), dialect, settings });
    await auditAdmin(tx, id, 'createAccount', id);
  });
  return {
    document: {
      account: {
        id,
        name: name.trim(),
        dialect: dialect ?? 'interface',
        settings,
      },
    },
    lines: [
      `Created account ${id}. Create its first key with: npm run admin -- keys create --account ${id}`,
    ],
  };
};

export const listAccountsCommand: AdminCommand = async ({ store }) => {
  const accounts = await store.asSystem(listAccounts);
  return {
    document: { accounts },
    table: {
      head: ['account', 'name', 'dialect', 'sources', 'keys', 'created'],
      rows: accounts.map(
        ({ id, name, dialect, settings, activeKeys, createdAt }) => [
          id,
          name,
          dialect,
          Object.entries(settings.sources ?? {})
            .flatMap(([source, { enabled }]) => (enabled ? [source] : []))
            .join(' ') || 'none',
          String(activeKeys),
          shortTime(createdAt),
        ],
      ),
    },
  };
};

/**
 * `accounts set`. Takes effect immediately for API keys, and within five
 * seconds for tokens of our orchestrator.
 */
export const changeAccountCommand: AdminCommand<
  [string, AccountOptions]
> = async ({ store }, accountId, { name, dialect, ...options }) => {
  const account = await store.asSystem(async (tx) => {
    const known = await lockAccount(tx, accountId);
    if (known === undefined) throw noAccount(accountId);
    const changed = {
      name: name === undefined ? known.name : checkedName(name),
      dialect: dialect ?? known.dialect,
      settings: changedSettings(known.settings, options),
    };
    await updateAccount(tx, accountId, changed);
    await auditAdmin(tx, accountId, 'changeAccount', accountId);
    return { id: accountId, ...changed };
  });
  return {
    document: { account },
    lines: [
      `${account.name} (${account.dialect})`,
      JSON.stringify(account.settings, null, 2),
    ],
  };
};

/**
 * `accounts label`: what has a code of the ValueSet carries the label from now
 * on. A filter cannot be applied here: give its expansion.
 */
export const labelCodesCommand: AdminCommand<
  [string, { label: string }]
> = async ({ store }, file, { label }) => {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new AdminError(
      `${file} cannot be read; give a file with a FHIR ValueSet in JSON`,
    );
  });
  const codes = await store.asSystem(async (tx) => {
    const count = await labelCodes(tx, checkedLabel(label), text);
    for (const { id } of await listAccounts(tx))
      await auditAdmin(tx, id, 'labelCodes', id);
    return count;
  });
  if (codes === 0)
    throw new AdminError(
      `${file} lists no codes; expected a ValueSet with expansion.contains or compose.include.concept`,
    );
  return {
    document: { label, codes },
    lines: [`${codes} codes carry the label ${label} now, in all accounts.`],
  };
};

/** Throws AdminError if the account does not exist. */
export async function requireAccount(
  tx: SystemTx,
  accountId: string,
): Promise<void> {
  if ((await lockAccount(tx, accountId)) === undefined)
    throw noAccount(accountId);
}

/** Runs work in an account. Throws AdminError if it does not exist. */
export const ofAccount = <T>(
  store: Pick<Store, 'asSystem'>,
  accountId: string,
  work: (tx: SystemTx) => Promise<T>,
): Promise<T> =>
  store.asSystem(async (tx) => {
    await requireAccount(tx, accountId);
    return work(tx);
  });

/**
 * Records an operation in the audit of an account. `details`: the operator's
 * statement, without patient data.
 */
export const auditAdmin = (
  tx: SystemTx,
  accountId: string,
  operation: string,
  targetId?: string,
  { details, patientId }: { details?: object; patientId?: string } = {},
): Promise<void> =>
  withinAccount(tx, accountId, (own) =>
    insertAuditEntry(own, {
      actor: ADMIN_ACTOR,
      operation,
      patientId,
      targetId,
      outcome: 'done',
      details: details && JSON.stringify(details),
    }),
  );

/** What concerns every account is recorded in the audit of each one. */
export async function auditEverywhere(
  tx: SystemTx,
  operation: string,
  targetId?: string,
  details?: object,
): Promise<void> {
  for (const { id } of await listAccounts(tx))
    await auditAdmin(tx, id, operation, targetId, { details });
}

const noAccount = (accountId: string): AdminError =>
  new AdminError(
    `Account ${accountId} not found; list all accounts with: npm run admin -- accounts list`,
  );

function checkedName(name: string): string {
  const trimmed = name.trim();
  if (trimmed.length >= 1 && trimmed.length <= 200) return trimmed;
  throw new AdminError(
    '--name must have 1 to 200 characters, such as --name "Harborview"',
  );
}

const LIMITS = [
  'requestsPerMinute',
  'networkQueriesPerMinute',
  'pharmacyRealtimePerDay',
  'consolidatedQueriesPerMinute',
  'messagesPerMinute',
] as const satisfies readonly (keyof NonNullable<AccountSettings['limits']>)[];

/** Options of `accounts create` and `accounts set`, as parsed by commander. */
interface SettingOptions
  extends Partial<Record<(typeof LIMITS)[number], string>> {
  /** Names separated by commas, or `none`. */
  sources?: string;
  bulkSources?: string;
  /** Hours of the day, such as `1-5`, or `22-4` across midnight. */
  monitoringHours?: string;
  monitoringTimeZone?: string;
  /** Origins separated by commas, or `none`. */
  frameAncestors?: string;
  /** Addresses separated by commas, or `none`. */
  directAddresses?: string;
  /** Codes separated by commas, or `none`. */
  withhold?: string;
}

const LIMIT_MAX = 1_000_000;

/**
 * Returns the settings with the given options applied. Throws AdminError for an
 * invalid option.
 */
function changedSettings(
  settings: AccountSettings,
  options: SettingOptions,
): AccountSettings {
  const limits = Object.assign(
    {},
    ...LIMITS.map((name) => limit(name, options[name])),
  );
  const monitoring = {
    ...hours(options.monitoringHours),
    ...timeZone(options.monitoringTimeZone),
  };

  const changed: AccountSettings = { ...settings };
  if (options.sources !== undefined)
    changed.sources = enabledSources(options.sources);
  if (options.bulkSources !== undefined)
    changed.bulk = { sources: sourceList(options.bulkSources) };
  if (hasMembers(limits)) changed.limits = { ...settings.limits, ...limits };
  if (hasMembers(monitoring))
    changed.monitoring = { ...settings.monitoring, ...monitoring };
  if (options.withhold !== undefined)
    changed.withhold = words(options.withhold).map(checkedLabel);
  if (options.directAddresses !== undefined)
    changed.messages = {
      directAddresses: words(options.directAddresses).map(directAddress),
    };
  if (options.frameAncestors !== undefined)
    changed.embed = {
      ...settings.embed,
      frameAncestors: origins(options.frameAncestors),
    };
  return changed;
}

function directAddress(address: string): string {
  if (transportOf(address) === 'direct') return address.toLowerCase();
  throw new AdminError(
    `"${address}" is not a Direct address; expected one such as records@direct.example.org`,
  );
}

function checkedLabel(label: string): string {
  if (/^[A-Za-z0-9-]{1,64}$/.test(label)) return label;
  throw new AdminError(
    `"${label}" is not a security label; expected a code like R, ETH or 42CFRPart2`,
  );
}

const hasMembers = (value: object): boolean => Object.keys(value).length > 0;

const words = (text: string): string[] =>
  text === 'none'
    ? []
    : text
        .split(',')
        .map((word) => word.trim())
        .filter(Boolean);

const sourceList = (text: string): SourceType[] =>
  words(text).map((word) => {
    const source = SOURCE_TYPES.find((type) => type === word);
    if (source === undefined)
      throw new AdminError(
        `"${word}" is not a source; expected ${SOURCE_TYPES.join(', ')}, separated by commas, or none`,
      );
    return source;
  });

const enabledSources = (text: string): AccountSettings['sources'] => {
  const enabled = sourceList(text);
  return Object.fromEntries(
    SOURCE_TYPES.map((type) => [type, { enabled: enabled.includes(type) }]),
  );
};

function limit(name: string, text: string | undefined): Record<string, number> {
  if (text === undefined) return {};
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > LIMIT_MAX)
    throw new AdminError(
      `"${text}" is not a valid limit; expected a whole number from 1 to ${LIMIT_MAX}`,
    );
  return { [name]: value };
}

function hours(text: string | undefined): {
  fromHour?: number;
  toHour?: number;
} {
  if (text === undefined) return {};
  const [, from, to] = /^(\d{1,2})-(\d{1,2})$/.exec(text) ?? [];
  const fromHour = Number(from);
  const toHour = Number(to);
  if (fromHour <= 23 && toHour <= 24) return { fromHour, toHour };
  throw new AdminError(
    `"${text}" is not a valid range of monitoring hours; expected two hours of the day, such as 1-5 or 22-4`,
  );
}

function timeZone(name: string | undefined): { timeZone?: string } {
  if (name === undefined) return {};
  try {
    return {
      timeZone: new Intl.DateTimeFormat('en-US', {
        timeZone: name,
      }).resolvedOptions().timeZone,
    };
  } catch {
    throw new AdminError(
      `"${name}" is not a time zone; expected an IANA name such as America/New_York`,
    );
  }
}

const origins = (text: string): string[] =>
  words(text).map((word) => {
    const url = URL.canParse(word) ? new URL(word) : undefined;
    const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
    if (url === undefined || !isWeb || url.origin !== word.replace(/\/$/, ''))
      throw new AdminError(
        `"${word}" is not an origin; expected one such as https://ehr.example.org`,
      );
    return url.origin;
  });

type Facility = z.input<typeof createFacilityBodySchema>;
type CreateFacilityOptions = { account: string } & Pick<
  Facility,
  'name' | 'npi' | 'tin'
> &
  Facility['address'];

/**
 * `facilities create`, with the same validation as the API operation "create
 * facility".
 */
export const createFacilityCommand: AdminCommand<
  [CreateFacilityOptions]
> = async ({ store }, { account: accountId, name, npi, tin, ...address }) => {
  const body = createFacilityBodySchema.safeParse({ name, npi, tin, address });
  if (!body.success)
    throw new AdminError(
      body.error.issues
        .map(({ path, message }) => `${path.join('.')}: ${message}`)
        .join('\n'),
    );
  const facility = await ofAccount(store, accountId, async (tx) => {
    const made = await withinAccount(tx, accountId, (own) =>
      createFacility(own, body.data),
    ).catch((error: unknown) => {
      throw error instanceof InvalidRequestError
        ? new AdminError(error.message)
        : error;
    });
    await auditAdmin(tx, accountId, 'createFacility', made.id);
    return made;
  });
  return {
    document: { facility },
    lines: [`Created facility ${facility.id} (${facility.name}).`],
  };
};

export const listFacilitiesCommand: AdminCommand<[string]> = async (
  { store },
  accountId,
) => {
  await store.asSystem((tx) => requireAccount(tx, accountId));
  const facilities = await store.asAccount(accountId, (tx) =>
    listFacilities(tx),
  );
  return {
    document: { accountId, facilities },
    table: {
      head: ['facility', 'name', 'npi', 'active'],
      rows: facilities.map(({ id, name, npi, active }) => [
        id,
        name,
        npi,
        active ? 'yes' : 'no',
      ]),
    },
  };
};
