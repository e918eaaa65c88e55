import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { KeyRing } from '../../../lib/key-ring.ts';
import { minuteOf } from '../../../lib/time.ts';
import type { SealedStorage } from '../../../shared/blobs/encrypted-blob-store.ts';
import type { TemporalClient } from '../../../temporal/client.ts';
import type { AuditChain } from '../../platform/audit/chain.ts';
import type { AuditHeads } from '../../platform/audit/heads.ts';
import type { Store } from '../../platform/database/database.ts';

/** Options of every command. */
export interface AdminCommandOptions {
  dataDir?: string;
}

/**
 * Result of a command: lines or a table for people, and a JSON document for
 * programs.
 */
export interface AdminResult {
  /** Output with `--json`. */
  document: Readonly<Record<string, unknown>>;
  lines?: readonly string[];
  table?: { head: readonly string[]; rows: readonly (readonly string[])[] };
  /** NDJSON, written to stdout instead of everything else. */
  stream?: AsyncIterable<string>;
  /** The command succeeded but found a fault; the exit code is 3. */
  failed?: boolean;
  /** A service did not answer, so that not all is known; the exit code is 1. */
  isIncomplete?: boolean;
}

/** The database and audit storage that the commands work on. */
export interface AdminTarget {
  store: Store;
  /** Where the gateway answers, if it is known. */
  gatewayUrl?: string;
  /**
   * The key ring that encrypts credentials. Throws ConfigError if it is not
   * configured.
   */
  openKeyRing(): Promise<KeyRing>;
  /**
   * Opens the audit chain and external heads. Throws ConfigError if they are
   * not configured.
   */
  openAudit(): Promise<{ chain: AuditChain; heads?: AuditHeads }>;
  /**
   * A client of Temporal, which may be out of reach. Throws ConfigError if it
   * is not configured.
   */
  openTemporal(): Promise<TemporalClient>;
  /**
   * Opens the blob store. Throws ConfigError if it is not configured, and
   * AdminError if its folder does not exist.
   */
  openBlobs(): Promise<Pick<SealedStorage, 'list' | 'write' | 'delete'>>;
}

/**
 * A command gets what it needs of the target, its arguments, and its options
 * without those that all commands have.
 */
export type AdminCommand<
  Given extends unknown[] = [],
  Needs extends keyof AdminTarget = 'store',
> = (target: Pick<AdminTarget, Needs>, ...given: Given) => Promise<AdminResult>;

/**
 * Invalid options, or an object that does not exist. The message states what to
 * do.
 */
export class AdminError extends Error {
  override readonly name = 'AdminError';
}

/** Actor of audit entries of the CLI, which has no users of its own. */
export const ADMIN_ACTOR = 'admin';

/** UTC, to the minute. */
export const shortTime = (time: Date | null): string =>
  time === null ? '–' : minuteOf(time);

/** An operator's statement about a command, kept in the audit for good. */
export interface Statement {
  by: string;
  reason: string;
}

const STATEMENT_LENGTH_MAX = 500;

export function checkedStatement({ by, reason }: Statement): Statement {
  const statement = { by: by.trim(), reason: reason.trim() };
  for (const [option, text] of Object.entries(statement))
    if (text.length === 0 || text.length > STATEMENT_LENGTH_MAX)
      throw new AdminError(
        `--${option} must have 1 to ${STATEMENT_LENGTH_MAX} characters and must not contain patient data`,
      );
  return statement;
}

/**
 * The address of a store to read. Throws AdminError for a folder that does not
 * exist: a mistyped one, or one that is away, must not become an empty store.
 *
 * @param option where the address was given, or the name of its variable
 */
export async function existingStore(
  address: string,
  option: string,
): Promise<string> {
  if (
    address.startsWith('file:///') &&
    !(await isFolder(fileURLToPath(address)))
  )
    throw new AdminError(`${option}: there is no folder ${address}`);
  return address;
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
