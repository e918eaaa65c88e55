import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { v7 as uuidv7 } from 'uuid';
import type { SourceType } from '../../../contract/primitives.ts';
import type { KeyRing } from '../../../lib/key-ring.ts';
import { findPatient } from '../../people/patients/patient-store.ts';
import {
  type SystemTx,
  withinAccount,
} from '../../platform/database/database.ts';
import { namespaceOf } from '../../records/rules/ids.ts';
import {
  type CONNECTION_PROTOCOLS,
  type CredentialOptions,
  credentialsOf,
  InvalidConnection,
  type OptionSource,
  type SettingOptions,
  settingsOf,
} from '../../sources/connections/connection-options.ts';
import {
  countParts,
  deleteConnection,
  findConnection,
  insertConnection,
  listConnections,
  type StoredConnection,
  updateConnection,
} from '../../sources/connections/connection-store.ts';
import {
  configOf,
  gatewayConfigOf,
  openCredentials,
  sealCredentials,
} from '../../sources/connections/settings.ts';
import {
  createAssertionSigner,
  ensureSigningKeys,
} from '../../sources/connections/signing-keys.ts';
import {
  checkSource,
  registerSource,
} from '../../sources/connectors/check-source.ts';
import { SourceFailure } from '../../sources/connectors/connector.ts';
import { checkGateway } from '../../sources/connectors/ihe/check-gateway.ts';
import {
  resolveSourceConfig,
  type SourceConfig,
} from '../../sources/connectors/source-config.ts';
import {
  type ConnectionCredentials,
  type ConnectionSettings,
  optionName,
} from '../../sources/connectors/source-settings.ts';
import type { ConnectionState } from '../../sources/health/rules/breaker.ts';
import { readConnections } from '../../sources/health/source-health.ts';
import { auditAdmin, ofAccount, requireAccount } from './accounts.ts';
import { checkNetwork } from './check-network.ts';
import {
  type AdminCommand,
  AdminError,
  type AdminResult,
  type AdminTarget,
} from './command.ts';

interface ConnectionOptions extends CredentialOptions, SettingOptions {
  account: string;
  source: SourceType;
  name: string;
  baseUrl?: string;
  protocol?: (typeof CONNECTION_PROTOCOLS)[number];
  replacesDefault?: boolean;
  paused?: boolean;
}

/**
 * Each is asked side by side with the others, within the memory of one worker.
 */
const CONNECTIONS_MAX = 10;

/**
 * `connections create`. The account's queries ask it from now on, instead of
 * the server of the environment variables.
 */
export const createConnectionCommand: AdminCommand<
  [ConnectionOptions],
  'store' | 'openKeyRing'
> = async (target, options) => {
  const source = options.source;
  const settings = settingsOf(options);
  const credentials = await credentialsOf(options, FILES);
  const name = options.name.trim();
  if (name.length < 1 || name.length > 60)
    throw new AdminError('--name must have 1 to 60 characters');
  const keyRing = await target.openKeyRing();
  const id = uuidv7();
  const { account: accountId } = options;
  const baseUrl = baseUrlOf(options, settings);
  validated(() =>
    resolveSourceConfig(
      sampleConfigOf({ id, source, baseUrl, settings }, credentials),
    ),
  );
  const connection = {
    id,
    accountId,
    source,
    name,
    baseUrl,
    settings,
    authKind: options.auth ?? 'none',
    credentials: sealCredentials(keyRing, id, credentials),
    namespace: options.replacesDefault === true ? '' : namespaceOf(id),
    enabled: options.paused !== true,
  };
  await ofAccount(target.store, accountId, async (tx) => {
    const others = (await listConnections(tx, accountId)).filter(
      (other) => other.source === source,
    );
    checkAgainst(others, connection);
    await insertConnection(tx, connection);
    if (credentials.auth.kind === 'smart-backend')
      await ensureSigningKeys(tx, keyRing);
    await auditAdmin(tx, accountId, 'createConnection', id);
  });
  return {
    document: { connection: shown({ ...connection, revision: 1 }) },
    lines: [
      `Created the connection ${name} (${id}).`,
      ...(credentials.auth.kind === 'smart-backend'
        ? [
            'Register our keys with the network: <PUBLIC_BASE_URL>/.well-known/jwks.json',
          ]
        : []),
      `Check it with: npm run admin -- connections check ${id}`,
    ],
  };
};

/** The gateways of a network have their addresses in its directory. */
function baseUrlOf(
  { baseUrl, source }: ConnectionOptions,
  { network }: ConnectionSettings,
): string {
  if (network === undefined) {
    if (baseUrl !== undefined) return baseUrl;
    throw new AdminError('--base-url is required');
  }
  if (source !== 'hie')
    throw new AdminError('A network with a directory is for --source hie');
  if (baseUrl !== undefined)
    throw new AdminError(
      '--base-url is not for a network: its directory has the addresses',
    );
  return `directory:${network.directory}`;
}

