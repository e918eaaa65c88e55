import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { launchChromium } from '../../test/support/chromium.ts';
import {
  callGateway,
  type StackAccount,
  startTestStack,
  type TestStack,
} from '../../test/support/stack.ts';
import { deliveriesOfSample } from '../merge/deliveries.ts';
import { addPatient, deliver, sampleOf } from '../merge/run.ts';

export interface FirstSummaryOptions {
  sample: string;
  /**
   * How many times the record is repeated, each time as different resources.
   */
  copies: number;
  rounds: number;
  /** `page`: the embedded page in a browser. */
  format: 'html' | 'pdf' | 'json' | 'page';
}

export interface FirstSummaryRound {
  deliveries: number;
  /** Until the consolidated query was accepted; the page has its overview. */
  acceptedMs: number;
  /**
   * Until it was completed, the page has all its sections: nothing had been
   * merged before.
   */
  completedMs: number;
  /** The same for a second one of the same record. */
  againAcceptedMs: number;
  againMs: number;
}

const POLL_MS = 20;

/**
 * How long a caller waits for the first summary of a record of which nothing
 * has been merged, on a whole stack.
 */
export async function benchFirstSummary(
  { sample, copies, rounds, format }: FirstSummaryOptions,
  note: (line: string) => void,
): Promise<{ rounds: FirstSummaryRound[]; load: [number, number] }> {
  const load: [number, number] = [loadavg()[0] ?? 0, 0];
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-summary-'));
  const stack = await startTestStack({ dataDir, logLevel: 'warn' });
  const store = createStore({
    databaseUrl: stack.connection.databaseUrl,
    poolMax: 2,
  });
  const measured: FirstSummaryRound[] = [];
  const browser = format === 'page' ? await launchChromium() : undefined;
  const take = (account: StackAccount, patientId: string) =>
    browser === undefined
      ? summarise(stack, account, patientId, format)
      : openPage(browser, stack, account, patientId);
  try {
    const account = await stack.addAccount();
    const deliveries = deliveriesOfSample(sampleOf(sample));
    // The first round is a warm-up.
    for (let round = 0; round <= rounds; round += 1) {
      const patientId = await addPatient(
        store,
        account.accountId,
        sampleOf(sample),
      );
      await deliver(
        store,
        account.accountId,
        patientId,
        deliveries,
        round === 0 ? 1 : copies,
      );
      const [{ count = 0 } = {}] = await stack.rows<{ count: number }>(
        'select count(*)::int as count from patient_resource where patient_id = $1',
        [patientId],
      );
      const first = await take(account, patientId);
      const again = await take(account, patientId);
      if (round === 0) continue;
      measured.push({
        deliveries: count,
        ...first,
        againAcceptedMs: again.acceptedMs,
        againMs: again.completedMs,
      });
      note(`round ${round}: ${JSON.stringify(measured.at(-1))}`);
    }
    load[1] = loadavg()[0] ?? 0;
    return { rounds: measured, load };
  } finally {
    await browser?.close();
    await store.close();
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function summarise(
  { connection }: TestStack,
  account: StackAccount,
  patientId: string,
  format: FirstSummaryOptions['format'],
): Promise<Pick<FirstSummaryRound, 'acceptedMs' | 'completedMs'>> {
  const begunAt = performance.now();
  const path = `patient/${patientId}/consolidated/query`;
  const { status, body } = await callGateway(
    connection,
    account,
    'POST',
    `${path}?conversionType=${format}`,
  );
  if (status >= 300)
    throw new Error(`POST ${path}: ${status} ${JSON.stringify(body)}`);
  const acceptedMs = performance.now() - begunAt;
  for (;;) {
    const { body: query } = await callGateway(
      connection,
      account,
      'GET',
      `${path}/${body.requestId}`,
    );
    if (query.status === 'completed')
      return { acceptedMs, completedMs: performance.now() - begunAt };
    if (query.status !== 'processing')
      throw new Error(`The consolidated query is ${query.status}`);
    await sleep(POLL_MS);
  }
}

/**
 * Opens the embedded page as an application does: a new context of the browser,
 * so that nothing is cached.
 */
async function openPage(
  browser: Browser,
  { connection }: TestStack,
  account: StackAccount,
  patientId: string,
): Promise<Pick<FirstSummaryRound, 'acceptedMs' | 'completedMs'>> {
  const { body } = await callGateway(
    connection,
    account,
    'POST',
    'token/embed',
  );
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    // Noted in the page: Playwright looks only now and then.
    await page.addInitScript(`window.shown = {};
      new MutationObserver(() => {
        for (const what of ['.overview', 'details'])
          if (document.querySelector('#record ' + what)) window.shown[what] ??= performance.now();
      }).observe(document, { childList: true, subtree: true });`);
    const url = `${new URL(connection.baseUrl).origin}/embed/${account.accountId}/patient/${patientId}`;
    await page.goto(`${url}#access_token=${body.token}`, {
      waitUntil: 'commit',
    });
    await page.locator('#record details').first().waitFor();
    const shown: Record<string, number> = await page.evaluate('window.shown');
    return {
      acceptedMs: shown['.overview'] ?? Number.NaN,
      completedMs: shown.details ?? Number.NaN,
    };
  } finally {
    await context.close();
  }
}
