import {
  ApplicationFailure,
  condition,
  log,
  patched,
  proxyActivities,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { OutcomeActivities } from '../../../activities/orchestrator/read-outcome.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { callFailure, essential } from '../../shared/failures.ts';
import type { ExchangeCalls } from './exchange-calls.ts';
import { continueIfDue, forgetPerson } from './next-run.ts';
import type {
  Onboarding,
  OnboardingRunInput,
  OnboardingState,
} from './onboarding.ts';

const NOT_CREATED = 'patient-not-created';

const { readOutcome } = proxyActivities<OutcomeActivities>({
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '2 minutes',
  summary: 'Read the number of attempts, and list the patient’s documents',
});

/** The failure of an onboarding whose patient could not be created. */
export const patientNotCreated = ({
  message,
  details,
}: NonNullable<OnboardingState['refused']>): ApplicationFailure =>
  ApplicationFailure.nonRetryable(message, NOT_CREATED, ...details);

/**
 * The steps of an onboarding, in the order of the workflow: each calls the
 * exchange and tells `onboarding`, which decides what is next.
 */
export class OnboardingSteps {
  readonly #onboarding: Onboarding;
  readonly #calls: ExchangeCalls;
  readonly #input: OnboardingRunInput;
  readonly #show: () => void;
  /** The run has the commands of 0.2.0. */
  readonly #isOfEarlier: boolean;

  constructor(
    onboarding: Onboarding,
    calls: ExchangeCalls,
    input: OnboardingRunInput,
    show: () => void,
    isOfEarlier: boolean,
  ) {
    this.#onboarding = onboarding;
    this.#calls = calls;
    this.#input = input;
    this.#show = show;
    this.#isOfEarlier = isOfEarlier;
  }

  /**
   * Creates the patient; whatever the outcome, the next run takes it up.
   * Returns the id in a run of 0.1.0.
   */
  async createPatient(): Promise<string> {
    const { state } = this.#onboarding;
    const { patient } = this.#input;
    if (patient === undefined)
      throw ApplicationFailure.nonRetryable(
        'The input has no patient',
        NOT_CREATED,
      );
    try {
      const { patientId, created } = await essential(
        () => this.#calls.createPatient(patient),
        NOT_CREATED,
        'The patient could not be created',
      );
      this.#onboarding.patientCreated(patientId, created);
      if (!this.#forgetsPerson()) return patientId;
    } catch (error) {
      if (!(error instanceof ApplicationFailure) || !this.#forgetsPerson())
        throw error;
      state.refused = { message: error.message, details: error.details ?? [] };
    }
    return forgetPerson(this.#input, state);
  }

  readonly #forgetsPerson = (): boolean =>
    this.#input.forgetsPerson === true || patched('forget-the-person');

  /** Throws `cohorts-not-assigned`. */
  async addToCohorts(): Promise<void> {
    const { cohortIds = [] } = this.#input;
    const patientId = this.#onboarding.state.patient?.id;
    if (cohortIds.length === 0 || patientId === undefined)
      return this.#onboarding.cohortsAssigned([]);

    const answer = await essential(
      () => this.#calls.addToCohorts(patientId, cohortIds),
      'cohorts-not-assigned',
      'The patient was created, but could not be added to the cohorts',
    );
    this.#onboarding.cohortsAssigned(
      answer.cohortIds.filter((id) => cohortIds.includes(id)),
    );
  }

  /** Throws `query-not-started`. */
  async startFirstQuery(patientId: string): Promise<void> {
    const { state } = this.#onboarding;
    const types = state.sources.map(({ type }) => type);
    await essential(
      () => this.#startQuery(patientId, types),
      'query-not-started',
      'The patient was created, but the network query could not be started',
    );
    if (!this.#isOfEarlier) return;
    upsertSearchAttributes([
      { key: searchAttribute.queryStatus, value: 'in-progress' },
      ...state.requestIds
        .slice(0, 1)
        .map((value) => ({ key: searchAttribute.requestId, value })),
    ]);
  }

  /** Waits until no source is open, or the deadline has passed. */
  async waitForSources(patientId: string): Promise<void> {
    const onboarding = this.#onboarding;
    for (;;) {
      this.#show();
      const step = onboarding.next(Date.now());
      switch (step.kind) {
        case 'finish':
          return;
        case 'wait':
          await continueIfDue(this.#input, onboarding.state);
          await condition(() => onboarding.settled, step.ms, {
            summary: WAITS[step.for],
          });
          break;
        case 'poll':
          await this.#pollQueries();
          break;
        case 'start':
          await this.#restart(patientId, step.types);
          break;
        case 'give-up':
          onboarding.giveUp();
          break;
      }
    }
  }

  /**
   * Starts a query. Throws only when no query was started; after an unknown
   * outcome, waits for webhooks instead.
   */
  async #startQuery(
    patientId: string,
    types: readonly SourceType[],
  ): Promise<void> {
    const onboarding = this.#onboarding;
    try {
      const { starts, identity } = onboarding.state;
      const answer = await this.#calls.startQuery(
        patientId,
        types,
        starts + 1,
        identity,
      );
      onboarding.queryStarted(types, answer, Date.now());
    } catch (error) {
      if (callFailure(error)?.kind !== 'ambiguous') throw error;
      onboarding.startUnknown(types, Date.now());
    }
  }

  /**
   * Reads the status of each open query. A failure is only noted: the next poll
   * makes up for it.
   */
  async #pollQueries(): Promise<void> {
    const onboarding = this.#onboarding;
    onboarding.state.problem = undefined;
    for (const requestId of onboarding.openRequestIds) {
      try {
        const why = 'No webhook yet: poll the query';
        onboarding.polled(await this.#calls.getQuery(requestId, why));
      } catch (error) {
        const failure = callFailure(error);
        if (failure === undefined) throw error;
        if (failure.kind === 'not-found')
          onboarding.pollFoundNothing(requestId);
        onboarding.state.problem = failure.message;
      }
    }
    onboarding.pollsDone(Date.now());
  }

  /**
   * Starts a further query for the rate-limited sources. Its failure does not
   * affect the other sources.
   */
  async #restart(
    patientId: string,
    types: readonly SourceType[],
  ): Promise<void> {
    try {
      await this.#startQuery(patientId, types);
    } catch (error) {
      const failure = callFailure(error);
      if (failure === undefined) throw error;
      if (failure.kind === 'unavailable' || failure.kind === 'rate-limited')
        this.#onboarding.restartFailed(types, Date.now());
      else this.#onboarding.restartRefused(types, failure.message);
    }
  }

  /**
   * Reads how many attempts each source took, which webhooks do not contain,
   * and lists the documents for the summary. Not every exchange can; logs a
   * failure and continues without them.
   */
  async readOutcome(patientId: string): Promise<void> {
    const { exchange } = this.#input;
    if (this.#isOfEarlier) {
      await this.#countAttempts();
      return this.#listDocuments(patientId);
    }
    const onboarding = this.#onboarding;
    const requestIds = onboarding.unreadRequestIds;
    try {
      const outcome = await readOutcome({ exchange, patientId, requestIds });
      for (const query of outcome.queries) onboarding.attemptsRead(query);
      onboarding.state.documents = outcome.documents;
    } catch (error) {
      const failure = callFailure(error);
      if (failure === undefined) throw error;
      log.warn('The outcome could not be read', { kind: failure.kind });
    }
  }

  /** In a run of 0.2.0 or earlier. */
  async #countAttempts(): Promise<void> {
    for (const requestId of this.#onboarding.unreadRequestIds) {
      try {
        const why = 'Read the number of attempts';
        this.#onboarding.attemptsRead(
          await this.#calls.getQuery(requestId, why),
        );
      } catch (error) {
        const failure = callFailure(error);
        if (failure === undefined) throw error;
        log.warn('The number of attempts could not be read', {
          requestId,
          kind: failure.kind,
        });
      }
    }
  }

  /** In a run of 0.2.0 or earlier. */
  async #listDocuments(patientId: string): Promise<void> {
    const { state } = this.#onboarding;
    try {
      state.documents = await this.#calls.listDocuments(patientId);
    } catch (error) {
      const failure = callFailure(error);
      if (failure === undefined) throw error;
      log.warn('The documents could not be listed', { kind: failure.kind });
    }
  }

  /**
   * Cancels the queries that are still running at the exchange. They may have
   * ended by now, so 404 and 409 are fine.
   */
  async stopQueries(): Promise<void> {
    for (const requestId of this.#onboarding.openRequestIds) {
      try {
        await this.#calls.cancelQuery(requestId);
      } catch (error) {
        log.warn('A query could not be cancelled', {
          requestId,
          kind: callFailure(error)?.kind,
        });
      }
    }
  }
}

const WAITS = {
  status: 'Wait for webhooks, then poll the status',
  restart: 'Wait until the rate limit allows another query',
  deadline: 'Wait for webhooks until the deadline',
} as const;
