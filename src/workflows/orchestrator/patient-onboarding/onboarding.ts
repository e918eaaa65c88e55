import {
  DEFAULT_ONBOARDING_TIMING,
  type NetworkQuerySignal,
  type OnboardingTiming,
  type PatientOnboardingInput,
  type PatientOnboardingStatus,
  type PatientOnboardingSummary,
} from '../../../contract/patient-onboarding.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { backOff } from '../../shared/work-in-pages.ts';
import { requestedTypes } from './requested-sources.ts';
import {
  attemptsOf,
  instantMs,
  laterFact,
  polledFact,
  type QueryReport,
  type SourceFact,
} from './source-fact.ts';

/** What to do next while sources are open. */
export type OnboardingNextStep =
  | { kind: 'wait'; ms: number; for: 'status' | 'restart' | 'deadline' }
  | { kind: 'poll' }
  | { kind: 'start'; types: SourceType[] }
  | { kind: 'give-up' }
  | { kind: 'finish' };

/**
 * More events than any well-behaved exchange sends before its response to E2.
 */
const BUFFER_MAX = 100;
/** After this many 404 responses in a row, the query counts as lost. */
const UNKNOWN_ANSWERS_MAX = 3;

/**
 * The orchestration without Temporal: accepts events in any order and any
 * number of times, and decides what to do next. All times are milliseconds of
 * the caller's clock.
 */
export class Onboarding {
  readonly state: OnboardingState;
  readonly #timing: OnboardingTiming;

  /**
   * `carried` is the state of an earlier run of the same orchestration
   * (continue-as-new).
   */
  constructor(
    input: OnboardingRunInput,
    nowMs: number,
    carried?: OnboardingState,
  ) {
    this.#timing = { ...DEFAULT_ONBOARDING_TIMING, ...input.timing };
    this.state =
      carried ??
      newOnboardingState(
        requestedTypes(input.sources),
        nowMs + this.#timing.deadlineMs,
      );
  }

  patientCreated(patientId: string, created: boolean): void {
    this.state.patient = { id: patientId, created };
    this.state.phase = 'assigning-cohorts';
  }

  cohortsAssigned(cohortIds: string[]): void {
    this.state.cohortIds = cohortIds;
    this.state.phase = 'querying';
  }

