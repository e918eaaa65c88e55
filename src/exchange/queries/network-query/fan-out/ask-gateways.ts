import { setTimeout as delay } from 'node:timers/promises';
import type { SourceStepInput } from '../../../../contract/network-query-workflow.ts';
import { anySignal } from '../../../../lib/abort-signals.ts';
import { sharedAmong } from '../../../people/households/shared-values.ts';
import type { AccountTx } from '../../../platform/database/database.ts';
import { readStoredDocuments } from '../../../records/deliveries/delivery-store.ts';
import { fileOwnerOf } from '../../../records/rules/attachments.ts';

import {
  type NetworkGateway,
  readGateways,
} from '../../../sources/connections/gateway-store.ts';
import type { NetworkConnectors } from '../../../sources/connections/network-connectors.ts';
import {
  type Begin,
  type Cursor,
  SourceFailure,
} from '../../../sources/connectors/connector.ts';
import { admission } from '../../../sources/health/rules/breaker.ts';
import { readConnectionsOf } from '../../../sources/health/source-health.ts';
import type { AttemptWork, PartStep } from '../attempt-store.ts';
import type { AttemptPart } from '../part-store.ts';
import { GATEWAY_RETRY_MS } from '../rules/gateway-outcome.ts';
import { AFTER_FAILURE } from '../rules/retries.ts';
import { reviewsOf } from '../source-candidate-store.ts';
import {
  type AskResult,
  beginGatewayStep,
  type ClaimedAsk,
  claimAsks,
  countAsks,
  saveAsks,
} from './ask-store.ts';
import type { CallingGateways } from './calling-gateways.ts';
import { saveFound } from './found-gateway.ts';

/** How long a step claims gateways; then it waits for those that it has asked. */
const ASK_FOR_MS = 60_000;
/** Calls in flight: of one step, and of all steps of this process. */
const IN_FLIGHT_MAX = 128;
const IN_FLIGHT_OF_PROCESS_MAX = 256;
const CLAIMED_AT_ONCE = 64;
/** A set of results is written when it has so many, or after so long. */
const RESULTS_AT_ONCE = 64;
const RESULTS_EVERY_MS = 500;
/** A gateway that answers later has so long. */
const LATER_ANSWER_MS = 24 * 60 * 60_000;

let inFlightOfProcess = 0;

export interface AskingGateways {
  /** Works on a gateway that has found the patient, as on every part. */
  workOnFound: (part: AttemptPart) => Promise<void>;
  signal: AbortSignal;
}

/**
 * A step on the gateways of an attempt: asks those that are due, many at a time,
 * and writes what each answer comes to. What a gateway fails at is its own
 * failure and never the step's.
 * @returns whether any gateway has ended
 */
export async function askGateways(
  deps: CallingGateways,
  step: SourceStepInput,
  attempt: AttemptWork,
  asking: AskingGateways,
): Promise<{ hasProgressed: boolean }> {
  const { store } = deps;
  const begun = await store.asAccount(step.accountId, async (tx) => ({
    gatewayStep: await beginGatewayStep(tx, step),
    counts: await countAsks(tx, step),
  }));
  const { gatewayStep, counts } = begun;
  if (gatewayStep === undefined) return { hasProgressed: false };
  const counted = {
    accountId: step.accountId,
    name: `gateways/${step.requestId}/${step.source}/${step.attempt}`,
    progress: `${counts.asked - counts.waiting}`,
  };
  return deps.startGuard.run(counted, asking.signal, async () => {
    const known = await store.asAccount(step.accountId, (tx) =>
      readKnown(tx, deps, step, attempt),
    );
    const run = new GatewayStep(
      deps,
      { step, attempt, gatewayStep, known },
      asking,
    );
    await run.toEnd();
    return { hasProgressed: run.hasProgressed };
  });
}

/** What is read once for all gateways of a step. */
async function readKnown(
  tx: AccountTx,
  { store }: CallingGateways,
  { source }: SourceStepInput,
  { patientId }: AttemptWork,
) {
  const stored = await readStoredDocuments(tx, patientId, source);
  return {
    reviewFor: await reviewsOf(tx, store, patientId),
    // By the gateway's namespace, with which the ids begin.
    documents: Map.groupBy(stored, ([key]) => {
      const { id } = fileOwnerOf(key);
      return id.slice(0, id.indexOf('~') + 1);
    }),
  };
}

/** Which step of which attempt. */
interface OnAttempt {
  step: SourceStepInput;
  attempt: AttemptWork;
  gatewayStep: number;
  known: Awaited<ReturnType<typeof readKnown>>;
}

/** A claimed gateway with what it takes to ask it. */
interface AskedGateway {
  claimed: ClaimedAsk;
  gateway: NetworkGateway;
  connectors: NetworkConnectors;
}

