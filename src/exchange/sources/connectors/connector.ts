import type { FhirResource } from 'fhir/r4.js';
import type { FhirPatient, MatchGrade } from '#person-matching';
import type { Demographics } from '../../people/patients/rules/demographics.ts';
import type {
  Identity,
  RetireReason,
  Retraction,
} from '../../records/rules/retirement.ts';

/**
 * What the exchange needs from a source, whatever its protocol.
 *
 * Every method may be called again after a crash: `begin` when nothing has been
 * stored yet, `poll` with the stored job, `resume` with the cursor of the last
 * stored page. All of them throw only `SourceFailure`, `StoredByAnotherBuild`
 * or `ChangesNotHonoured`.
 */
export interface SourceConnector {
  /** Set when this connection may be asked for changes only. */
  readonly changes?: {
    /**
     * Identifies what decides which data the connection delivers; changes with
     * its address, login and settings.
     */
    fingerprint: string;
    fullAfterDays: number;
    /**
     * How many resources of these types the source counts itself; undefined: it
     * does not count them.
     */
    count(
      patientIds: readonly string[],
      types: readonly string[],
      signal: AbortSignal,
    ): Promise<ReadonlyMap<string, number | undefined>>;
  };
  /**
   * A document keeps its bytes under its id, so that one which is stored need
   * not be fetched again.
   */
  readonly keepsDocuments?: boolean;
  /**
   * In how many milliseconds a step may begin, because many calls wait for the
   * budget of calls; 0: now. Undefined where there is no budget.
   */
  waitToBeginMs?(): number;
  /** Finds the patient at the source and requests the data. */
  begin(
    patient: SoughtPerson,
    options: BeginOptions,
    signal: AbortSignal,
  ): Promise<Begin>;
  /**
   * Finds out whether the source knows the patient, and asks for no data. For
   * members of a network, of which many are asked and few know the patient.
   */
  locate?(patient: SoughtPerson, signal: AbortSignal): Promise<Located>;
  /** Polls the status of an accepted job. */
  poll(
    job: JobHandle,
    signal: AbortSignal,
    deferred?: DeferredQuestions,
  ): Promise<Poll>;
  /** Continues after the last stored page. */
  resume(cursor: Cursor, signal: AbortSignal): AsyncIterable<SourcePage>;
  /**
   * Reads resources that are missing from a complete result, to find out
   * whether they were deleted or moved to another patient. Those that cannot be
   * read are `unknown`.
   */
  checkMissing(
    question: MissingResources,
    signal: AbortSignal,
  ): Promise<Fate[]>;
  /**
   * Cancels a job at the source. A source that no longer knows the job is not
   * an error.
   */
  cancel(job: JobHandle, signal: AbortSignal): Promise<void>;
}

/**
 * A Patient of a source that may be our person, and was not taken: a person
 * decides.
 */
export interface HeldCandidate {
  /** The Patient's id at the source. */
  id: string;
  grade: MatchGrade;
  /** Members of a patient (docs/interface.md). */
  agrees: readonly string[];
  contradicts: readonly string[];
}

/**
 * Whom a source is searched for, and what a person has decided about that
 * source's Patients.
 */
export interface SoughtPerson extends Demographics {
  review?: {
    /** By the Patient's id at the source: whether it is our person. */
    decided: ReadonlyMap<string, boolean>;
    note: (held: readonly HeldCandidate[]) => Promise<void>;
  };
  /** Which addresses, phones and e-mail addresses are no household's. */
  sharedAmong?: (
    theirs: readonly FhirPatient[],
  ) => Promise<ReadonlySet<string>>;
}

export interface BeginOptions {
  /**
   * URL to which the source may report that its job is done. Only a hint; the
   * data is always fetched.
   */
  callbackUrl?: string;
  /** Pharmacy only: the source's immediate path. */
  realtime?: boolean;
  /** Ask only for what has changed, if the server is known to honour it. */
  changes?: ChangesQuestion;
  /**
   * When the attachments that are stored of this connection's resources were
   * stored last, by the resource (`fileKeyOf`). A document that never changes need not be fetched
   * again. Undefined: everything is to be fetched.
   */
  storedDocuments?: ReadonlyMap<string, Date>;
  deferred?: DeferredQuestions;
}

/**
 * Questions of one attempt to one connection whose answers come later, to an
 * address of ours.
 */