/** What decides whether settings and credentials fit; of a network, a gateway. */
const sampleConfigOf = (
  connection: Parameters<typeof configOf>[0],
  credentials: ConnectionCredentials,
): SourceConfig =>
  connection.settings.network === undefined
    ? configOf(connection, credentials)
    : gatewayConfigOf(
        connection,
        connection.settings.network,
        credentials,
        SAMPLE_GATEWAY,
      );

const SAMPLE_GATEWAY = {
  homeCommunity: '2.999',
  discoveryUrl: 'https://gateway.example/discovery',
  queryUrl: 'https://gateway.example/query',
  retrieveUrl: 'https://gateway.example/retrieve',
};

function checkAgainst(
  others: readonly StoredConnection[],
  { name, namespace }: { name: string; namespace: string },
) {
  if (others.some((other) => other.name === name))
    throw new AdminError(
      `The account already has a connection named ${name} to this source`,
    );
  if (others.some((other) => other.namespace === namespace))
    throw new AdminError(
      'Another connection already replaces the server of the environment variables',
    );
  if (others.length >= CONNECTIONS_MAX)
    throw new AdminError(
      `An account can have at most ${CONNECTIONS_MAX} connections to one source`,
    );
}

/**
 * `connections list`: what each connection is, whether it answers, and how its
 * queries of the last day went.
 */
export const listConnectionsCommand: AdminCommand<
  [string | undefined]
> = async ({ store }, accountId) => {
  const connections = await store.asSystem(async (tx) => {
    if (accountId !== undefined) await requireAccount(tx, accountId);
    const all = await listConnections(tx, accountId);
    const states = await readConnections(tx);
    const counts = await countParts(tx);
    return all.map((connection) => ({
      ...shown(connection),
      changedAt: connection.changedAt,
      state: connectionState(connection, states.get(connection.id)),
      queries: counts.get(connection.id) ?? { asked: 0, failed: 0, waiting: 0 },
    }));
  });
  return {
    document: { connections },
    table: {
      head: [
        'connection',
        'account',
        'source',
        'name',
        'base address',
        'login',
        'state',
        'asked',
        'failed',
        'waiting',
      ],
      rows: connections.map(({ queries, ...each }) => [
        each.id,
        each.accountId,
        each.source,
        each.name,
        each.baseUrl,
        each.authKind,
        each.state,
        ...[queries.asked, queries.failed, queries.waiting].map(String),
      ]),
    },
    lines: ['asked and failed: queries of the last 24 hours'],
  };
};

const connectionState = (
  { enabled }: StoredConnection,
  health: ConnectionState | undefined,
): string => {
  if (!enabled) return 'paused';
  if (health?.openedAt === undefined) return 'enabled';
  return `does not answer: ${health.reason ?? 'no reason'}`;
};

export const showConnectionCommand: AdminCommand<[string]> = async (
  { store },
  id,
) => {
  const connection = await store.asSystem((tx) => required(tx, id));
  const document = shown(connection);
  return {
    document: { connection: document },
    lines: [JSON.stringify(document, null, 2)],
  };
};

/**
 * `connections check`: whether the server answers, takes our login, and finds a
 * patient. Exit code 3 if something does not work.
 */
export const checkConnectionCommand: AdminCommand<
  [string, string | undefined],
  'store' | 'openKeyRing'
> = async ({ store, openKeyRing }, id, patientId) => {
  const keyRing = await openKeyRing();
  const { connection, patient } = await store.asSystem(async (tx) => {
    const found = await required(tx, id);
    const person =
      patientId === undefined
        ? undefined
        : await withinAccount(tx, found.accountId, (own) =>
            findPatient(own, patientId),
          );
    if (patientId !== undefined && person === undefined)
      throw new AdminError(
        'The account has no patient with this id; create the test patient first',
      );
    await auditAdmin(tx, found.accountId, 'checkConnection', id);
    return { connection: found, patient: person };
  });
  const credentials = openedCredentials(keyRing, connection);
  const { network } = connection.settings;
  const config = configOf(connection, credentials);
  const findings =
    network !== undefined
      ? await checkNetwork(store, network, credentials)
      : config.ihe === undefined
        ? await checkSource(
            resolveSourceConfig(config),
            createAssertionSigner(store, keyRing),
            patient,
          )
        : await checkGateway(config, config.ihe, patient);
  return {
    document: { connectionId: id, findings },
    lines: findings.map(
      ({ works, what, message }) =>
        `${works ? 'works ' : 'FAULT '} ${what}: ${message}`,
    ),
    failed: findings.some(({ works }) => !works),
  };
};

/**
 * `connections register`: registers us by UDAP. Workers use the client id with
 * their next step.
 */
export const registerConnectionCommand: AdminCommand<
  [string],
  'store' | 'openKeyRing'
