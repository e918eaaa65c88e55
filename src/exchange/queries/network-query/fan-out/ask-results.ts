import { setTimeout as delay } from 'node:timers/promises';
import {
  isConnectionFault,
  isRefusedData,
} from '../../../platform/database/postgres-errors.ts';
import { OverloadError } from '../../../platform/errors.ts';
import type { AskResult } from './ask-store.ts';

/** A set is written when it has so many results, or after so long. */
const RESULTS_AT_ONCE = 64;
export const RESULTS_EVERY_MS = 500;

const FIRST_WAIT_MS = 100;
const WAIT_MS_MAX = 5_000;

/**
 * Repeats a write while the database cannot be used. What a gateway has answered
 * would otherwise be lost, and the gateway asked again. After an abort, it is
 * tried once more and not repeated.
 *
 * @param write takes effect once, also when it is repeated after a commit whose
 *   confirmation was lost
 */
export async function insist<T>(
  signal: AbortSignal,
  write: () => Promise<T>,
): Promise<T> {
  for (
    let waitMs = FIRST_WAIT_MS;
    ;
    waitMs = Math.min(2 * waitMs, WAIT_MS_MAX)
  ) {
    try {
      return await write();
    } catch (error) {
      if (signal.aborted || !isOurOutage(error)) throw error;
    }
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
  }
}

/** The database is away, or too busy to take a transaction. */
const isOurOutage = (error: unknown): boolean =>
  isConnectionFault(error) || error instanceof OverloadError;

/**
 * What the gateways of a step have come to, written in sets, one after the
 * other. What is noted here is never lost while the process lives.
 */
export class AskResults {
  readonly #write: (results: readonly AskResult[]) => Promise<void>;
  readonly #onFault: (error: unknown) => void;
  /** Gateways that are being asked, or whose results are not written yet. */
  readonly #open = new Set<string>();
  #noted: AskResult[] = [];
  #saving: Promise<void> = Promise.resolve();

  constructor(
    write: (results: readonly AskResult[]) => Promise<void>,
    onFault: (error: unknown) => void,
  ) {
    this.#write = write;
    this.#onFault = onFault;
  }

  /** The gateways that are not to be claimed again. */
  get open(): readonly string[] {
    return [...this.#open];
  }

  /** A gateway is claimed: its result is going to be noted. */
  expect(gatewayId: string): void {
    this.#open.add(gatewayId);
  }

  note(result: AskResult): void {
    this.#noted.push(result);
    if (this.#noted.length >= RESULTS_AT_ONCE) this.save();
  }

  /** Begins to write what is noted. */
  save(): void {
    const results = this.#noted;
    if (results.length === 0) return;
    this.#noted = [];
    this.#saving = this.#saving
      .then(() => this.#writeAll(results))
      .catch(this.#onFault)
      .finally(() => {
        for (const { gatewayId } of results) this.#open.delete(gatewayId);
      });
  }

  /** Resolves when everything that was noted is written. */
  async saved(): Promise<void> {
    this.save();
    await this.#saving;
  }

  async #writeAll(results: readonly AskResult[]): Promise<void> {
    try {
      await this.#write(results);
    } catch (error) {
      if (!isRefusedData(error)) throw error;
      // A reason has characters that PostgreSQL does not store.
      await this.#write(
        results.map((result) => ({ ...result, reason: UNSTORABLE })),
      );
    }
  }
}

export const UNSTORABLE = 'its answer cannot be stored';
