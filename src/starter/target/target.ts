import { Agent } from 'undici';
import { readConfig } from '../../config.ts';
import { readConnection, type StackConnection } from '../../embedded/connection-file.ts';
import { createExchangeClient, type ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { UsageError } from '../errors.ts';
import type { TemporalUi } from '../links.ts';

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
export interface Target {
  exchange: ExchangeClient;
  baseUrl: string;
  facilityId?: string;
  ui?: TemporalUi;
  /** Absent for any other base address. */
  stack?: StackTarget;
  close(): Promise<void>;
}

const CALL_TIMEOUT_MS = 20_000;
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * The exchange of `--base-url`, else that of the stack that runs on the data folder.
 * Throws NoStackError, ConfigError, or UsageError when no key is given for another exchange.
 */
export async function openTarget(options: TargetOptions, env?: Env): Promise<Target> {
  if (options.baseUrl !== undefined && options.dataDir !== undefined)
    throw new UsageError(
      'Give --base-url or --data-dir, not both: the stack of a data folder has its own address.',
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
    close: () => dispatcher.close(),
  };
}

interface Location {
  baseUrl: string;
  apiKey: string;
  facilityId?: string;
  ui?: TemporalUi;
  stack?: StackTarget;
}

async function locate(options: TargetOptions, env: Env | undefined): Promise<Location> {
  if (options.baseUrl !== undefined) return otherExchange(options.baseUrl, options, env);
  const dataDir = options.dataDir ?? readConfig(['DATA_DIR'], env).DATA_DIR;
  const connection = await readConnection(dataDir);
  const { temporalUiUrl, temporalNamespace } = connection;
  return {
    baseUrl: connection.baseUrl,
    apiKey: options.apiKey ?? connection.apiKey,
    facilityId: options.facility ?? connection.facilityId,
    ui: temporalUiUrl === undefined ? undefined : { url: temporalUiUrl, namespace: temporalNamespace },
    stack: { dataDir, connection },
  };
}

function otherExchange(baseUrl: string, options: TargetOptions, env: Env | undefined): Location {
  const config = readConfig(['API_KEY', 'TEMPORAL_UI_URL', 'TEMPORAL_NAMESPACE'], env);
  const apiKey = options.apiKey ?? config.API_KEY;
  if (apiKey === undefined)
    throw new UsageError(`Give the key for ${baseUrl} as API_KEY (or API_KEY_FILE, or --api-key).`);
  const { TEMPORAL_UI_URL: url, TEMPORAL_NAMESPACE: namespace } = config;
  return {
    baseUrl,
    apiKey,
    facilityId: options.facility,
    ui: url === undefined ? undefined : { url, namespace },
  };
}

/** The facility to act for: as given, the stack's, or the only one that the key may see. Throws UsageError. */
export async function facilityOf(target: Target): Promise<string> {
  if (target.facilityId !== undefined) return target.facilityId;
  const { answer } = await target.exchange.call('listFacilities', {});
  const open = answer.facilities.filter(({ active }) => active !== false);
  const [only] = open;
  if (only !== undefined && open.length === 1) return only.id;
  throw new UsageError(
    open.length === 0
      ? 'This key sees no active facility; give one with --facility.'
      : `Give --facility, one of:\n${open.map(({ id, name }) => `  ${id}  ${name}`).join('\n')}`,
  );
}
