import { Agent } from 'undici';
import { readConfig } from '../../config.ts';
import {
  readConnection,
  type StackConnection,
} from '../../local-stack/connection-file.ts';
import { createExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import type { TemporalUiAddress } from '../../temporal/ui-links.ts';
import { UsageError } from '../errors.ts';
import { createBulkExports } from './bulk-exports.ts';

/** Options of every command. */
export interface TargetOptions {
  dataDir?: string;
  baseUrl?: string;
  apiKey?: string;
  facility?: string;
}

export type Env = Readonly<Record<string, string | undefined>>;

/** The running stack of a data folder. */
export interface StackTarget {
  dataDir: string;
  connection: StackConnection;
}

/** The exchange that a command talks to. */
export type Target = Awaited<ReturnType<typeof openTarget>>;

const CALL_TIMEOUT_MS = 20_000;
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Opens the exchange at `--base-url`, else that of the stack that runs on the
 * data folder. Throws NoStackError, ConfigError, and UsageError when the API
 * key of another exchange is missing.
 */
export async function openTarget(options: TargetOptions, env?: Env) {
  if (options.baseUrl !== undefined && options.dataDir !== undefined)
    throw new UsageError(
      'Pass either --base-url or --data-dir, not both: the stack on a data folder has its own address.',
    );
  const where = await locate(options, env);
  const { EXCHANGE_IDEMPOTENCY } = readConfig(['EXCHANGE_IDEMPOTENCY'], env);
  const dispatcher = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS } });
  return {
    ...where,
    exchange: createExchangeClient({
      baseUrl: where.baseUrl,
      credential: async () => ({ name: 'x-api-key', value: where.apiKey }),
      idempotency: EXCHANGE_IDEMPOTENCY,
      timeoutMs: CALL_TIMEOUT_MS,
      dispatcher,
    }),
    exports: createBulkExports({
      baseUrl: where.baseUrl,
      apiKey: where.apiKey,
      dispatcher,
    }),
    close: (): Promise<void> => dispatcher.close(),
  };
}

interface Location {
  baseUrl: string;
  apiKey: string;
  facilityId?: string;
  ui?: TemporalUiAddress;
  /** Absent with `--base-url`. */
  stack?: StackTarget;
}

async function locate(
  options: TargetOptions,
  env: Env | undefined,
): Promise<Location> {
  if (options.baseUrl !== undefined)
    return otherExchange(options.baseUrl, options, env);
  const dataDir = options.dataDir ?? readConfig(['DATA_DIR'], env).DATA_DIR;
  const connection = await readConnection(dataDir);
  const { temporalUiUrl, temporalNamespace } = connection;
  return {
    baseUrl: connection.baseUrl,
    apiKey: options.apiKey ?? connection.apiKey,
    facilityId: options.facility ?? connection.facilityId,
    ui:
      temporalUiUrl === undefined
        ? undefined
        : { url: temporalUiUrl, namespace: temporalNamespace },
    stack: { dataDir, connection },
  };
}

function otherExchange(
  baseUrl: string,
  options: TargetOptions,
  env: Env | undefined,
): Location {
  const config = readConfig(
    ['API_KEY', 'TEMPORAL_UI_URL', 'TEMPORAL_NAMESPACE'],
    env,
  );
  const apiKey = options.apiKey ?? config.API_KEY;
  if (apiKey === undefined)
    throw new UsageError(
      `The API key for ${baseUrl} is missing. Set API_KEY (or API_KEY_FILE), or pass --api-key.`,
    );
  const { TEMPORAL_UI_URL: url, TEMPORAL_NAMESPACE: namespace } = config;
  return {
    baseUrl,
    apiKey,
    facilityId: options.facility,
    ui: url === undefined ? undefined : { url, namespace },
  };
}

/**
 * Returns the running stack. Throws UsageError for another exchange, which has
 * no simulator.
 */
export function requireStack({ stack }: Target): StackTarget {
  if (stack === undefined)
    throw new UsageError(
      'Only the stack of "npm start" has a simulator. Remove --base-url.',
    );
  return stack;
}

/**
 * The facility to act for: that of `--facility`, the stack's, or the only
 * active one of the key. Throws UsageError.
 */
export async function facilityOf(target: Target): Promise<string> {
  if (target.facilityId !== undefined) return target.facilityId;
  const { answer } = await target.exchange.call('listFacilities', {});
  const open = answer.facilities.filter(({ active }) => active !== false);
  const [only] = open;
  if (only !== undefined && open.length === 1) return only.id;
  throw new UsageError(
    open.length === 0
      ? 'This API key has no active facility. Pass the id of a facility as --facility.'
      : `This API key has several facilities. Pass one of them as --facility:\n${open.map(({ id, name }) => `  ${id}  ${name}`).join('\n')}`,
  );
}
