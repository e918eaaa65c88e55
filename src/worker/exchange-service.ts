import { readFileSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import type { Registry } from 'prom-client';
import { z } from 'zod';
import { exchangeActivities } from '../activities/exchange/index.ts';
import { createReconcileActivities } from '../activities/exchange/reconcile.ts';
import {
  type Config,
  ConfigError,
  readConfig,
  sourceVariableNames,
} from '../config.ts';
import { SOURCE_TYPES, type SourceType } from '../contract/primitives.ts';
import { assembleExchange, EXCHANGE_VARIABLES } from '../exchange/assemble.ts';
import { gatewayCredentials } from '../exchange/delivery/responding-gateway/open-responding-gateway.ts';
import { isImporting } from '../exchange/people/bulk-create/request-store.ts';
import { createAuditChain } from '../exchange/platform/audit/chain.ts';
import { openAuditHeads } from '../exchange/platform/audit/open-heads.ts';
import { auditSealing } from '../exchange/platform/audit/sealer.ts';
import {
  checkClock,
  showClock,
} from '../exchange/platform/database/check-clock.ts';
import { measureConnections } from '../exchange/platform/database/connections.ts';
import { createRoundCount } from '../exchange/platform/recovery/reconcile-state-store.ts';
import {
  createReconcileMetrics,
  createReconciler,
} from '../exchange/platform/recovery/reconciler.ts';
import { createStartGuard } from '../exchange/platform/recovery/start-guard.ts';
import { recordRefusal } from '../exchange/platform/workflows/refusal-store.ts';
import { abandonedJobCancellation } from '../exchange/queries/network-query/abandoned-jobs.ts';
import {
  CONNECTION_AUTH,
  type CredentialOptions,
  checked,
  credentialsOf,
  InvalidConnection,
} from '../exchange/sources/connections/connection-options.ts';
import { createSourceConnections } from '../exchange/sources/connections/connections.ts';
import { configOf } from '../exchange/sources/connections/settings.ts';
import { createSharedTokens } from '../exchange/sources/connections/shared-tokens.ts';
import { createAssertionSigner } from '../exchange/sources/connections/signing-keys.ts';
import { createSubmissions } from '../exchange/sources/connections/submissions.ts';
import { createCallBudgets } from '../exchange/sources/connectors/budgets.ts';
import { createConnectors } from '../exchange/sources/connectors/create-connector.ts';
import type { SourceConfig } from '../exchange/sources/connectors/source-config.ts';
import { connectionSettingsSchema } from '../exchange/sources/connectors/source-settings.ts';
import { countGatewayRequests } from '../exchange/sources/health/gateway-requests.ts';
import type { Logger } from '../lib/logger.ts';
import { inBothLanes } from '../temporal/task-queues.ts';
import type { HostedService } from './hosted-service.ts';

/** What the service needs besides its configuration. */
interface ExchangeServiceDeps {
  logger: Logger;
  temporal: Client;
  metrics: Registry;
  /** Whether another build than that of this worker is current. */
  isReplaced: () => Promise<boolean>;
}

/**
 * Only workers have these: an attacker who controls a gateway must not be able
 * to seal audit entries.
 */
const AUDIT_VARIABLES = ['AUDIT_KEY', 'AUDIT_HEADS'] as const;

/**
 * Builds the activities of the exchange's own task queue and of the sources'
 * queues. Throws ConfigError.
 */
export async function openExchangeService({
  logger,
  temporal,
  metrics,
  isReplaced,
}: ExchangeServiceDeps): Promise<HostedService> {
  const config = readConfig([
    ...EXCHANGE_VARIABLES,
    ...SOURCE_VARIABLE_NAMES,
    ...AUDIT_VARIABLES,
    'IHE_TLS',
  ]);
  const sources = await sourceConfigs(config);
  const exchange = await assembleExchange(config, temporal, logger);
  const { store, keyRing } = exchange;
  await checkClock(store);
  const hideClock = showClock(store, 'worker');
  measureConnections(metrics, store);
  const connectorDeps = {
    signer: createAssertionSigner(store, keyRing),
    sharedTokens: createSharedTokens(store, keyRing),
    callBudgets: createCallBudgets(store),
    countRequest: countGatewayRequests(metrics),
  };
  const connectors = createConnectors(sources, connectorDeps);
  const connections = createSourceConnections(
    { store, keyRing },
    connectorDeps,
  );
  const sealing = auditSealing({
    store,
    chain: createAuditChain(config.AUDIT_KEY),
    heads:
      config.AUDIT_HEADS === undefined
        ? undefined
        : await openAuditHeads(config.AUDIT_HEADS),
    logger,
  });
  const reconcile = createReconcileActivities({
    store,
    reconciler: createReconciler({
      roundCount: createRoundCount(store),
      recoveries: [
        ...exchange.recoveries,
        abandonedJobCancellation({ store, connectors, connections }),
        sealing,
      ],
      isImporting: () => store.asSystem(isImporting),
      logger,
      metrics: createReconcileMetrics(metrics),
    }),
  });
  return {
    activities: inBothLanes(
      exchangeActivities({
        ...exchange,
        connectors,
        connections,
        submissions: createSubmissions({ store, keyRing }, connectorDeps),
        gatewayCredentials: await gatewayCredentials(config),
        startGuard: createStartGuard(store),
        isReplaced,
        reconcile,
      }),
    ),
    recordRefusal: (what) =>
      void store
        .asSystem((tx) => recordRefusal(tx, what))
        .catch((err: unknown) =>
          logger.error({ err }, 'could not record what was refused'),
        ),
    close: () => {
      hideClock();
      return exchange.close();
    },
  };
}

const PREFIXES = {
  hie: 'HIE',
  pharmacy: 'PHARMACY',
  lab: 'LAB',
} as const satisfies Record<SourceType, string>;
type Prefix = (typeof PREFIXES)[SourceType];

export const SOURCE_VARIABLE_NAMES = [
  ...sourceVariableNames('HIE'),
  ...sourceVariableNames('PHARMACY'),
  ...sourceVariableNames('LAB'),
] as const;
type SourcesConfig = Config<(typeof SOURCE_VARIABLE_NAMES)[number]>;

/** What of a login is not a variable of its own. */
const loginSchema = z.object({
  auth: z.enum(CONNECTION_AUTH).exclude(['udap']).optional(),
  scope: z.string().optional(),
  algorithm: z.string().optional(),
  /** PEM files. */
  tlsCa: z.string().optional(),
  tlsCert: z.string().optional(),
  tlsKey: z.string().optional(),
  tlsPins: z.array(z.string()).optional(),
  /** What our SAML assertion says, with `auth: saml`. */
  organizationName: z.string().optional(),
  organizationId: z.string().optional(),
  samlSubject: z.string().optional(),
  samlEmail: z.string().optional(),
  samlRole: z.string().optional(),
  samlPurpose: z.string().optional(),
  npi: z.string().optional(),
});

/** `LAB_SETTINGS`: the settings of a connection, and its login. */
const settingsSchema = z.strictObject({
  ...connectionSettingsSchema.omit({ facilityIds: true }).shape,
  ...loginSchema.shape,
});

/**
 * The default connection of each source, for accounts that have none of their
 * own. Throws ConfigError.
 */
export async function sourceConfigs(
  config: SourcesConfig,
): Promise<Record<SourceType, SourceConfig>> {
  const configs = SOURCE_TYPES.map(async (source) => [
    source,
    await sourceConfig(source, config),
  ]);
  return Object.fromEntries(await Promise.all(configs)) as Record<
    SourceType,
    SourceConfig
  >;
}

async function sourceConfig(
  source: SourceType,
  config: SourcesConfig,
): Promise<SourceConfig> {
  const prefix = PREFIXES[source];
  try {
    const given = checked(settingsSchema, config[`${prefix}_SETTINGS`]);
    const login = loginSchema.parse(given);
    const auth = login.auth ?? suggested(prefix, config);
    const secretName =
      `${prefix}_${auth === 'bearer' ? 'BEARER_TOKEN' : 'CLIENT_SECRET'}` as const;
    const secret = config[secretName];
    const callbackSecret = config[`${prefix}_CALLBACK_SECRET`];
    const names: Partial<Record<keyof CredentialOptions, string>> = {
      auth: 'the login',
      clientId: `${prefix}_CLIENT_ID`,
      tokenUrl: `${prefix}_TOKEN_URL`,
      secretFile: secretName,
    };
    const credentials = await credentialsOf(
      {
        ...login,
        auth,
        clientId: config[`${prefix}_CLIENT_ID`],
        tokenUrl: config[`${prefix}_TOKEN_URL`],
        secretFile: secret && secretName,
        callbackSecretFile: callbackSecret && `${prefix}_CALLBACK_SECRET`,
      },
      {
        nameOf: (option) => names[option] ?? option,
        // Variables take a secret, or the name of its file, before this.
        read: (option, path) =>
          ({
            [secretName]: secret,
            [`${prefix}_CALLBACK_SECRET`]: callbackSecret,
          })[path] ?? fileContent(option, path),
      },
    );
    const settings = connectionSettingsSchema.parse(given);
    return configOf(
      { source, baseUrl: config[`${prefix}_BASE_URL`], settings },
      credentials,
    );
  } catch (error) {
    if (!(error instanceof InvalidConnection)) throw error;
    throw new ConfigError(
      `${prefix}_SETTINGS and the other variables of ${source}: ${error.message}`,
    );
  }
}

/**
 * Without `auth` in the settings: client credentials if any of theirs is given,
 * or else a bearer token, or else none.
 */
function suggested(prefix: Prefix, config: SourcesConfig) {
  const names = ['TOKEN_URL', 'CLIENT_ID', 'CLIENT_SECRET'] as const;
  if (names.some((name) => config[`${prefix}_${name}`] !== undefined))
    return 'client-secret-basic';
  return config[`${prefix}_BEARER_TOKEN`] === undefined ? 'none' : 'bearer';
}

function fileContent(option: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    throw new InvalidConnection(
      `${option}: ${path} cannot be read; give the path of a PEM file`,
    );
  }
}