export interface DeferredQuestions {
  /**
   * Notes a question before it is sent.
   * @returns the address for its answer
   */
  note(question: {
    messageId: string;
    /** The id that the answer repeats. */
    discoveryId: string;
  }): Promise<string>;
  /** Whether an answer to a question of this attempt has come. */
  isAnswered(): Promise<boolean>;
  /**
   * The newest answer that no other attempt has taken; it is this attempt's from
   * now on. One to an earlier attempt came too late for that.
   */
  take(): Promise<TakenAnswer | undefined>;
  /** An answer was of no use: it is not taken again. */
  discard(id: string): Promise<void>;
}

export interface TakenAnswer {
  id: string;
  /** The message as it came. */
  bytes: Buffer;
  /** Whether this attempt has asked for it. */
  isOwn: boolean;
}

/**
 * What an earlier complete answer of this server brought, so that only later
 * changes need to be asked for.
 */
export interface ChangesQuestion {
  /** Ask for what the server stored after this instant. */
  since: string;
  /**
   * The person's Patient ids in the earlier answer. With other ones, everything
   * is asked for.
   */
  patientIds: readonly string[];
  /** For each type in the record, the newest resource that carries a time. */
  newest: readonly (Identity & { lastUpdated: string })[];
  /**
   * Resources in the record that no search by patient finds, such as
   * Medications.
   */
  supporting: readonly Identity[];
  /** What earlier checks found. */
  honoured: HonouredChanges;
}

/**
 * Whether a server honours a time in `$everything`, and in searches for a type;
 * without an entry: not checked.
 */
export type HonouredChanges = Readonly<Record<string, boolean>>;

/**
 * The server answered a request for changes with something older, so it is
 * trusted in nothing for a while.
 */
export const NOT_TRUSTED: HonouredChanges = { '*': false };

export type Begin = (
  | { kind: 'unknown-patient' }
  | ({
      kind: 'ready';
      pages: AsyncIterable<SourcePage>;
      /** Where `resume` begins with the same pages, if it can. */
      cursor?: Cursor;
    } & Begun)
  | ({ kind: 'accepted'; job: JobHandle; retryAfterMs?: number } & Begun)
) & {
  /**
   * What went otherwise than usual, for the timeline. For display, like the
   * message of a SourceFailure.
   */
  notice?: string;
  /** What an operator should see to, although the call succeeded. */
  warnings?: readonly SourceWarning[];
};

/** Whether a source knows the patient. With `located`, `begin` follows. */
export interface Located extends Pick<Begin, 'notice'> {
  kind: 'located' | 'unknown-patient';
}

/** Also the first part of the key of the timeline's entry. */
export const SOURCE_WARNING_KINDS = ['clock', 'certificate'] as const;

export interface SourceWarning {
  kind: (typeof SOURCE_WARNING_KINDS)[number];
  /** For display, without anything about a person. */
  message: string;
}

export interface Begun {
  /** The person's Patient ids at the source. */
  patientIds?: readonly string[];
  /** Set when the source was asked for changes only: since when. */
  since?: string;
  /** What this call has found out about the server. */
  checked?: HonouredChanges;
}

export type Poll =
  | { kind: 'pending'; job: JobHandle; retryAfterMs?: number }
  /** The answer has come to us: `begin` takes it. */
  | { kind: 'answered' }
  | { kind: 'ready'; pages: AsyncIterable<SourcePage> };

/** Opaque outside the connector; plain JSON, stored in PostgreSQL. */
export type JobHandle = { readonly [key: string]: unknown };
/**
 * Opaque outside the connector; plain JSON, stored in PostgreSQL with the page
 * it follows.
 */
export type Cursor = { readonly [key: string]: unknown };

export interface MissingResources {
  missing: readonly Identity[];
  /** The person's Patient ids at the source, current and former. */
  patientIds: readonly string[];
  /**
   * Id of one received resource per type: if it can be read, the source serves
   * reads of that type.
   */
  present: ReadonlyMap<string, string>;
  /**
   * Asked between two reads: whether to stop and return the findings so far.
   */
  isOver?: () => boolean;
}

/** The finding for each of `missing`, in the same order. */
export type Fate = RetireReason | 'kept' | 'unknown';

/**
 * One page of a source's result, reduced to the requested resource types and
 * patient.
 */