  /**
   * Takes the response to E2 for `types`: some sources run, some were refused,
   * some were rate-limited.
   */
  queryStarted(
    types: readonly SourceType[],
    answer: QueryReport,
    nowMs: number,
  ): void {
    this.#learnRequest(answer.requestId);
    for (const source of this.#sources(types)) this.#takeStart(source, answer);
    this.#countStart(types, nowMs);
    this.#takeBuffered();
  }

  /**
   * E2 may or may not have been executed, and must not be sent twice: a webhook
   * will report the request id.
   */
  startUnknown(types: readonly SourceType[], nowMs: number): void {
    for (const source of this.#sources(types))
      Object.assign(source, {
        start: 'started',
        error: 'it is unknown whether its query was started',
      });
    this.#countStart(types, nowMs);
    this.#takeBuffered();
  }

  /** A further E2 was refused entirely: its sources will not start. */
  restartRefused(types: readonly SourceType[], error: string): void {
    for (const source of this.#sources(types))
      Object.assign(source, { start: 'refused', error });
  }

  /** A further E2 could not be delivered; it counts as a try. */
  restartFailed(types: readonly SourceType[], nowMs: number): void {
    this.#countStart(types, nowMs);
  }

  webhook(event: NetworkQuerySignal): void {
    if (this.state.seenMessageIds.includes(event.messageId)) return;
    this.state.seenMessageIds.push(event.messageId);
    this.state.buffered = [...this.state.buffered, event].slice(-BUFFER_MAX);
    this.#takeBuffered();
  }

  /** Whether a webhook is about a patient other than this onboarding's. */
  isAboutAnother({ patientId }: { patientId?: string }): boolean {
    const own = this.state.patient?.id;
    return patientId !== undefined && own !== undefined && patientId !== own;
  }

  /** The EHR or form has sent the job, possibly again. */
  intake(messageId: string): void {
    if (!this.state.intakeMessageIds.includes(messageId))
      this.state.intakeMessageIds.push(messageId);
  }

  /**
   * The person's identity proof; created on first use, because its parts may
   * arrive at any time.
   */
  identity(): IdentityState {
    this.state.identity ??= { challenges: 0 };
    return this.state.identity;
  }

  /**
   * The person has returned from a page; the exchange must be polled for the
   * outcome.
   */
  personReturned(aal2SessionId: string | undefined): void {
    const identity = this.identity();
    identity.hasReturned = true;
    identity.broughtSessionId = aal2SessionId ?? identity.broughtSessionId;
  }

  polled(answer: QueryReport): void {
    this.state.unknownAnswers[answer.requestId] = 0;
    for (const source of this.#sourcesOf(answer.requestId)) {
      const fact = polledFact(answer, source.type);
      if (fact !== undefined) source.fact = laterFact(source.fact, fact);
    }
    this.attemptsRead(answer);
  }

  /** Takes only the number of attempts from a report. */
  attemptsRead(answer: QueryReport): void {
    for (const source of this.#sourcesOf(answer.requestId))
      source.attempts = Math.max(
        source.attempts,
        attemptsOf(answer, source.type),
      );
  }

  /** The exchange says that it does not know the query. */
  pollFoundNothing(requestId: string): void {
    const answers = (this.state.unknownAnswers[requestId] ?? 0) + 1;
    this.state.unknownAnswers[requestId] = answers;
    if (answers < UNKNOWN_ANSWERS_MAX) return;
    for (const source of this.#sourcesOf(requestId))
      if (isOpen(source))
        Object.assign(source, {
          given: 'lost',
          error: 'the exchange no longer knows the query',
        });
  }

  pollsDone(nowMs: number): void {
    this.state.polls += 1;
    this.state.pollsSinceStart += 1;
    this.#planPoll(nowMs);
  }

  next(nowMs: number): OnboardingNextStep {
    if (this.settled) return { kind: 'finish' };
    const {
      deadlineAtMs,
      nextPollAtMs = deadlineAtMs,
      nextStartAtMs = deadlineAtMs,
    } = this.state;
    if (nowMs >= deadlineAtMs) return { kind: 'give-up' };
    const limited = this.state.sources.filter(
      (source) => isOpen(source) && source.start === 'limited',
    );
    if (limited.length > 0 && nowMs >= nextStartAtMs)
      return { kind: 'start', types: limited.map(({ type }) => type) };
    const startAtMs = limited.length > 0 ? nextStartAtMs : deadlineAtMs;
    const pollAtMs =
      this.openRequestIds.length > 0 ? nextPollAtMs : deadlineAtMs;
    if (nowMs >= pollAtMs) return { kind: 'poll' };
    const untilMs = Math.min(startAtMs, pollAtMs, deadlineAtMs);
    const reason = untilMs === startAtMs ? 'restart' : 'status';
    return {
      kind: 'wait',
      ms: untilMs - nowMs,
      for: untilMs === deadlineAtMs ? 'deadline' : reason,
    };
  }

  /** The deadline has passed: gives up all open sources. */
  giveUp(): void {
    for (const source of this.state.sources)
      if (isOpen(source)) source.given = 'timed-out';
  }

  get settled(): boolean {
    return !this.state.sources.some(isOpen);
  }

  /** Queries with a source that is still running. */
  get openRequestIds(): string[] {
    return this.state.requestIds.filter((requestId) =>
      this.#sourcesOf(requestId).some(isOpen),
    );
  }

  /**
   * Queries last reported by webhook: webhooks do not contain the number of
   * attempts.
   */
  get unreadRequestIds(): string[] {
    return this.state.requestIds.filter((requestId) =>
      this.#sourcesOf(requestId).some(({ fact }) => fact?.via === 'webhook'),
    );
  }

  #takeStart(source: SourceRecord, answer: QueryReport): void {
    const error = answer.errors.find((entry) => entry.source === source.type);
    const runs = answer.sources.some((entry) => entry.type === source.type);
    if (error === undefined || runs) {
      Object.assign(source, {
        start: 'started',
        requestId: answer.requestId,
        error: undefined,
      });
      const fact = polledFact(answer, source.type);
      if (fact !== undefined) source.fact = laterFact(source.fact, fact);
      source.attempts = Math.max(
        source.attempts,
        attemptsOf(answer, source.type),
      );
    } else {
      const mayStartLater =
        error.httpStatus === 429 ||
        error.httpStatus === 408 ||
        error.httpStatus >= 500;
      source.start = mayStartLater ? 'limited' : 'refused';
      source.error = `could not be started (${error.httpStatus})`;
    }
  }

  #countStart(types: readonly SourceType[], nowMs: number): void {
    for (const source of this.#sources(types)) source.starts += 1;
    const { restartFirstMs, restartsMax } = this.#timing;
    if (this.state.starts >= restartsMax)
      for (const source of this.state.sources)
        if (source.start === 'limited') source.start = 'refused';
    this.state.nextStartAtMs = nowMs + restartFirstMs * 2 ** this.state.starts;
    this.state.starts += 1;
    this.state.pollsSinceStart = 0;
    this.#planPoll(nowMs);
  }

  #planPoll(nowMs: number): void {
    const { pollFirstMs, pollMaxMs } = this.#timing;
    this.state.nextPollAtMs =
      nowMs + backOff(this.state.pollsSinceStart, pollFirstMs, pollMaxMs);
  }

  #learnRequest(requestId: string): void {
    if (!this.state.requestIds.includes(requestId))
      this.state.requestIds.push(requestId);
  }

  /**
   * Assigns sources whose E2 response was lost to the first unknown query that
   * a webhook reports.
   */
  #adopt(requestId: string): void {
    const orphans = this.state.sources.filter(
      (source) => isOpen(source) && isOrphan(source),
    );
    if (orphans.length === 0) return;
    this.#learnRequest(requestId);
    for (const source of orphans)
      Object.assign(source, { requestId, error: undefined });
  }

  #takeBuffered(): void {
    const waiting = this.state.buffered;
    this.state.buffered = [];
    for (const event of waiting) {
      if (this.isAboutAnother(event)) continue;
      if (!this.state.requestIds.includes(event.requestId))
        this.#adopt(event.requestId);
      if (this.state.requestIds.includes(event.requestId)) this.#apply(event);
      else this.state.buffered.push(event);
    }
  }