class GatewayStep {
  hasProgressed = false;
  readonly #deps: CallingGateways;
  readonly #on: OnAttempt;
  readonly #asking: AskingGateways;
  readonly #networks = new Map<string, Promise<NetworkConnectors>>();
  readonly #founds: Promise<void>[] = [];
  #inFlight = 0;
  #results: AskResult[] = [];
  #saving: Promise<void> = Promise.resolve();
  /** A fault of ours, which ends the step; it is then done again. */
  #fault: { error: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(deps: CallingGateways, on: OnAttempt, asking: AskingGateways) {
    this.#deps = deps;
    this.#on = on;
    this.#asking = asking;
  }

  async toEnd(): Promise<void> {
    const saver = setInterval(() => this.#save(), RESULTS_EVERY_MS);
    try {
      await this.#askAll();
      this.#save();
      await this.#saving;
      await Promise.all(this.#founds);
    } finally {
      clearInterval(saver);
    }
    this.#throwFault();
  }

  /** Claims and asks until nothing is due and nothing is in flight. */
  async #askAll(): Promise<void> {
    const { signal } = this.#asking;
    const closesAt = Date.now() + ASK_FOR_MS;
    for (;;) {
      signal.throwIfAborted();
      if (this.#fault !== undefined) return;
      const isOpen = Date.now() < closesAt;
      const room = Math.min(
        IN_FLIGHT_MAX - this.#inFlight,
        IN_FLIGHT_OF_PROCESS_MAX - inFlightOfProcess,
        CLAIMED_AT_ONCE,
      );
      const claimed = isOpen && room > 0 ? await this.#claim(room) : [];
      for (const each of claimed) void this.#ask(each);
      if (room > 0 && claimed.length === room) continue;
      // Another step of this process may have all the room there is.
      const isWaitingForRoom = isOpen && room <= 0;
      if (this.#inFlight === 0 && !isWaitingForRoom) return;
      await this.#changed();
    }
  }

  /** Until a gateway has answered, or a while has passed. */
  async #changed(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, RESULTS_EVERY_MS);
      this.#wake = () => {
        clearTimeout(timer);
        // Others that answer now come with it.
        void delay(20).then(resolve);
      };
    });
  }

  async #claim(limit: number): Promise<AskedGateway[]> {
    const { store } = this.#deps;
    const { step, gatewayStep } = this.#on;
    const { claimed, gateways, states } = await store.asAccount(
      step.accountId,
      async (tx) => {
        const asks = await claimAsks(tx, step, gatewayStep, limit);
        const ids = asks.map(({ gatewayId }) => gatewayId);
        return {
          claimed: asks,
          gateways: await readGateways(tx, ids),
          states: await readConnectionsOf(tx, ids),
        };
      },
    );
    const now = Date.now();
    const asked: AskedGateway[] = [];
    for (const each of claimed) {
      const gateway = gateways.get(each.gatewayId);
      const admitted = admission(states.get(each.gatewayId), now);
      const connectors = await this.#network(each.connectionId);
      if (gateway === undefined || connectors === undefined)
        this.#note(each, failed('its connection was deleted or is paused'));
      else if (admitted.kind === 'wait' && admitted.isPaused === true)
        this.#note(each, failed(admitted.reason));
      else if (admitted.kind === 'wait')
        this.#note(each, askedAgain(each, 'it has not answered of late'));
      else asked.push({ claimed: each, gateway, connectors });
    }
    return asked;
  }

  async #network(id: string): Promise<NetworkConnectors | undefined> {
    const { connections } = this.#deps;
    const { step } = this.#on;
    const known =
      this.#networks.get(id) ?? connections.network(step.accountId, id);
    this.#networks.set(id, known);
    return known.catch((error: unknown) => {
      if (error instanceof SourceFailure) return undefined;
      throw error;
    });
  }

  /** Never rejects: a fault of ours ends the step, the gateway's is its result. */
  async #ask(asked: AskedGateway): Promise<void> {
    this.#inFlight += 1;
    inFlightOfProcess += 1;
    try {
      await this.#answerOf(asked);
    } catch (error) {
      this.#fault ??= { error };
    } finally {
      this.#inFlight -= 1;
      inFlightOfProcess -= 1;
      this.#wake();
    }
  }

  async #answerOf(asked: AskedGateway): Promise<void> {
    const { claimed, gateway, connectors } = asked;
    const { signal } = this.#asking;
    if (claimed.state === 'waiting' && !claimed.isAnswered) {
      this.#note(claimed, failed('it did not answer within a day'));
      return;
    }
    const timeOut = AbortSignal.timeout(connectors.discoveryTimeoutMs);
    try {
      const begun = await this.#begin(asked, anySignal([signal, timeOut]));
      await this.#noteBegun(asked, begun);
      await this.#deps.sourceHealth.answered(gateway.id);
    } catch (error) {
      // Cancelled: the next step asks it again.
      if (signal.aborted) return;
      if (timeOut.aborted) {
        const seconds = connectors.discoveryTimeoutMs / 1_000;
        await this.#noteFailure(
          asked,
          new SourceFailure(
            'transport',
            `it did not answer within ${seconds} s`,
          ),
          { isFinal: true },
        );
        return;
      }
      if (!(error instanceof SourceFailure)) throw error;
      await this.#noteFailure(asked, error, { isFinal: false });
    }
  }

  #begin(
    { gateway, connectors }: AskedGateway,
    signal: AbortSignal,
  ): Promise<Begin> {
    const { store, deferredAnswers } = this.#deps;
    const { step, attempt, known } = this.#on;
    const partStep = partOf(step, gateway);
    const person = {
      ...attempt.demographics,
      review: known.reviewFor(partStep),
      sharedAmong: (theirs: Parameters<typeof sharedAmong>[3]) =>
        store.asAccount(step.accountId, (tx) =>
          sharedAmong(tx, step.accountId, attempt.demographics, theirs),
        ),
    };
    const options = {
      storedDocuments: new Map(known.documents.get(gateway.namespace)),
      deferred: deferredAnswers?.questionsOf(partStep, attempt.patientId),
    };
    return connectors.connectorOf(gateway).begin(person, options, signal);
  }

  async #noteBegun(
    { claimed, gateway }: AskedGateway,
    begun: Begin,
  ): Promise<void> {
    switch (begun.kind) {
      case 'unknown-patient':
        this.#note(claimed, {
          state: 'nobody',
          ...(begun.notice === undefined ? {} : { reason: begun.notice }),
        });
        return;
      case 'accepted':
        this.#note(claimed, { state: 'waiting', waitMs: LATER_ANSWER_MS });
        return;
      case 'ready':
        if (begun.cursor === undefined)
          throw new Error('a gateway has found the patient without a cursor');
        await this.#noteFound(claimed, gateway, begun.cursor, begun.notice);
    }
  }

  /** Written at once: its documents are collected while others are asked. */
  async #noteFound(
    { answers }: ClaimedAsk,
    gateway: NetworkGateway,
    cursor: Cursor,
    notice: string | undefined,
  ): Promise<void> {
    const { store } = this.#deps;
    const { step, gatewayStep } = this.#on;
    const part = await store.asAccount(step.accountId, (tx) =>
      saveFound(tx, partOf(step, gateway), {
        gatewayStep,
        answers,
        cursor,
        notice,
      }),
    );
    if (part === undefined) return;
    this.hasProgressed = true;
    const work = this.#asking.workOnFound(part).catch((error: unknown) => {
      this.#fault ??= { error };
    });
    this.#founds.push(work);
  }

  async #noteFailure(
    { claimed, gateway }: AskedGateway,
    failure: SourceFailure,
    { isFinal }: { isFinal: boolean },
  ): Promise<void> {
    const { step } = this.#on;
    const { next, isOutage } = AFTER_FAILURE[failure.kind];
    const mayPass = next === 'call-again' && failure.kind !== 'denied';
    this.#note(
      claimed,
      mayPass && !isFinal
        ? askedAgain(claimed, failure.message)
        : failed(failure.message),
    );
    if (isOutage)
      await this.#deps.sourceHealth.failed(gateway.id, {
        attempt: `${step.requestId}/${step.source}/${step.attempt}`,
        reason: failure.message,
      });
  }

  #note({ gatewayId, answers }: ClaimedAsk, outcome: Outcome): void {
    this.#results.push({ gatewayId, answers, ...outcome });
    if (this.#results.length >= RESULTS_AT_ONCE) this.#save();
  }

  /** Writes the results so far, one set after the other. */
  #save(): void {
    const results = this.#results;
    if (results.length === 0) return;
    this.#results = [];
    const { step, gatewayStep } = this.#on;
    this.#saving = this.#saving
      .then(async () => {
        const saved = await this.#deps.store.asAccount(step.accountId, (tx) =>
          saveAsks(tx, step, gatewayStep, results),
        );
        if (saved.length > 0) this.hasProgressed = true;
      })
      .catch((error: unknown) => {
        this.#fault ??= { error };
      });
  }

  #throwFault(): void {
    if (this.#fault !== undefined) throw this.#fault.error;
  }
}

const partOf = (
  step: SourceStepInput,
  { id, name, namespace }: NetworkGateway,
): PartStep => ({ ...step, part: { id, name, namespace } });

type Outcome = Omit<AskResult, 'gatewayId' | 'answers'>;

const failed = (reason: string): Outcome => ({
  state: 'failed',
  reason,
});

/** Asked again after a while, unless that was its last try. */
function askedAgain({ tries }: ClaimedAsk, reason: string): Outcome {
  const waitMs = GATEWAY_RETRY_MS[tries - 1];
  return waitMs === undefined
    ? failed(reason)
    : { state: 'open', reason, waitMs };
}
