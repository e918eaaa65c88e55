import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { hasChromium, launchChromium } from '../support/chromium.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});

function startDemo(...args: string[]) {
  const child = spawn(process.execPath, ['tools/demo/main.ts', ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => {
      running.delete(child);
      resolve(code);
    });
  });
  const stdoutNow = () => stripVTControlCharacters(stdout);
  return {
    child,
    ended,
    stdout: stdoutNow,
    /**
     * Resolves with what was printed when it contains `text`; fails when the
     * demo ends before.
     */
    async until(text: string): Promise<string> {
      for (let over = false; !stdoutNow().includes(text); ) {
        if (over)
          throw new Error(
            `the demo ended without saying "${text}":\n${stdoutNow()}`,
          );
        over = await Promise.race([
          ended.then(() => true),
          new Promise<false>((resolve) => setTimeout(resolve, 200, false)),
        ]);
      }
      return stdoutNow();
    },
  };
}

test('the demo does what it promises, can be looked at in the Temporal UI, and leaves on Ctrl-C', async (context) => {
  const demo = startDemo('--keep');
  const printed = await demo.until('keeps running');
  expect(printed).toContain(
    'All 5 patients ended as expected, and all 6 injected faults were handled',
  );
  expect(printed).not.toContain('✗');

  // The first patient is the one whose hie fails a request that it accepted.
  const page = printed.match(/http:\S+network-query\S+/g)?.at(0) ?? '';
  const [link = ''] = /http:\S+\/open\/\S+/.exec(printed) ?? [];
  const shown = hasChromium ? await textOf(link, page, 'askSource') : undefined;
  demo.child.kill('SIGINT');
  expect(await demo.ended).toBe(0);

  if (shown === undefined)
    context.skip('there is no Chromium on PATH to look at the Temporal UI');
  // Decoded by the codec server, for the browser only: the raw history holds
  // none of these words.
  expect(shown).toContain('askSource • hie, attempt 1');
  expect(shown).toContain('hie: wait before attempt 2');
  expect(shown).toContain('"resources"');
});

test('the demo says so, and fails, when something is not as it must be', async () => {
  const demo = startDemo('--break', 'fault', '--json');
  expect(await demo.ended).toBe(1);
  const summary = JSON.parse(
    demo.stdout().trimEnd().split('\n').at(-1) ?? '',
  ) as { faults: string[] };
  expect(summary.faults).toHaveLength(1);
  expect(summary.faults[0]).toContain('expected 503, 503, 200; got 200');
});

/**
 * What the page says once it shows `awaited`, to the operator who opened the
 * link.
 */
async function textOf(
  link: string,
  url: string,
  awaited: string,
): Promise<string> {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage({
      viewport: { width: 1400, height: 1400 },
    });
    page.setDefaultTimeout(120_000);
    await page.goto(link);
    // The list shows which query ended as partial and which completed: both are
    // COMPLETED for Temporal.
    await page.getByText('QueryStatus').first().waitFor();
    await page.getByText('partial').first().waitFor();
    await page.goto(url);
    await page.getByText(awaited).first().waitFor();
    await page.getByText('"resources"').first().waitFor();
    // Text in drawings is not part of innerText.
    return await page.evaluate(
      () =>
        (
          globalThis as unknown as {
            document: { body: { textContent: string } };
          }
        ).document.body.textContent,
    );
  } finally {
    await browser.close();
  }
}