  #apply(event: NetworkQuerySignal): void {
    const source = this.state.sources.find(({ type }) => type === event.source);
    if (source === undefined) return;
    this.state.webhooksReceived += 1;
    const atMs = instantMs(event.completedAt);
    source.requestId ??= event.requestId;
    source.fact = laterFact(source.fact, {
      atMs,
      state: event.status,
      via: 'webhook',
    });
    const url = event.consolidatedDataUrl;
    if (url !== undefined && atMs >= (this.state.consolidated?.atMs ?? 0))
      this.state.consolidated = { atMs, url };
  }

  #sources(types: readonly SourceType[]): SourceRecord[] {
    return this.state.sources.filter(({ type }) => types.includes(type));
  }

  #sourcesOf(requestId: string): SourceRecord[] {
    return this.state.sources.filter(
      (source) => source.requestId === requestId,
    );
  }
}

const isOrphan = (source: SourceRecord): boolean =>
  source.start === 'started' && source.requestId === undefined;

export interface SourceRecord {
  type: SourceType;
  /**
   * `limited`: rate-limited, will be started again later; `refused`: will not
   * start.
   */
  start: 'to-start' | 'started' | 'limited' | 'refused';
  starts: number;
  attempts: number;
  requestId?: string;
  fact?: SourceFact;
  /**
   * Given up: the deadline has passed, or the exchange no longer knows the
   * query.
   */
  given?: 'timed-out' | 'lost';
  error?: string;
}

