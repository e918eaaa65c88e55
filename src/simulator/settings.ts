import { z } from 'zod';
import { SOURCE_NAMES, type SourceName } from './protocol.ts';

const sourceSettings = z.strictObject({
  /** Serves a CapabilityStatement at `metadata`. */
  metadata: z.boolean(),
  /** Knows `Patient/$match`. */
  match: z.boolean(),
  /** Knows `Patient/{id}/$everything`. */
  everything: z.boolean(),
  /** Honours `Prefer: respond-async`; else it answers at once, as the standard allows. */
  async: z.boolean(),
  /** What a finished job answers: the first page, that page wrapped in a batch-response, or a list of files. */
  asyncResult: z.enum(['bundle', 'batch-response', 'manifest']),
  /** Whether the files of a manifest need the access token. */
  manifestRequiresAccessToken: z.boolean(),
  /** Whether a manifest also names a file of errors. */
  manifestWithErrors: z.boolean(),
  /** Announces finished jobs to the `x-callback-url` of the request that started them. */
  callback: z.boolean(),
  pageSize: z.int().min(1),
  /** Added to every answer. */
  latencyMs: z.int().min(0),
  /** How long a job takes; the value within the range follows from the job's id. */
  jobLatencyMs: z.strictObject({ min: z.int().min(0), max: z.int().min(0) }),
  /** Told to those who ask for an unfinished job. */
  retryAfterSeconds: z.int().min(0),
  /** Requests above it are answered 429; null means no limit. */
  requestsPerSecond: z.int().min(1).nullable(),
  /** Ignores what it is asked in `Patient/_search` and answers everybody, as some servers do. */
  searchAnswersEverybody: z.boolean(),
  /** Honours `_type` of `$everything`. */
  honoursTypeFilter: z.boolean(),
});
export type SourceSettings = z.infer<typeof sourceSettings>;

/** Body of `PUT /admin/settings`: what is not named stays as it is. */
export const settingsChange = z.partialRecord(z.enum(SOURCE_NAMES), sourceSettings.partial());
export type SettingsChange = z.infer<typeof settingsChange>;
export type AllSettings = Record<SourceName, SourceSettings>;

const synchronous: SourceSettings = {
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
};

/** Together the three defaults show every shape a connector has to know. */
const DEFAULTS: AllSettings = {
  hie: { ...synchronous, async: true, callback: true },
  pharmacy: { ...synchronous, pageSize: 1000 },
  lab: { ...synchronous, match: false, everything: false, pageSize: 100 },
};

/** The settings in force; `change` and `reset` take effect with the next request. */
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

function merge(base: AllSettings, change: SettingsChange): AllSettings {
  return {
    hie: { ...base.hie, ...change.hie },
    pharmacy: { ...base.pharmacy, ...change.pharmacy },
    lab: { ...base.lab, ...change.lab },
  };
}