export interface SourcePage {
  resources: FhirResource[];
  /** The person's Patient ids at the source; the resources refer to these. */
  patientIds: readonly string[];
  /**
   * The response as received, without misattributed resources. Stored as a
   * document so that every resource can be traced to it. Empty when the page
   * only closes the sequence.
   */
  raw: { bytes: Buffer; contentType: string };
  /**
   * Attachments of resources: those inside this page's, or the next ones of an
   * earlier page's.
   */
  attachments: Attachment[];
  /** One more attachment, too large to be held in memory. */
  largeAttachment?: LargeAttachment;
  /**
   * Number of attachments that could not be fetched: gone, too large, or at an
   * origin that is not configured.
   */
  skippedAttachments: number;
  /**
   * Why, as far as it is known; a few, for display, like the message of a
   * SourceFailure.
   */
  skippedReasons?: readonly string[];
  /**
   * Number of attachments whose size or hash is other than the source states;
   * they are stored as they came.
   */
  differingAttachments?: number;
  /** Number of resources that belong to other patients; they are not stored. */
  misattributedCount: number;
  /**
   * Resources that the source reports as deleted or as another person's;
   * earlier queries may have stored some.
   */
  retracted: readonly Retraction[];
  /**
   * Organizations, practitioners and locations that the results refer to and
   * that could not be fetched.
   */
  unreachable?: Unreachable;
  /**
   * Resources larger than a page may be, as `Type/id` where the source named
   * them; the result lacks them.
   */
  leftOut?: readonly string[];
  /**
   * Number of error files that the source listed besides its data; the data may
   * be incomplete.
   */
  reportedErrors: number;
  /**
   * What else the source, or we, have to say about the page, for display like
   * the message of a SourceFailure.
   */
  reported?: Reported;
  /** Where to continue; null after the last page. */
  next: Cursor | null;
}

export interface Reported {
  /** What the record lacks. */
  gaps: readonly string[];
  warnings: readonly string[];
}

export interface Unreachable {
  count: number;
  /** For display, like the message of a SourceFailure. */
  reason: string;
}

export interface Attachment {
  /** The resource that has it, as `fileKeyOf` names it. */
  sourceDocumentId: string;
  contentType: string;
  bytes: Buffer;
}

export interface LargeAttachment extends Omit<Attachment, 'bytes'> {
  /**
   * The content, from the source; ends with a SourceFailure if it breaks off or
   * exceeds the configured size. May be called again to read it anew.
   */
  chunks(): AsyncIterable<Buffer>;
}

/**
 * Why a call to a source failed.
 * - `transport`: no response, a broken one, or 408/5xx; the same call may be
 *   retried.
 * - `rate-limited`: 429; the same call may be retried after `retryAfterMs`.
 * - `denied`: the source rejects our credentials (401, 403, a refused token
 *   request), and would for any patient; the same call may be retried once an
 *   operator has mended them.
 * - `refused`: the source refuses this request (other 4xx, a 403 because of
 *   consent, configuration), or claims that another person is the patient;
 *   retrying does not help.
 * - `bad-answer`: the response is not what was requested (content type, size,
 *   JSON, another person's record); a new attempt may succeed.
 * - `job-failed`: the source accepted the request and its job then failed; a
 *   new attempt may succeed.
 */
export type SourceFailureKind =
  | 'transport'
  | 'rate-limited'
  | 'denied'
  | 'refused'
  | 'bad-answer'
  | 'job-failed';

/**
 * The message is shown to callers and operators, so it contains no personal
 * data, tokens or URLs with ids.
 */
export class SourceFailure extends Error {
  override readonly name = 'SourceFailure';

  readonly kind: SourceFailureKind;
  readonly options: {
    retryAfterMs?: number;
    httpStatus?: number;
    cause?: unknown;
  };

  constructor(
    kind: SourceFailureKind,
    message: string,
    options: {
      retryAfterMs?: number;
      httpStatus?: number;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.options = options;
  }
}

/**
 * A server that was asked for changes returned something older, so the rest of
 * its answer proves nothing either.
 */
export class ChangesNotHonoured extends Error {
  override readonly name = 'ChangesNotHonoured';
  readonly asked: string;

  /**
   * @param asked what was asked with a time: `everything` or a resource type
   */
  constructor(asked: string) {
    super('The source was asked for changes and returned something older');
    this.asked = asked;
  }
}

/**
 * A stored job or cursor has a form that this build does not know: during a
 * deploy, a worker of a newer build wrote it. It is not the source's failure; a
 * worker of that build continues.
 */
export class StoredByAnotherBuild extends Error {
  override readonly name = 'StoredByAnotherBuild';

  constructor(what: 'job' | 'cursor') {
    super(
      `The stored ${what} was written by another build; a worker of that build continues`,
    );
  }
}
