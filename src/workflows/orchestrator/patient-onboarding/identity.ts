import { ApplicationFailure, condition } from '@temporalio/workflow';
import {
  DEFAULT_ONBOARDING_TIMING,
  type OnboardingTiming,
} from '../../../contract/patient-onboarding.ts';
import { callFailure, essential } from '../../shared/failures.ts';
import type { ExchangeCalls } from './exchange-calls.ts';
import { continueIfDue } from './next-run.ts';
import type {
  IdentityPage,
  IdentityState,
  Onboarding,
  OnboardingRunInput,
} from './onboarding.ts';

/** A challenge is valid for an hour. An expired one is replaced, for a day. */
const CHALLENGES_MAX = 24;
const HOUR_MS = 3_600_000;
const TOO_MANY_CHALLENGES =
  'The person did not authenticate with two factors in time';

const NOT_VERIFIED = {
  done: 'The person was not verified',
  late: 'The person did not verify their identity in time',
  failed: 'The person could not be verified as this patient',
} as const;

/**
 * The state of a verification session or of a challenge of the identity
 * partner.
 */
type IdentityPageState = 'pending' | 'verified' | 'failed' | 'expired';

/** What the workflow waits for while the person is on a page. */
interface AwaitedPage {
  page: IdentityPage;
  isDone(): boolean;
  summary: string;
  /** Asks the exchange for the page's state, and stores what it answers. */
  poll(id: string): Promise<IdentityPageState>;
}

/**
 * How a page ended. `late`: it expired first; `failed`: the exchange reports a
 * failure.
 */
type PageEnd = 'done' | 'late' | 'failed';

const ENDS: Readonly<Partial<Record<IdentityPageState, PageEnd>>> = {
  failed: 'failed',
  expired: 'late',
};

/**
 * After this many 404 responses in a row, we assume that the exchange does not
 * serve the operation.
 */
const UNKNOWN_MAX = 3;

/**
 * Individual access: the person verifies their identity, which may take days,
 * and then authenticates with two factors. Webhooks and the person's return to
 * our page are hints; if they are lost, polling the exchange makes up for them.
 * Steps done before a continue-as-new are not repeated.
 */
export class IdentityProof {
  readonly #onboarding: Onboarding;
  readonly #calls: ExchangeCalls;
  readonly #input: OnboardingRunInput;
  readonly #show: () => void;
  readonly #identity: IdentityState;
  readonly #redirectUrl: string;
  readonly #timing: OnboardingTiming;
  /** Polls of the page that the exchange did not know, in a row. */
  #unknownPolls = 0;

  constructor(
    onboarding: Onboarding,
    calls: ExchangeCalls,
    input: OnboardingRunInput,
    show: () => void,
  ) {
    this.#onboarding = onboarding;
    this.#calls = calls;
    this.#input = input;
    this.#show = show;
    this.#identity = onboarding.identity();
    this.#redirectUrl = input.ias?.redirectUrl ?? '';
    this.#timing = { ...DEFAULT_ONBOARDING_TIMING, ...input.timing };
  }

  /** Throws `identity-not-verified` and `identity-not-confirmed`. */
  async prove(patientId: string): Promise<void> {
    const { state } = this.#onboarding;
    state.phase = 'proving-identity';
    await this.#confirm(await this.#verify(patientId));

    state.phase = 'querying';
    state.problem = undefined;
    this.#show();
  }

  /** The person verifies their identity. Returns the id of the proof. */
  async #verify(patientId: string): Promise<string> {
    const identity = this.#identity;
    identity.session ??= await this.#createSession(patientId);
    this.#show();