/** The progress of the person's identity proof (individual access). */
export interface IdentityState {
  session?: IdentityPage;
  proofedIdentityId?: string;
  challenge?: IdentityPage;
  /** Number of challenges created so far. */
  challenges: number;
  aal2SessionId?: string;
  /**
   * The person has returned from a page, and the exchange has not been polled
   * since.
   */
  hasReturned?: boolean;
  /** The session id that the person's browser returned with. */
  broughtSessionId?: string;
}

/** A page of the identity partner for the person to open. */
export interface IdentityPage {
  /** Id of the session or challenge at the exchange. */
  id: string;
  url: string;
  expiresAtMs: number;
}

/**
 * The complete state of an orchestration: plain data of a few KB, carried over
 * a continue-as-new.
 */
export interface OnboardingState {
  phase: PatientOnboardingStatus['phase'];
  patient?: { id: string; created: boolean };
  identity?: IdentityState;
  cohortIds: string[];
  requestIds: string[];
  sources: SourceRecord[];
  /** Webhook events of queries whose E2 response has not arrived yet. */
  buffered: NetworkQuerySignal[];
  seenMessageIds: string[];
  webhooksReceived: number;
  intakeMessageIds: string[];
  consolidated?: { atMs: number; url: string };
  documents?: PatientOnboardingSummary['documents'];
  /** Number of E2 calls made. */
  starts: number;
  polls: number;
  pollsSinceStart: number;
  /** 404 responses in a row, by request id. */
  unknownAnswers: Record<string, number>;
  deadlineAtMs: number;
  nextPollAtMs?: number;
  nextStartAtMs?: number;
  problem?: string;
  /**
   * Set by a run that held the person's data: the id of that run, whose history
   * is deleted by the next one.
   */
  forget?: string;
  /** Why the patient could not be created, for the next run to fail with. */
  refused?: { message: string; details: unknown[] };
}

const newOnboardingState = (
  types: readonly SourceType[],
  deadlineAtMs: number,
): OnboardingState => ({
  phase: 'creating-patient',
  cohortIds: [],
  requestIds: [],
  sources: types.map((type) => ({
    type,
    start: 'to-start',
    starts: 0,
    attempts: 0,
  })),
  buffered: [],
  seenMessageIds: [],
  webhooksReceived: 0,
  intakeMessageIds: [],
  starts: 0,
  polls: 0,
  pollsSinceStart: 0,
  unknownAnswers: {},
  deadlineAtMs,
});

/** Whether the onboarding still waits for this source. */
export function isOpen(source: SourceRecord): boolean {
  if (source.fact !== undefined && source.fact.state !== 'running')
    return false;
  if (source.given !== undefined) return false;
  return source.fact !== undefined || source.start !== 'refused';
}

/**
 * The input of a run. Only the first one holds the person: when the patient is
 * created, the others go on by its id.
 */
export type OnboardingRunInput = Omit<PatientOnboardingInput, 'patient'> &
  Partial<Pick<PatientOnboardingInput, 'patient'>>;

/**
 * What a run hands over. A build of 0.2.0 or earlier cannot read it, and leaves
 * the run to one that can: such a run reads its outcome in one activity, and
 * has fewer search attributes.
 */
export interface CarriedOnboarding {
  state: OnboardingState;
}

/** The workflow's signature, for the modules that continue it as new. */
export type PatientOnboardingWorkflow = (
  input: OnboardingRunInput,
  carried?: CarriedOnboarding | OnboardingState,
) => Promise<PatientOnboardingSummary>;
