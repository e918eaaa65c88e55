import { setTimeout as sleep } from 'node:timers/promises';
import { type Dispatcher, request } from 'undici';
import type { StackConnection } from '../../embedded/connection-file.ts';
import { RefusedError } from '../errors.ts';

/** What the person does on the pages of the simulated identity partner. */
export const PERSON_OUTCOMES = ['verified', 'failed'] as const;
export type PersonOutcome = (typeof PERSON_OUTCOMES)[number];

const TIMEOUT_MS = 10_000;
const REDIRECTS_MAX = 5;
const TRIES = 3;

/**
 * Plays the person: presses the button of a page of the stack's identity partner, and goes where that sends the browser, as far
 * as it is the stack. Throws RefusedError for a page of anybody else, and when the page does not work.
 */
export async function playPerson(
  pageUrl: string,
  outcome: PersonOutcome,
  { simulatorUrl, baseUrl, receiverUrl }: Pick<StackConnection, 'simulatorUrl' | 'baseUrl' | 'receiverUrl'>,
): Promise<void> {
  const origins = new Set([simulatorUrl, baseUrl, receiverUrl].map((url) => new URL(url).origin));
  if (new URL(pageUrl).origin !== new URL(simulatorUrl).origin)
    throw new RefusedError('The page is not one of the simulator; nobody can be played there.');
  let next = await visit(pageUrl, { method: 'POST', body: `outcome=${outcome}` });
  for (let redirects = 0; next !== undefined && redirects < REDIRECTS_MAX; redirects += 1) {
    if (!origins.has(new URL(next).origin)) return;
    next = await visit(next, { method: 'GET' });
  }
}

/** Where the answer leads; undefined when it is the last page. */
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
        throw new RefusedError(`A page of the verification answered ${answer.statusCode}.`);
      return location === undefined ? undefined : new URL(String(location), url).href;
    } catch (error) {
      if (error instanceof RefusedError) throw error;
      if (tries === TRIES) throw new RefusedError('A page of the verification could not be opened.');
      await sleep(1_000);
    }
  }
}