    const end = await this.#awaitPerson({
      page: identity.session,
      isDone: () => identity.proofedIdentityId !== undefined,
      summary: 'Wait until the person has verified their identity',
      poll: (sessionId) => this.#pollSession(sessionId),
    });
    if (identity.proofedIdentityId === undefined)
      throw ApplicationFailure.nonRetryable(
        NOT_VERIFIED[end],
        'identity-not-verified',
      );
    return identity.proofedIdentityId;
  }

  /** The person authenticates with two factors, by one challenge or another. */
  async #confirm(proofedIdentityId: string): Promise<void> {
    const identity = this.#identity;
    while (identity.aal2SessionId === undefined) {
      // A challenge that was open before a continue-as-new is still valid.
      identity.challenge ??= await this.#createChallenge(proofedIdentityId);
      this.#show();

      const end = await this.#awaitPerson({
        page: identity.challenge,
        isDone: () => identity.aal2SessionId !== undefined,
        summary: 'Wait until the person has authenticated with two factors',
        poll: (challengeId) => this.#pollChallenge(challengeId),
      });
      if (end !== 'done') identity.challenge = undefined;
    }
  }

  async #createSession(patientId: string): Promise<IdentityPage> {
    const { sessionId, sessionUrl, expiresAt } = await essential(
      () => this.#calls.createIdentitySession(patientId, this.#redirectUrl),
      'identity-not-verified',
      'The patient was created, but the verification of their identity could not be started',
    );
    return { id: sessionId, url: sessionUrl, expiresAtMs: msOf(expiresAt) };
  }

  async #createChallenge(proofedIdentityId: string): Promise<IdentityPage> {
    const identity = this.#identity;
    if (identity.challenges >= CHALLENGES_MAX)
      throw ApplicationFailure.nonRetryable(
        TOO_MANY_CHALLENGES,
        'identity-not-confirmed',
      );

    identity.challenges += 1;
    const redirectUrl = this.#redirectUrl;
    const { challengeId, challengeUrl, expiresAt } = await essential(
      () =>
        this.#calls.createChallenge(
          { proofedIdentityId, redirectUrl },
          identity.challenges,
        ),
      'identity-not-confirmed',
      'The person was verified, but the two-factor challenge could not be created',
    );
    return { id: challengeId, url: challengeUrl, expiresAtMs: msOf(expiresAt) };
  }

  async #pollSession(sessionId: string): Promise<IdentityPageState> {
    const session = await this.#calls.getIdentitySession(sessionId);
    this.#identity.proofedIdentityId ??= session.proofedIdentityId;
    return session.status;
  }

  async #pollChallenge(challengeId: string): Promise<IdentityPageState> {
    const identity = this.#identity;
    try {
      const challenge = await this.#calls.getChallenge(challengeId);
      identity.aal2SessionId ??= challenge.aal2SessionId;
      return challenge.status;
    } catch (error) {
      // This exchange does not serve the challenge's status. Use the session
      // that the browser returned with: the exchange verifies it when the query
      // starts.
      if (callFailure(error)?.kind === 'not-found')
        identity.aal2SessionId ??= identity.broughtSessionId;
      if (identity.aal2SessionId !== undefined) return 'verified';
      throw error;
    }
  }

  /**
   * Waits until the person has done what a page asks of them. Learns of it from
   * signals and by polling, less and less often, with a last poll when the page
   * has expired.
   */
  async #awaitPerson(awaited: AwaitedPage): Promise<PageEnd> {
    const { page, isDone, summary } = awaited;
    const identity = this.#identity;
    const leftMs = () => page.expiresAtMs - Date.now();
    let pauseMs = this.#timing.pollFirstMs;
    this.#unknownPolls = 0;

    for (;;) {
      const isPolled = this.#unknownPolls < UNKNOWN_MAX;
      const untilMs = isPolled ? Math.min(pauseMs, leftMs()) : leftMs();
      await condition(
        () => isDone() || identity.hasReturned === true,
        Math.max(untilMs, 1),
        { summary },
      );
      if (isDone()) return 'done';

      identity.hasReturned = false;
      const isLast = leftMs() <= 0;
      await continueIfDue(this.#input, this.#onboarding.state);
      const end = await this.#pollOnce(awaited);
      if (end !== undefined) return end;
      this.#show();
      if (isLast) return 'late';
      pauseMs = Math.min(pauseMs * 2, this.#timing.pollMaxMs);
    }
  }

  /**
   * Returns how the page ended; undefined: it has not. A failed poll is only
   * noted: the next one makes up for it.
   */
  async #pollOnce({
    page,
    isDone,
    poll,
  }: AwaitedPage): Promise<PageEnd | undefined> {
    const { state } = this.#onboarding;
    state.problem = undefined;
    try {
      const status = await poll(page.id);
      this.#unknownPolls = 0;
      return isDone() ? 'done' : ENDS[status];
    } catch (error) {
      const failure = callFailure(error);
      if (failure === undefined) throw error;
      if (failure.kind === 'not-found') this.#unknownPolls += 1;
      state.problem = failure.message;
      return undefined;
    }
  }
}

/** Another exchange may send an invalid time; assume one hour then. */
const msOf = (instant: string): number =>
  Date.parse(instant) || Date.now() + HOUR_MS;
