import {
  setTimeout as delay,
  setImmediate as immediate,
} from 'node:timers/promises';
import type { SourceStepInput } from '../../../../contract/network-query-workflow.ts';
import { anySignal, withinGrace } from '../../../../lib/abort-signals.ts';
import { callSharedAmong } from '../../../people/households/shared-values.ts';
import type { AccountTx } from '../../../platform/database/database.ts';
import { isRefusedData } from '../../../platform/database/postgres-errors.ts';
import { ProcessEndedTooOften } from '../../../platform/recovery/start-guard.ts';
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
  type Located,
  SourceFailure,
} from '../../../sources/connectors/connector.ts';
import { admission } from '../../../sources/health/rules/breaker.ts';
import { readConnectionsOf } from '../../../sources/health/source-health.ts';
import {
  type AttemptWork,
  type PartStep,
  purposeOf,
} from '../attempt-store.ts';
import type { AttemptPart } from '../part-store.ts';
import { GATEWAY_RETRY_MS } from '../rules/gateway-outcome.ts';
import { AFTER_FAILURE } from '../rules/retries.ts';
import { reviewsOf } from '../source-candidate-store.ts';
import {
  AskResults,
  insist,
  RESULTS_EVERY_MS,
  UNSTORABLE,
} from './ask-results.ts';
import {
  type AskResult,
  beginGatewayStep,
  type ClaimedAsk,
  claimAsks,
  countAsks,
  failLastClaimed,
  saveAsks,
} from './ask-store.ts';
import type { CallingGateways } from './calling-gateways.ts';
import { saveFound } from './found-gateway.ts';

/** How long a step claims gateways; then it waits for those that it has asked. */
const ASK_FOR_MS = 60_000;
/** Calls in flight of one step; a process has few steps at a time. */
const IN_FLIGHT_MAX = 128;
const CLAIMED_AT_ONCE = 64;
/** What is aborted and does not end by itself is left after so long. */
const ABORT_AWAITED_MS = 1_000;
/** A gateway that answers later has so long. */
const LATER_ANSWER_MS = 24 * 60 * 60_000;

export interface AskingGateways {
  /** Works on a gateway that has found the patient, as on every part. */
  workOnFound: (part: AttemptPart) => Promise<void>;
  signal: AbortSignal;
}

