import {
  ApplicationFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  log,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { BulkOnboardingInput } from '../../../contract/bulk-onboarding.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { callFailure, essential } from '../../shared/failures.ts';
import type { BulkOnboarding, BulkState } from './bulk-onboarding.ts';
import type { BulkCalls } from './exchange-calls.ts';

const NOT_UPLOADED = 'file-not-uploaded';

/** Throws `conflict` while the exchange has nothing to pause or resume. */
export function mustBeProcessing({ phase, ending }: BulkState): void {
  if (phase === 'processing' && ending === undefined) return;
  throw ApplicationFailure.nonRetryable(
    'The exchange is not processing the file now',
    'conflict',
  );
}

/**
 * The steps of a bulk onboarding: each calls the exchange and tells `bulk`,
 * which decides what is next.
 */
export class BulkOnboardingSteps {
  readonly #bulk: BulkOnboarding;
  readonly #calls: BulkCalls;
  readonly #input: BulkOnboardingInput;
  readonly #show: () => void;

  constructor(
    bulk: BulkOnboarding,
    calls: BulkCalls,
    input: BulkOnboardingInput,
    show: () => void,
  ) {
    this.#bulk = bulk;
    this.#calls = calls;
    this.#input = input;
    this.#show = show;
  }

  /** Does what the phase asks for. */
  async next(): Promise<void> {
    switch (this.#bulk.state.phase) {
      case 'requesting':
        return this.#requestUploadUrl();
      case 'uploading':
        return this.#uploadFile();
      case 'processing':
        return this.#waitForExchange();
      case 'reading-result':
        return this.#readResult();
      case 'cancelling':
      case 'ended':
        return;
    }
  }

  /**
   * Requests an upload URL (E5); repeated when the URL of the previous request
   * expired unused.
   */
  async #requestUploadUrl(): Promise<void> {
    const bulk = this.#bulk;
    // An outage may take days of requests.
    if (
      bulk.state.outages !== undefined &&
      workflowInfo().continueAsNewSuggested
    )
      await this.#continueOnceHandled();
    if (!bulk.mayRequestAgain(Date.now())) throw noUrlUsed(bulk.state);

    const { requestId, uploadUrl } = await essential(
      () => this.#calls.startBulkCreate(bulk.state.requestIds.length + 1),
      'bulk-not-started',
      'The bulk create could not be started',
    );
    bulk.requested(requestId, uploadUrl);
    // The receiver finds this workflow by the request id, the only id that
    // webhooks of a bulk create carry.
    upsertSearchAttributes([
      { key: searchAttribute.requestId, value: requestId },
      { key: searchAttribute.queryStatus, value: 'processing' },
    ]);
  }

  async #uploadFile(): Promise<void> {
    const bulk = this.#bulk;
    const { requestId = '' } = bulk;
    const { uploadUrl = '' } = bulk.state;
    try {
      const outcome = await this.#calls.upload(requestId, uploadUrl);
      if (outcome === 'taken') bulk.uploaded(Date.now());
      else if (outcome === 'gone-in-outage') bulk.urlExpiredInOutage();
      else bulk.urlExpired();
    } catch (error) {
      const failure = callFailure(error);
      if (failure === undefined) throw error;
      const { kind, message } = failure;
      // A webhook has reported the end, so the exchange must have received the
      // file.
      if (bulk.state.ending !== undefined) bulk.uploaded(Date.now());
      // The failure was temporary, but lasted longer than the URL was valid.
      else if (kind === 'unavailable' || kind === 'rate-limited')
        bulk.urlExpiredInOutage();
      else
        throw ApplicationFailure.nonRetryable(
          `The file could not be uploaded: ${message}`,
          NOT_UPLOADED,
          { kind },
        );
    }
  }

  async #waitForExchange(): Promise<void> {
    const bulk = this.#bulk;
    for (;;) {
      this.#show();
      const next = bulk.next(Date.now());
      switch (next.kind) {
        case 'done':
          return bulk.closeWaiting();
        case 'wait':
          if (workflowInfo().continueAsNewSuggested)
            await this.#continueOnceHandled();
          await condition(() => bulk.isSettled, next.ms, {
            summary: WAITS[next.for],
          });
          break;
        case 'poll':
          await this.#poll();
          break;
        case 'give-up':
          bulk.giveUp();
          break;
      }
    }
  }

  /** A pause or resume that was begun is answered first. */
  async #continueOnceHandled(): Promise<never> {
    await condition(allHandlersFinished);
    return continueAsNew<
      (input: BulkOnboardingInput, carried: BulkState) => Promise<unknown>
    >(this.#input, this.#bulk.state);
  }

  /**
   * Reads the request's status. A failure is only noted: the next poll makes up
   * for it.
   */
  async #poll(): Promise<void> {
    const bulk = this.#bulk;
    try {
      const { requestId = '' } = bulk;
      bulk.polled(await this.#calls.getBulkCreate(requestId), Date.now());
    } catch (error) {
      const failure = callFailure(error);
      if (failure === undefined) throw error;
      bulk.pollFailed(failure.message, Date.now());
    }
  }

  async #readResult(): Promise<void> {
    const { requestId = '', state } = this.#bulk;
    this.#bulk.resultTaken(
      await essential(
        () => this.#calls.takeResult(requestId, state.ending?.link),
        'result-not-read',
        'The exchange has processed the file, but its result could not be read',
      ),
    );
  }

  /**
   * Pauses or resumes the request at the exchange. A refusal, such as for a
   * request that has ended, fails the update.
   */
  async pauseOrResume(how: 'pause' | 'resume'): Promise<void> {
    const { requestId = '', state } = this.#bulk;
    const number = this.#bulk.nextCommand();
    try {
      const answer = await this.#calls[how](requestId, number);
      state.paused = answer.paused ?? how === 'pause';
    } catch (error) {
      const failure = callFailure(error);
      if (failure === undefined) throw error;
      throw ApplicationFailure.nonRetryable(
        `The exchange could not ${how} the request: ${failure.message}`,
        failure.kind,
      );
    }
  }

  /**
   * Cancels the request at the exchange, if it is still running. It may have
   * ended by now, so 404 and 409 are fine.
   */
  async cancelRequest(): Promise<void> {
    const { requestId, state } = this.#bulk;
    if (requestId === undefined || state.ending !== undefined) return;
    try {
      await this.#calls.cancel(requestId);
    } catch (error) {
      log.warn('The request could not be cancelled', {
        requestId,
        kind: callFailure(error)?.kind,
      });
    }
  }

  /** Deletes our copy of the file, which is no longer needed. */
  async discardUpload(): Promise<void> {
    try {
      await this.#calls.discardUpload();
    } catch (error) {
      log.warn('Our copy of the file could not be deleted', {
        kind: callFailure(error)?.kind,
      });
    }
  }
}

function noUrlUsed({ requestIds, outages = 0 }: BulkState): ApplicationFailure {
  const inOutage =
    outages === 0
      ? ''
      : `, ${outages} of them while the exchange could not take it`;
  return ApplicationFailure.nonRetryable(
    `The file could not be uploaded: ${requestIds.length} upload URLs expired unused${inOutage}`,
    NOT_UPLOADED,
  );
}

const WAITS = {
  status: 'Wait for the webhook, then poll the status',
  deadline: 'Wait for the webhook until the deadline',
} as const;
