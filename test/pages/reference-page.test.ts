import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Endpoint, errorStatusesOf } from '../../src/contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { EXAMPLES } from '../../src/exchange/platform/http/openapi/examples.ts';
import { accessibilityFaults } from '../support/axe.ts';
import { describeInChromium, launchChromium } from '../support/chromium.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await createTestGateway();
});
afterAll(() => gateway.close());

describeInChromium('the API reference in a browser', () => {
  let browser: Browser;
  let page: Page;
  const consoleErrors: string[] = [];
  beforeAll(async () => {
    browser = await launchChromium();
    const address = await gateway.app.listen({ port: 0, host: '127.0.0.1' });
    const context = await browser.newContext({
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    page = await context.newPage();
    page.on('console', (message) => consoleErrors.push(message.text()));
    await page.goto(`${address}/reference/`);
  });
  afterAll(() => browser.close());
  beforeEach(() => page.setViewportSize({ width: 1280, height: 900 }));

  const operation = (name: EndpointName): Locator =>
    page.locator(`article[aria-labelledby="${name}"]`);
  const tryIt = async (name: EndpointName): Promise<Locator> => {
    const form = operation(name).locator('form');
    for (const part of ['details.more', 'details.try'])
      await operation(name)
        .locator(part)
        .evaluate((details) => details.setAttribute('open', ''));
    return form;
  };

  test('is for everybody (WCAG 2.2 AA), with everything unfolded, light, dark and on a phone', async () => {
    await page.evaluate(
      "for (const part of document.querySelectorAll('details')) part.open = true",
    );
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await accessibilityFaults(page, ['color-contrast'])).toEqual([]);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 320, height: 640 });
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(
      await page.evaluate(
        'document.documentElement.scrollWidth - window.innerWidth',
      ),
    ).toBe(0);
  });

  test('shows each operation with its address, request, answer and errors, and leads to it', async () => {
    const shown = await page
      .locator('main article')
      .evaluateAll((articles) =>
        Object.fromEntries(
          articles.map((each) => [
            each.getAttribute('aria-labelledby'),
            each.textContent,
          ]),
        ),
      );
    const links = await page
      .locator('nav a')
      .evaluateAll((anchors) =>
        anchors.map((anchor) => anchor.getAttribute('href')),
      );
    for (const [name, endpoint] of Object.entries(endpoints) as [
      EndpointName,
      Endpoint,
    ][]) {
      const text = shown[name] ?? '';
      expect(links).toContain(`#${name}`);
      expect(text, name).toContain(endpoint.path.replaceAll(/:(\w+)/g, '{$1}'));
      expect(text, name).toContain(
        `curl -X ${endpoint.method} 'https://exchange.test.example.org/medical/v1/`,
      );
      if (EXAMPLES[name].answer !== undefined)
        expect(text, name).toContain(
          JSON.stringify(EXAMPLES[name].answer, null, 2),
        );
      for (const status of errorStatusesOf(endpoint))
        expect(text, name).toContain(`${status} `);
    }
  });

  test('has no link that leads nowhere', async () => {
    const lost = await page.evaluate(
      '[...document.querySelectorAll(\'a[href^="#"]\')].filter((a) => !document.getElementById(a.hash.slice(1))).map((a) => a.hash)',
    );
    expect(lost).toEqual([]);
  });

  test('is short while nothing is unfolded, and unfolds what an address names', async () => {
    const visit = await page.context().newPage();
    await visit.goto(`${page.url().split('#')[0]}#createCohort`);
    const unfolded = visit.locator('details.more[open]');
    expect(await unfolded.count()).toBe(1);
    await visit
      .getByRole('button', { name: 'Copy: Create cohort: curl command' })
      .waitFor();
    expect(
      await visit.evaluate('document.documentElement.scrollHeight'),
    ).toBeLessThan(40_000);
    await visit.close();
  });

  test('finds operations and schemas by all words of a search, in the contents too', async () => {
    const words = page.getByRole('searchbox', { name: 'Search' });
    await words.fill('webhook rotate');
    const shown = page.locator('main article:visible h3');
    expect(await shown.allTextContents()).toEqual(
      expect.arrayContaining([
        'Rotate the key of a further webhook destination',
      ]),
    );
    expect(await shown.count()).toBeLessThan(6);
    expect(await page.locator('nav li:visible').count()).toBe(
      await page
        .locator('main section:not([aria-labelledby=schemas]) article:visible')
        .count(),
    );
    await page.getByText(`${await shown.count()} found`).waitFor();
    await words.fill('');
    expect(await shown.count()).toBeGreaterThan(100);
  });

  test('copies a curl command', async () => {
    await operation('createCohort')
      .locator('details.more')
      .evaluate((part) => part.setAttribute('open', ''));
    await operation('createCohort')
      .getByRole('button', { name: 'Copy: Create cohort: curl command' })
      .click();
    await operation('createCohort').getByText('Copied').waitFor();
    const copied = await page.evaluate('navigator.clipboard.readText()');
    expect(copied).toContain(
      "curl -X POST 'https://exchange.test.example.org/medical/v1/cohort'",
    );
  });

  test('sends a request with the key, and shows the answer', async () => {
    const account = await gateway.addAccount();
    await page.getByLabel('API key').fill(account.apiKey);
    const create = await tryIt('createCohort');
    await create
      .getByLabel('Body')
      .fill('{ "name": "From the page", "purposeOfUse": "treatment" }');
    await create.getByRole('button', { name: 'Send' }).click();
    await create.getByText('201').waitFor();
    const list = await tryIt('listCohorts');
    await list.getByRole('button', { name: 'Send' }).click();
    await list.getByText('200').waitFor();
    expect(await list.locator('pre').innerText()).toContain('"From the page"');
  });

  test('sends the key nowhere else', async () => {
    const list = await tryIt('listCohorts');
    await list.getByLabel('GET').fill('//other.example.org/medical/v1/cohort');
    await list.getByRole('button', { name: 'Send' }).click();
    await list.getByText('The path must begin with one slash.').waitFor();
  });

  test('needs nothing that its policy forbids', () => {
    expect(consoleErrors).toEqual([]);
  });
});

test('the API reference is one page without scripts in it', async () => {
  const { body, headers } = await gateway.app.inject('/reference');
  expect(headers['content-security-policy']).toContain("script-src 'self'");
  expect(body).not.toMatch(/<script(?![^>]* src=)/);
  for (const [, file = ''] of body.matchAll(
    /(?:src|href)="(\/reference\/[^"]+)"/g,
  ))
    expect((await gateway.app.inject(file)).statusCode, file).toBe(200);
});