/**
 * A step on the gateways of an attempt: asks those that are due, many at a time,
 * and writes what each answer comes to. What a gateway fails at is its own
 * failure and never the step's. Whatever ends the step, each gateway that has
 * answered is written before it ends, so that none is asked again for it.
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
  const ask = async () => {
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
  };
  try {
    return await deps.startGuard.run(counted, asking.signal, ask);
  } catch (error) {
    if (!(error instanceof ProcessEndedTooOften)) throw error;
    const { message } = error;
    const failedOnes = await store.asAccount(step.accountId, (tx) =>
      failLastClaimed(tx, step, gatewayStep, message),
    );
    return { hasProgressed: failedOnes > 0 };
  }
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
  readonly #results: AskResults;
  readonly #networks = new Map<string, Promise<NetworkConnectors>>();
  readonly #founds: Promise<void>[] = [];
  #inFlight = 0;
  /** A fault of ours: no further gateway is claimed, and the step is done again. */
  #fault: { error: unknown } | undefined;
  /** The work on a found gateway has failed, or goes on in the next step. */
  #faultOfFound: { error: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(deps: CallingGateways, on: OnAttempt, asking: AskingGateways) {
    this.#deps = deps;
    this.#on = on;
    this.#asking = asking;
    this.#results = new AskResults(
      (results) => this.#write(results),
      (error) => this.#noteFault(error),
    );
  }

  async toEnd(): Promise<void> {
    const saver = setInterval(() => this.#results.save(), RESULTS_EVERY_MS);
    try {
      await this.#askAll();
      await this.#results.saved();
      await Promise.all(this.#founds);
    } finally {
      clearInterval(saver);
    }
    this.#asking.signal.throwIfAborted();
    const fault = this.#fault ?? this.#faultOfFound;
    if (fault !== undefined) throw fault.error;
  }

  /** Claims and asks until nothing is due and nothing is in flight. */
  async #askAll(): Promise<void> {
    const closesAt = Date.now() + ASK_FOR_MS;
    for (;;) {
      const isOpen =
        Date.now() < closesAt &&
        this.#fault === undefined &&
        !this.#asking.signal.aborted;
      const room = isOpen ? this.#room() : 0;
      const claimed = room > 0 ? await this.#claim(room) : [];
      for (const each of claimed) {
        void this.#ask(each);
        // To sign a question takes milliseconds: other work goes on in between.
        await immediate();
      }
      if (room > 0 && claimed.length === room) continue;
      if (this.#inFlight === 0) return;
      await this.#changed();
    }
  }

  /** How many gateways may be asked now. */
  #room(): number {
    return Math.min(IN_FLIGHT_MAX - this.#inFlight, CLAIMED_AT_ONCE);
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

  #noteFault(error: unknown): void {
    this.#fault ??= { error };
  }

  /** Those that could not be claimed are claimed later, by this step or the next. */
  async #claim(limit: number): Promise<AskedGateway[]> {
    const { signal } = this.#asking;
    try {
      return await insist(signal, () => this.#claimOnce(limit));
    } catch (error) {
      this.#noteFault(error);
      return [];
    }
  }

  async #claimOnce(limit: number): Promise<AskedGateway[]> {
    const { store } = this.#deps;
    const { step, gatewayStep } = this.#on;
    const { claimed, gateways, states } = await store.asAccount(
      step.accountId,
      async (tx) => {
        const asks = await claimAsks(tx, step, gatewayStep, {
          limit,
          except: this.#results.open,
        });
        const ids = asks.map(({ gatewayId }) => gatewayId);
        return {
          claimed: asks,
          gateways: await readGateways(tx, ids),
          states: await readConnectionsOf(tx, ids),
        };
      },
    );
    const networks = new Map<string, NetworkConnectors | undefined>();
    for (const { connectionId } of claimed)
      networks.set(connectionId, await this.#network(connectionId));

    const now = Date.now();
    const asked: AskedGateway[] = [];
    for (const each of claimed) {
      this.#results.expect(each.gatewayId);
      const gateway = gateways.get(each.gatewayId);
      const admitted = admission(states.get(each.gatewayId), now);
      const connectors = networks.get(each.connectionId);
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
    const { step, attempt } = this.#on;
    const known =
      this.#networks.get(id) ??
      connections.network(step.accountId, id, purposeOf(attempt));
    this.#networks.set(id, known);
    return known.catch((error: unknown) => {
      this.#networks.delete(id);
      if (error instanceof SourceFailure) return undefined;
      throw error;
    });
  }

  /** Never rejects: a fault of ours ends the step, the gateway's is its result. */
  async #ask(asked: AskedGateway): Promise<void> {
    this.#inFlight += 1;
    try {
      await this.#answerOf(asked);
    } catch (error) {
      this.#noteFault(error);
    } finally {
      this.#inFlight -= 1;
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
    const { discoveryTimeoutMs } = connectors;
    const timeOut = AbortSignal.timeout(discoveryTimeoutMs);
    const either = anySignal([signal, timeOut]);
    const begun = await withinGrace(this.#begin(asked, either), {
      signal: either,
      graceMs: ABORT_AWAITED_MS,
      late: () => undefined,
    }).catch((error: unknown) => ({ error }));
    if (!('error' in begun)) {
      await this.#noteBegun(asked, begun);
      await this.#report(this.#deps.sourceHealth.answered(gateway.id));
      return;
    }
    const { error } = begun;
    // Cancelled: the next step asks it again.
    if (signal.aborted) return;
    if (timeOut.aborted)
      await this.#noteFailure(asked, noAnswerWithin(discoveryTimeoutMs), true);
    else if (error instanceof SourceFailure)
      await this.#noteFailure(asked, error, false);
    // A fault of ours with one gateway is not that of the others.
    else this.#note(claimed, askedAgain(claimed, OUR_FAULT));
  }

  /** The breaker learns of the next call if it does not of this one. */
  async #report(told: Promise<void>): Promise<void> {
    await told.catch(() => undefined);
  }

  #begin(
    { gateway, connectors }: AskedGateway,
    signal: AbortSignal,
  ): Promise<Begin | Located> {
    const { store, deferredAnswers } = this.#deps;
    const { step, attempt, known } = this.#on;
    const partStep = partOf(step, gateway);
    const person = {
      ...attempt.demographics,
      review: known.reviewFor(partStep),
      sharedAmong: (theirs: Parameters<typeof callSharedAmong>[3]) =>
        callSharedAmong(store, step.accountId, attempt.demographics, theirs),
    };
    const options = {
      storedDocuments: new Map(known.documents.get(gateway.namespace)),
      deferred: deferredAnswers?.questionsOf(partStep, attempt.patientId),
    };
    const connector = connectors.connectorOf(gateway);
    return (
      connector.locate?.(person, signal) ??
      connector.begin(person, options, signal)
    );
  }

  async #noteBegun(
    { claimed, gateway }: AskedGateway,
    begun: Begin | Located,
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
      case 'located':
        await this.#noteFound(claimed, gateway, null, begun.notice);
        return;
      case 'ready':
        if (begun.cursor === undefined)
          throw new Error('a gateway has found the patient without a cursor');
        await this.#noteFound(claimed, gateway, begun.cursor, begun.notice);
    }
  }

  /** Written at once: its documents are collected while others are asked. */
  async #noteFound(
    claimed: ClaimedAsk,
    gateway: NetworkGateway,
    cursor: Cursor | null,
    notice: string | undefined,
  ): Promise<void> {
    const { store } = this.#deps;
    const { step, gatewayStep } = this.#on;
    const saved = await insist(this.#asking.signal, () =>
      store.asAccount(step.accountId, (tx) =>
        saveFound(tx, partOf(step, gateway), {
          gatewayStep,
          answers: claimed.answers,
          cursor,
          notice,
        }),
      ),
    ).catch((error: unknown) => {
      if (isRefusedData(error)) return 'refused' as const;
      throw error;
    });
    if (saved === 'refused') {
      this.#note(claimed, failed(UNSTORABLE));
      return;
    }
    if (saved === undefined) return;
    this.hasProgressed = true;
    // Others are asked whatever comes of this one.
    const work = this.#asking.workOnFound(saved);
    const ended = work.catch((error: unknown) => {
      this.#faultOfFound ??= { error };
    });
    this.#founds.push(ended);
  }

  async #noteFailure(
    { claimed, gateway }: AskedGateway,
    failure: SourceFailure,
    isFinal: boolean,
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
    if (!isOutage) return;
    const told = this.#deps.sourceHealth.failed(gateway.id, {
      attempt: `${step.requestId}/${step.source}/${step.attempt}`,
      reason: failure.message,
    });
    await this.#report(told);
  }

  #note({ gatewayId, answers }: ClaimedAsk, outcome: Outcome): void {
    this.#results.note({ gatewayId, answers, ...outcome });
  }

  async #write(results: readonly AskResult[]): Promise<void> {
    const { store } = this.#deps;
    const { step, gatewayStep } = this.#on;
    const saved = await insist(this.#asking.signal, () =>
      store.asAccount(step.accountId, (tx) =>
        saveAsks(tx, step, gatewayStep, results),
      ),
    );
    if (saved.length > 0) this.hasProgressed = true;
  }
}

const partOf = (
  step: SourceStepInput,
  { id, name, namespace }: NetworkGateway,
): PartStep => ({ ...step, part: { id, name, namespace } });

const noAnswerWithin = (ms: number): SourceFailure =>
  new SourceFailure('transport', `it did not answer within ${ms / 1_000} s`);

const OUR_FAULT = 'the exchange could not ask it';

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
