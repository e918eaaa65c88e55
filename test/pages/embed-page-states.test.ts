import type { Browser, BrowserContext, Page } from 'playwright-core';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import { renderHtml, summarise } from '#record-summary';
import { openRecordReader } from '../../src/exchange/records/reading/record-reader.ts';
import { accessibilityFaults } from '../support/axe.ts';
import { describeInChromium, launchChromium } from '../support/chromium.ts';
import {
  createEmbedEnvironment,
  type EmbedEnvironment,
} from '../support/embed-page.ts';
import { newPerson } from '../support/gateway.ts';

describeInChromium('what is read in a browser', () => {
  let environment: EmbedEnvironment;
  let patientId: string;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  beforeAll(async () => {
    [environment, browser] = await Promise.all([
      createEmbedEnvironment(),
      launchChromium(),
    ]);
    patientId = await environment.addPatient(
      newPerson({ firstName: 'Maribel', lastName: 'Ortega' }),
    );
    await environment.deliverRecord(patientId);
  });
  afterAll(async () => {
    await browser.close();
    await environment.close();
  });
  beforeEach(async () => {
    context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
    });
    page = await context.newPage();
  });
  afterEach(() => context.close());

  const show = async (token: string, of = patientId) => {
    await page.goto(environment.pageUrl(of, token));
  };
  const loaded = () =>
    page.locator('[aria-busy]').first().waitFor({ state: 'detached' });
  const inBothSchemes = async (): Promise<string[]> => {
    await page.emulateMedia({ colorScheme: 'light' });
    const faults = await accessibilityFaults(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    return [
      ...faults,
      ...(await accessibilityFaults(page, ['color-contrast'])),
    ];
  };
  const unfold = (isOpen: boolean) =>
    page.evaluate(
      `for (const part of document.querySelectorAll('details')) part.open = ${isOpen}`,
    );

  describe('is for everybody (WCAG 2.2 AA)', () => {
    test('the page with everything unfolded, while a query is under way and when it has failed in part', async () => {
      const requestId = await environment.startQuery(patientId);
      await environment.progress(requestId, 'lab', {
        status: 'failed',
        reason: 'No answer',
      });
      await environment.progress(requestId, 'pharmacy', {
        status: 'completed',
        resources: 3,
      });
      await show(await environment.token());
      await loaded();
      await page.locator('#queries progress').first().waitFor();
      await unfold(true);
      expect(await inBothSchemes()).toEqual([]);
      await environment.progress(requestId, 'hie', {
        status: 'completed',
        resources: 3,
      });
      await page.getByRole('button', { name: 'Show it' }).waitFor();
      await unfold(false);
      await page.setViewportSize({ width: 320, height: 640 });
      expect(await accessibilityFaults(page)).toEqual([]);
    });

    test('a patient without data, what could not be loaded, a view that is closed', async () => {
      const empty = await environment.addPatient(
        newPerson({ lastName: 'Nodata' }),
      );
      await page.route('**/medical/v1/document?**', (route) => route.abort());
      await show(await environment.token(), empty);
      await page.getByRole('button', { name: 'Try again' }).waitFor();
      await loaded();
      expect(await inBothSchemes()).toEqual([]);
      await page.goto('about:blank');
      await show('not.a.token');
      await page.locator('#end').waitFor();
      expect(await inBothSchemes()).toEqual([]);
    });

    test('the summary of a record and a C-CDA document, on a phone, where tables are scrolled', async () => {
      const { accountId } = environment.account;
      const { store, app } = environment.gateway;
      const reader = await openRecordReader(store, {
        accountId,
        patientId,
        filter: {},
      });
      let summary = '';
      for await (const piece of renderHtml(
        summarise(reader, { filter: {}, madeAt: new Date() }),
      ))
        summary += piece;
      const list = await environment.account.call(
        'GET',
        `document?patientId=${patientId}&output=dto`,
      );
      const { fileName } = list.json().documents[0];
      const query = `fileName=${fileName}&conversionType=html`;
      const link = await environment.account.call(
        'GET',
        `document/download-url?${query}`,
      );
      const document = await app.inject({
        url: new URL(link.json().url).pathname,
      });
      expect(document.headers['content-security-policy']).toMatch(
        /default-src 'none'.*sandbox/,
      );
      await page.setViewportSize({ width: 390, height: 844 });
      for (const html of [summary, document.body]) {
        // Under their own policy nothing could look at them: no script runs
        // there.
        await page.setContent(html);
        expect(await accessibilityFaults(page)).toEqual([]);
      }
    });
  });

  test('says that there is no such patient for this token, and nothing else', async () => {
    const stranger = await environment.gateway.addAccount();
    await show((await stranger.call('POST', 'token/embed')).json().token);
    await page.getByRole('heading', { name: 'Patient not found' }).waitFor();
    expect(await page.locator('main:visible').count()).toBe(1);
    expect(await page.getByRole('button').count()).toBe(0);
  });

  test('a new token, set before the end of the old one, changes nothing of what is being read', async () => {
    await show(await environment.token(200));
    await page.locator('#session.soon').waitFor();
    await page.locator('#record summary').nth(4).click();
    const opened = () =>
      page.evaluate(
        '[...document.querySelectorAll("#record details")].map(({ open }) => open)',
      );
    const before = await opened();
    const calls: string[] = [];
    page.on(
      'request',
      (request) => void calls.push(request.url().replace(/.*\//, '')),
    );
    await page.evaluate(
      `location.hash = 'access_token=${await environment.token()}'`,
    );
    await page.getByText('Open until').waitFor();
    expect(await opened()).toEqual(before);
    expect(calls.filter((name) => name !== 'icon.svg')).toEqual(['events']);
  });

  test('says since when live updates are missing, comes back by itself and loads what was missing', async () => {
    let isDown = true;
    const whileDown = /\/(?:events|summary)$/;
    await page.route(whileDown, (route) =>
      isDown ? route.abort() : route.continue(),
    );
    await show(await environment.token());
    await page
      .getByText('The service cannot be reached. Trying again')
      .waitFor();
    await page
      .locator('#record')
      .getByRole('button', { name: 'Try again' })
      .waitFor();
    isDown = false;
    await page.locator('#record details').first().waitFor();
    await page
      .locator('#queries .query, #queries .content > .quiet')
      .first()
      .waitFor();
    expect(await page.locator('#connection').isVisible()).toBe(false);
  });

  test('asks for the record once, and does not wait for its other scripts: reading it takes the longest', async () => {
    const token = await environment.token();
    const calls: string[] = [];
    page.on(
      'request',
      (request) => void calls.push(request.url().replace(/.*\//, '')),
    );
    await page.route('**/assets/main.js', (route) => route.abort());
    await Promise.all([page.waitForRequest('**/summary'), show(token)]);
    await page.unroute('**/assets/main.js');
    calls.length = 0;
    await page.goto('about:blank');
    await show(token);
    await loaded();
    expect(calls.filter((call) => call === 'summary')).toHaveLength(1);
  });

  test('shows the overview as soon as it is there, while the rest of the record still comes', async () => {
    const block = {
      title: 'Allergies',
      items: [{ text: 'Peanut', detail: 'HIE' }],
      notes: [],
    };
    const first = [
      { kind: 'total', resources: 3_000 },
      {
        kind: 'head',
        head: {
          alert: 'Incomplete: the laboratory did not answer.',
          patient: { name: 'Ann Example', born: '5 Apr 1980' },
          notes: [],
        },
      },
      { kind: 'overview', blocks: [block] },
    ];
    const rest = [{ kind: 'section', id: 'allergies', title: 'All allergies' }];
    const lines = (parts: object[]) =>
      JSON.stringify(parts.map((part) => `${JSON.stringify(part)}\n`).join(''));
    await page.addInitScript(`
      const all = fetch;
      window.fetch = (url, init) => String(url).endsWith('/summary') ? Promise.resolve(new Response(new ReadableStream({
        start(stream) {
          const send = (text) => stream.enqueue(new TextEncoder().encode(text));
          send(${lines(first)});
          window.sendRest = () => { send(${lines(rest)}); stream.close(); };
        } }))) : all(url, init);`);
    await show(await environment.token());
    await page.locator('#record .overview').getByText('Peanut').waitFor();
    await page
      .locator('#record')
      .getByText('the laboratory did not answer')
      .waitFor();
    await page
      .locator('#record .content[aria-busy]')
      .getByText('Loading the record')
      .waitFor();
    await page.evaluate('sendRest()');
    await page
      .locator('#record')
      .getByRole('heading', { name: 'All allergies' })
      .waitFor();
    await loaded();
    expect(await page.getByText('Peanut').count()).toBe(1);
  });

  test('a record of thousands is opened in part: how much is told, the rest comes on demand', async () => {
    const rows = Array.from({ length: 3_000 }, (_, index) => ({
      kind: 'row',
      cells: [{ text: `Problem ${index}` }],
    }));
    const parts = [
      { kind: 'total', resources: 3_000 },
      { kind: 'section', id: 'problems', title: 'Problems' },
      {
        kind: 'table',
        caption: 'Active problems',
        columns: [{ title: 'Problem' }],
      },
      ...rows,
      { kind: 'tableEnd', rows: 3_000 },
    ];
    const body = parts.map((part) => JSON.stringify(part)).join('\n');
    const document = {
      fileName: 'a.xml',
      mimeType: 'text/xml',
      size: 1,
      source: 'hie',
    };
    const hostile = '<img/src=x/onerror=document.title="owned">';
    const documents = Array.from({ length: 200 }, (_, index) => ({
      ...document,
      description: `${hostile} ${index}`,
    }));
    await page.route('**/summary', (route) => route.fulfill({ body }));
    await page.route('**/medical/v1/document?**', (route) =>
      route.fulfill({ json: { documents } }),
    );
    await show(await environment.token());
    await page.getByText('20 of 3,000 are shown.').waitFor();
    await page.getByText('8 of 200 are shown.').waitFor();
    await page
      .getByRole('button', { name: 'Show 200 more: Active problems' })
      .click();
    await page.getByText('220 of 3,000 are shown.').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe(
      'Problem 20',
    );
    // On paper there is nothing to ask with: what one more asking brings is
    // there.
    await page.evaluate('dispatchEvent(new Event("beforeprint"))');
    await page.getByText('420 of 3,000 are shown.').waitFor();
    await page.getByRole('button', { name: 'Show 92 more: documents' }).click();
    expect(await page.locator('#documents li').count()).toBe(200);
    expect(await page.locator('#documents .more').count()).toBe(0);
    // And whatever they are called, it is text.
    await page.getByText(`${hostile} 199`).waitFor();
    expect(await page.locator('img').count()).toBe(0);
  });
});
