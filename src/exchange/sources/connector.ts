import type { FhirResource } from 'fhir/r4.js';
import type { Demographics } from '../patients/rules/demographics.ts';
import type { Identity, RetireReason, Retraction } from '../records/rules/retirement.ts';

/**
 * What the exchange needs of a source, whatever protocol it speaks.
 *
 * Every method may be called again after a crash: `begin` when nothing was recorded yet, `poll` with the
 * recorded job, `resume` with the cursor of the last recorded page. All of them throw only `SourceFailure`.
 */
export interface SourceConnector {
  /** Finds the patient at the source and asks for the data. */
  begin(patient: Demographics, options: BeginOptions, signal: AbortSignal): Promise<Begin>;
  /** Asks an accepted job for its state. */
  poll(job: JobHandle, signal: AbortSignal): Promise<Poll>;
  /** Goes on after the last recorded page. */
  resume(cursor: Cursor, signal: AbortSignal): AsyncIterable<Page>;
  /**
   * Reads resources that a full answer no longer holds, to learn what became of them. What cannot be read is neither
   * deleted nor moved: `unknown`.
   */
  whatBecameOf(question: MissingResources, signal: AbortSignal): Promise<Fate[]>;
  /** Tells the source that its answer is no longer wanted; a source that no longer knows the job is fine. */
  cancel(job: JobHandle, signal: AbortSignal): Promise<void>;
}

export interface BeginOptions {
  /** Where the source may announce that its answer is ready. Only a hint; the data is always fetched. */
  callbackUrl?: string;
  /** Pharmacy only: the source's immediate path. */
  realtime?: boolean;
}

export type Begin =
  | { kind: 'unknown-patient' }
  | { kind: 'ready'; pages: AsyncIterable<Page> }
  | { kind: 'accepted'; job: JobHandle; retryAfterMs?: number };

export type Poll =
  | { kind: 'pending'; job: JobHandle; retryAfterMs?: number }
  | { kind: 'ready'; pages: AsyncIterable<Page> };

/** Opaque to everyone but the connector; plain JSON, kept in PostgreSQL. */
export type JobHandle = { readonly [key: string]: unknown };
/** Opaque to everyone but the connector; plain JSON, kept in PostgreSQL with the page it follows. */
export type Cursor = { readonly [key: string]: unknown };

export interface MissingResources {
  missing: readonly Identity[];
  /** The ids under which the source has known the person, now or before. */
  patientIds: readonly string[];
  /** Resources of the same answer, by type: reading one proves that the source serves reads of that type. */
  present: ReadonlyMap<string, string>;
}

/** What became of each of the `missing`, in the same order. */
export type Fate = RetireReason | 'kept' | 'unknown';

/** One answer of a source, cut to the types this source is asked for and to the patient it was asked about. */
export interface Page {
  resources: FhirResource[];
  /** The ids under which the source knows the person: what the resources name. */
  patientIds: readonly string[];
  /**
   * The answer as it came, but for strays; kept as a document so that every resource can be traced to what brought
   * it. Empty when the page only closes the sequence.
   */
  raw: { bytes: Buffer; contentType: string };
  /** Documents that this page's DocumentReferences point to. */
  attachments: Attachment[];
  /** Documents that could not be had: gone, too large, at a foreign address. */
  skippedAttachments: number;
  /** Resources of other patients that the source mixed in, and malformed ones; put aside, never stored. */
  misattributedCount: number;
  /** Resources that the source says are deleted or another person's; some may have been collected before. */
  retracted: readonly Retraction[];
  /** Organizations, practitioners and locations that the answer refers to and that could not be had. */
  unreachable?: Unreachable;
  /** Error files that the source listed beside its data: the answer may be incomplete. */
  reportedErrors: number;
  /** Where to go on; null after the last page. */
  next: Cursor | null;
}

export interface Unreachable {
  count: number;
  /** As the message of a SourceFailure. */
  reason: string;
}

export interface Attachment {
  documentReferenceId: string;
  contentType: string;
  bytes: Buffer;
}

/**
 * Why a source did not answer as asked.
 * - `transport`: no answer, a broken one, or 408/5xx: the same call may be made again.
 * - `rate-limited`: 429; the same call may be made again after `retryAfterMs`.
 * - `refused`: the source will not serve us (401, 403, other 4xx, configuration): trying again is of no use.
 * - `bad-answer`: the source answered with something that is not what was asked (content type, size, JSON,
 *   somebody else's Patient): a new attempt may do better.
 * - `job-failed`: the source took the request and then failed it: a new attempt may do better.
 */
export type SourceFailureKind = 'transport' | 'rate-limited' | 'refused' | 'bad-answer' | 'job-failed';

/** The message is shown to callers and operators: no personal data, no tokens, no URLs with ids. */
export class SourceFailure extends Error {
  override readonly name = 'SourceFailure';

  constructor(
    readonly kind: SourceFailureKind,
    message: string,
    readonly options: { retryAfterMs?: number; httpStatus?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
  }
}
