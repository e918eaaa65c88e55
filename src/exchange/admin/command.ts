import type { AuditChain } from '../platform/audit/chain.ts';
import type { AuditHeads } from '../platform/audit/heads.ts';
import type { Store } from '../platform/database/database.ts';

/** What a command leaves behind: lines or a table for people, a document for programs. */
export interface AdminResult {
  /** What programs get with `--json`. */
  document: Readonly<Record<string, unknown>>;
  lines?: readonly string[];
  table?: { head: readonly string[]; rows: readonly (readonly string[])[] };
  /** Written as it comes, whatever else is asked for: NDJSON. */
  stream?: AsyncIterable<string>;
  /** The command did its work, and what it found is bad: the process ends with 3. */
  failed?: boolean;
}

/** Where the commands work. */
export interface AdminTarget {
  store: Store;
  /** Key and place of the audit's chains; throws ConfigError when they are not given. */
  openAudit(): Promise<{ chain: AuditChain; heads?: AuditHeads }>;
}

/** What was asked for makes no sense, or is not there. The message says what would be right. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
}

/** How the audit names whoever uses the CLI: there are no users but the machine's. */
export const ADMIN_ACTOR = 'admin';

export const shortTime = (time: Date | null): string =>
  time === null ? '–' : `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
