import type { KeyRing } from '../../../lib/key-ring.ts';
import { minuteOf } from '../../../lib/utc-time.ts';
import type { AuditChain } from '../../platform/audit/chain.ts';
import type { AuditHeads } from '../../platform/audit/heads.ts';
import type { BlobNames } from '../../platform/blobs/verify-blobs.ts';
import type { Store } from '../../platform/database/database.ts';

/** Result of a command: lines or a table for people, and a JSON document for programs. */
export interface AdminResult {
  /** Output with `--json`. */
  document: Readonly<Record<string, unknown>>;
  lines?: readonly string[];
  table?: { head: readonly string[]; rows: readonly (readonly string[])[] };
  /** NDJSON, written to stdout instead of everything else. */
  stream?: AsyncIterable<string>;
  /** The command succeeded but found a fault; the exit code is 3. */
  failed?: boolean;
}

/** The database and audit storage that the commands work on. */
export interface AdminTarget {
  store: Store;
  /** The key ring that encrypts credentials. Throws ConfigError if it is not configured. */
  openKeyRing(): Promise<KeyRing>;
  /** Opens the audit chain and external heads. Throws ConfigError if they are not configured. */
  openAudit(): Promise<{ chain: AuditChain; heads?: AuditHeads }>;
  /** Opens the blob store. Throws ConfigError if it is not configured. */
  openBlobs(): Promise<BlobNames>;
}

/** Invalid options, or an object that does not exist. The message states what to do. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
}

/** Actor of audit entries of the CLI, which has no users of its own. */
export const ADMIN_ACTOR = 'admin';

/** UTC, to the minute. */
export const shortTime = (time: Date | null): string => (time === null ? '–' : minuteOf(time));
