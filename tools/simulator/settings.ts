import { z } from 'zod';
import {
  SOURCE_NAMES,
  type SourceName,
} from '../../src/local-stack/simulator/protocol.ts';

const sourceSettings = z.strictObject({
  /** Serves a CapabilityStatement at `metadata`. */
  metadata: z.boolean(),
  /** Supports `Patient/$match`. */
  match: z.boolean(),
  /** Supports `Patient/{id}/$everything`. */
  everything: z.boolean(),
  /**
   * Honours `Prefer: respond-async`; otherwise responds synchronously, as the
   * standard allows.
   */
  async: z.boolean(),
  /**
   * Result of a finished job: the first page, that page in a batch-response, or
   * a manifest of files.
   */
  asyncResult: z.enum(['bundle', 'batch-response', 'manifest']),
  /** Whether the files of a manifest require the access token. */
  manifestRequiresAccessToken: z.boolean(),
  /** Whether a manifest also lists a file of errors. */
  manifestWithErrors: z.boolean(),
  /**
   * Reports finished jobs to the `x-callback-url` of the request that started
   * them.
   */
  callback: z.boolean(),
  pageSize: z.int().min(1),
  /** Delay of every response. */
  latencyMs: z.int().min(0),
  /**
   * Duration of a job; the value within the range is derived from the job's id.
   */
  jobLatencyMs: z.strictObject({ min: z.int().min(0), max: z.int().min(0) }),
  /** `Retry-After` of an unfinished job. */
  retryAfterSeconds: z.int().min(0),
  /** Requests above this limit get 429; null: no limit. */
  requestsPerSecond: z.int().min(1).nullable(),
  /**
   * Ignores the parameters of `Patient/_search` and returns all patients, as
   * some servers do.
   */
  searchAnswersEverybody: z.boolean(),
  /** Honours `_type` of `$everything`. */
  honoursTypeFilter: z.boolean(),
  /**
   * Is a document network by IHE's PDQm and MHD: documents and their authors
   * only, searched by patient and status; no `$everything`.
   */
  documentNetwork: z.boolean(),
  /**
   * How it answers requests for changes (`_since`, `_lastUpdated=gt…`): it has
   * no times (`untimed`), honours them, ignores them, returns older resources
   * too except to narrow requests, or returns nothing; `uncounted`: honours
   * them, but refuses `_summary=count`. With times, it also searches for
   * several ids at once.
   */
  changes: z.enum([
    'untimed',
    'honoured',
    'ignored',
    'older-too',
    'nothing',
    'uncounted',
  ]),
  /** How far its clock is ahead. */
  clockAheadMs: z.int(),
});
export type SourceSettings = z.infer<typeof sourceSettings>;

/** Body of `PUT /admin/settings`: absent members keep their values. */
export const settingsChange = z.partialRecord(
  z.enum(SOURCE_NAMES),
  sourceSettings.partial(),
);
export type SettingsChange = z.infer<typeof settingsChange>;
export type AllSettings = Record<SourceName, SourceSettings>;

const SYNCHRONOUS: SourceSettings = {
  metadata: true,
  match: true,
  everything: true,
  async: false,
  asyncResult: 'bundle',
  manifestRequiresAccessToken: true,
  manifestWithErrors: false,
  callback: false,
  pageSize: 200,
  latencyMs: 0,
  jobLatencyMs: { min: 1000, max: 2000 },
  retryAfterSeconds: 1,
  requestsPerSecond: null,
  searchAnswersEverybody: false,
  honoursTypeFilter: true,
  documentNetwork: false,
  changes: 'untimed',
  clockAheadMs: 0,
};

/**
 * Together, the three defaults cover every behaviour that a connector must
 * support.
 */
const DEFAULTS: AllSettings = {
  hie: { ...SYNCHRONOUS, async: true, callback: true },
  pharmacy: { ...SYNCHRONOUS, pageSize: 1_000 },
  lab: { ...SYNCHRONOUS, match: false, everything: false, pageSize: 100 },
};

/** The current settings; `change` and `reset` apply from the next request. */
export class Settings {
  #current: AllSettings;
  readonly #initial: AllSettings;

  constructor(initial: SettingsChange = {}) {
    this.#initial = merge(DEFAULTS, initial);
    this.#current = this.#initial;
  }

  of(source: SourceName): SourceSettings {
    return this.#current[source];
  }

  all(): AllSettings {
    return this.#current;
  }

  change(change: SettingsChange): void {
    this.#current = merge(this.#current, change);
  }

  reset(): void {
    this.#current = this.#initial;
  }
}

const merge = (base: AllSettings, change: SettingsChange): AllSettings => ({
  hie: { ...base.hie, ...change.hie },
  pharmacy: { ...base.pharmacy, ...change.pharmacy },
  lab: { ...base.lab, ...change.lab },
});
