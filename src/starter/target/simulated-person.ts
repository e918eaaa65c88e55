import { setTimeout as sleep } from 'node:timers/promises';
import { type Dispatcher, request } from 'undici';
import { mapAtMost } from '../../lib/at-most.ts';
import type { StackConnection } from '../../local-stack/connection-file.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import { RefusedError } from '../errors.ts';
import { terminalText } from '../progress/plain-text.ts';

/** How the verification at the simulated identity partner ends. */
export const PERSON_OUTCOMES = ['verified', 'failed'] as const;
export type PersonOutcome = (typeof PERSON_OUTCOMES)[number];

const TIMEOUT_MS = 10_000;
const REDIRECTS_MAX = 5;
const TRIES = 3;

/**
 * Acts as the patient: submits the page of the stack's simulated identity
 * partner and follows its redirects within the stack. Throws RefusedError when
 * the page is not the simulator's, or does not work.
 */
export async function playPerson(
  pageUrl: string,
  outcome: PersonOutcome,
  {
    simulatorUrl,
    baseUrl,
    receiverUrl,
  }: Pick<StackConnection, 'simulatorUrl' | 'baseUrl' | 'receiverUrl'>,
): Promise<void> {
  const origins = new Set(
    [simulatorUrl, baseUrl, receiverUrl].map((url) => new URL(url).origin),
  );
  if (new URL(pageUrl).origin !== new URL(simulatorUrl).origin)
    throw new RefusedError(
      "--simulate-person works only with the stack's simulator, and this page is not the simulator's. Open the link yourself.",
    );
  let next = await visit(pageUrl, {
    method: 'POST',
    body: `outcome=${outcome}`,
  });
  for (
    let redirects = 0;
    next !== undefined && redirects < REDIRECTS_MAX;
    redirects += 1
  ) {
    if (!origins.has(new URL(next).origin)) return;
    next = await visit(next, { method: 'GET' });
  }
}

/**
 * Returns the address that the page redirects to; undefined when it does not
 * redirect.
 */
async function visit(
  url: string,
  options: { method: Dispatcher.HttpMethod; body?: string },
): Promise<string | undefined> {
  for (let tries = 1; ; tries += 1) {
    try {
      const answer = await request(url, {
        ...options,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      await answer.body.dump();
      const { location } = answer.headers;
      if (answer.statusCode >= 400)
        throw new RefusedError(
          `The identity verification failed: its page returned ${answer.statusCode}.`,
        );
      return location === undefined
        ? undefined
        : new URL(String(location), url).href;
    } catch (error) {
      if (error instanceof RefusedError) throw error;
      if (tries === TRIES)
        throw new RefusedError(
          'The identity verification failed: its page could not be opened.',
        );
      await sleep(1_000);
    }
  }
}

const AT_ONCE = 4;

/**
 * The names of patients, by id. Those that cannot be read (deleted, for
 * example) have none.
 */
export async function patientNames(
  exchange: ExchangeClient,
  ids: readonly (string | null | undefined)[],
): Promise<ReadonlyMap<string, string>> {
  const known = [...new Set(ids)].filter((id) => id != null);
  const named = await mapAtMost(
    known,
    AT_ONCE,
    async (id): Promise<[string, string]> => {
      try {
        const { answer } = await exchange.call('getPatient', {
          params: { id },
        });
        return [
          id,
          terminalText([answer.firstName, answer.lastName].flat().join(' ')),
        ];
      } catch (error) {
        if (error instanceof ExchangeCallError) return [id, ''];
        throw error;
      }
    },
  );
  return new Map(named);
}
