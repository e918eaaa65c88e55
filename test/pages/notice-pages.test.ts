import Fastify from 'fastify';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sendNotice, sendNoticePage } from '../../src/lib/pages/notice-page.ts';
import { identityPage } from '../../tools/simulator/partners/identity.ts';
import { accessibilityFaults } from '../support/axe.ts';
import { describeInChromium, launchChromium } from '../support/chromium.ts';

const ASKED = {
  kind: 'session',
  person: { firstNames: ['Ann <b>'], lastNames: ['Sample'], dob: '1984-03-09' },
  returnUrl: 'https://exchange.example.org/links/x',
  expiresAt: '2026-11-23T10:00:00.000Z',
} as const;

describeInChromium('pages of individual access', () => {
  const app = Fastify();
  app.get('/notice', (_, reply) =>
    sendNotice(reply, 'Thank you', 'One <step> is open & waits.'),
  );
  app.get('/asked', (_, reply) =>
    sendNoticePage(reply, 'Identity partner', identityPage(ASKED)),
  );
  let browser: Browser;
  let origin: string;
  beforeAll(async () => {
    browser = await launchChromium();
    origin = await app.listen({ port: 0, host: '127.0.0.1' });
  });
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  test.each(['/notice', '/asked'])(
    '%s is styled by its own policy, and for everybody (WCAG 2.2 AA)',
    async (path) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await browser.newPage({
          colorScheme,
          viewport: { width: 320, height: 640 },
        });
        const said: string[] = [];
        page.on('console', (message) => said.push(message.text()));
        await page.goto(`${origin}${path}`);
        expect(
          await page.evaluate(
            "getComputedStyle(document.querySelector('main')).borderRadius",
          ),
        ).not.toBe('0px');
        expect(await accessibilityFaults(page)).toEqual([]);
        expect(
          await page.evaluate('document.documentElement.scrollWidth'),
        ).toBeLessThanOrEqual(320);
        expect(said.filter((text) => !text.includes('favicon'))).toEqual([]);
        await page.close();
      }
    },
  );

  test('texts are shown as they are', async () => {
    const page = await browser.newPage();
    await page.goto(`${origin}/notice`);
    expect(await page.locator('p').innerText()).toBe(
      'One <step> is open & waits.',
    );
    await page.close();
  });
});