> = async (target, id) => {
  const keyRing = await target.openKeyRing();
  const connection = await target.store.asSystem((tx) => required(tx, id));
  const credentials = openedCredentials(keyRing, connection);
  const { auth } = credentials;
  if (auth.kind !== 'udap')
    throw new AdminError('Only connections with --auth udap are registered');
  if (connection.settings.network !== undefined)
    throw new AdminError(
      'A connection to a network registers by itself, at each server when it first asks there',
    );
  const clientId = await registerSource(
    resolveSourceConfig(configOf(connection, credentials)),
    auth,
  ).catch((error: unknown) => {
    throw error instanceof SourceFailure
      ? new AdminError(error.message)
      : error;
  });
  return change(
    target,
    id,
    'registerConnection',
    `is registered as ${clientId}`,
    (tx) =>
      updateConnection(tx, id, {
        credentials: sealCredentials(keyRing, id, {
          ...credentials,
          auth: { ...auth, clientId },
        }),
      }),
  );
};

/**
 * `connections rotate`: replaces login, client certificate and callback secret.
 * Workers use them with their next step.
 */
export const rotateConnectionCommand: AdminCommand<
  [string, CredentialOptions],
  'store' | 'openKeyRing'
> = async (target, id, options) => {
  const credentials = await credentialsOf(options, FILES);
  const keyRing = await target.openKeyRing();
  return change(
    target,
    id,
    'rotateConnection',
    'has new credentials',
    async (tx, connection) => {
      validated(() =>
        resolveSourceConfig(sampleConfigOf(connection, credentials)),
      );
      const sealed = sealCredentials(keyRing, id, credentials);
      await updateConnection(tx, id, {
        credentials: sealed,
        authKind: options.auth ?? 'none',
      });
      if (credentials.auth.kind === 'smart-backend')
        await ensureSigningKeys(tx, keyRing);
    },
  );
};

/**
 * `connections set`: changes limits, rates, origins and facilities. Workers use
 * them with their next step.
 */
export const setConnectionCommand: AdminCommand<
  [string, SettingOptions],
  'store' | 'openKeyRing'
> = async (target, id, options) => {
  if (Object.values(options).every((value) => value === undefined))
    throw new AdminError(
      'Name at least one setting to change; see: npm run admin -- connections set --help',
    );
  const keyRing = await target.openKeyRing();
  return change(
    target,
    id,
    'setConnection',
    'has new settings',
    async (tx, connection) => {
      const settings = settingsOf(options, connection.settings);
      const changed = { ...connection, settings };
      validated(() =>
        resolveSourceConfig(
          sampleConfigOf(changed, openedCredentials(keyRing, connection)),
        ),
      );
      await updateConnection(tx, id, { settings });
    },
  );
};

/**
 * `connections pause` and `connections resume`. Running queries wait; up to 14
 * days of it do not count for their deadlines.
 */
export const enableConnectionCommand: AdminCommand<[string, boolean]> = (
  target,
  id,
  enabled,
) =>
  change(
    target,
    id,
    enabled ? 'resumeConnection' : 'pauseConnection',
    enabled ? 'is enabled' : 'is paused: it is not called until it is resumed',
    (tx) => updateConnection(tx, id, { enabled }),
  );

/** `connections delete`. What it delivered stays in the records. */
export const deleteConnectionCommand: AdminCommand<[string]> = (target, id) =>
  change(
    target,
    id,
    'deleteConnection',
    'is deleted; what it delivered stays in the records',
    (tx) => deleteConnection(tx, id),
  );

async function change(
  { store }: Pick<AdminTarget, 'store'>,
  id: string,
  operation: string,
  outcome: string,
  work: (tx: SystemTx, connection: StoredConnection) => Promise<void>,
): Promise<AdminResult> {
  const { name } = await store.asSystem(async (tx) => {
    const connection = await required(tx, id);
    await work(tx, connection);
    await auditAdmin(tx, connection.accountId, operation, id);
    return connection;
  });
  return {
    document: { id, name, operation },
    lines: [`The connection ${name} ${outcome}.`],
  };
}

async function required(tx: SystemTx, id: string): Promise<StoredConnection> {
  const connection = UUID.test(id) ? await findConnection(tx, id) : undefined;
  if (connection === undefined)
    throw new AdminError(
      `Connection ${id} not found; list them with: npm run admin -- connections list`,
    );
  return connection;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Everything but the credentials. */
const shown = ({
  credentials: _,
  ...connection
}: Omit<StoredConnection, 'createdAt' | 'changedAt'>) => connection;

const openedCredentials = (
  keyRing: KeyRing,
  { id, credentials }: StoredConnection,
) => openCredentials(keyRing, id, credentials);

function validated(check: () => unknown): void {
  try {
    check();
  } catch (error) {
    throw error instanceof TypeError ? new AdminError(error.message) : error;
  }
}

/**
 * Secrets come from a file, or from stdin for `-`. They are never taken from
 * arguments: other users of the machine can read those, and shells remember
 * them.
 */
const FILES: OptionSource = {
  nameOf: optionName,
  async read(option, path) {
    const content =
      path === '-'
        ? await text(process.stdin)
        : await readFile(path, 'utf8').catch(() => undefined);
    if (content === undefined)
      throw new InvalidConnection(
        `${optionName(option)}: ${path} cannot be read; give a file, or - for stdin`,
      );
    if (content.trim() !== '') return content.trim();
    throw new InvalidConnection(
      `${optionName(option)}: ${path === '-' ? 'stdin' : path} is empty`,
    );
  },
};
