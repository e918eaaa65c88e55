import type { Browser, BrowserContext, Page } from 'playwright-core';
import { request } from 'undici';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import {
  findApiKeys,
  revokeApiKey,
} from '../../src/exchange/access/accounts/api-key-store.ts';
import { describeInChromium, launchChromium } from '../support/chromium.ts';
import {
  createEmbedEnvironment,
  type EmbedEnvironment,
} from '../support/embed-page.ts';
import { createTestGateway, newPerson } from '../support/gateway.ts';

let environment: EmbedEnvironment;
let patientId: string;
beforeAll(async () => {
  environment = await createEmbedEnvironment();
  patientId = await environment.addPatient(
    newPerson({ firstName: 'Maribel', lastName: 'Ortega' }),
  );
  await environment.deliverRecord(patientId);
});
afterAll(() => environment.close());

const get = (path: string, headers: Record<string, string> = {}) =>
  environment.gateway.app.inject({ url: path, headers });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('the document of the embedded page', () => {
  test('says nothing about anybody, and may be framed by the account’s own origins only', async () => {
    const { accountId } = environment.account;
    const answer = await get(`/embed/${accountId}/patient/${patientId}`);
    expect(answer.statusCode).toBe(200);
    expect(answer.body).not.toContain(accountId);
    expect(answer.body).not.toContain(patientId);
    const policy = String(answer.headers['content-security-policy']);
    expect(policy).toMatch(/frame-ancestors http:\/\/localhost:\d+;/);
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toContain('unsafe');
    expect(answer.headers['x-frame-options']).toBeUndefined();
    const stranger = await environment.gateway.addAccount();
    const other = await get(
      `/embed/${stranger.accountId}/patient/${patientId}`,
    );
    expect(other.headers['content-security-policy']).toContain(
      "frame-ancestors 'none'",
    );
    expect(
      (await get(`/embed/${patientId}/patient/${patientId}`)).statusCode,
    ).toBe(404);
  });

  test('has all its files, and no others', async () => {
    const { body } = await get(
      `/embed/${environment.account.accountId}/patient/${patientId}`,
    );
    for (const [, path = ''] of body.matchAll(/(?:src|href)="(\/[^"]+)"/g))
      expect((await get(path)).statusCode, path).toBe(200);
    expect(
      (await get('/embed/assets/..%2f..%2fembed-token.ts')).statusCode,
    ).toBe(404);
  });
});

describe('what the page asks for beside the interface', () => {
  test('needs a token of the account in the address, and a patient of it', async () => {
    const token = await environment.token();
    const stranger = await environment.gateway.addAccount();
    const theirs = (await stranger.call('POST', 'token/embed')).json().token;
    const { accountId } = environment.account;
    for (const part of ['summary', 'events']) {
      const own = `/embed/${accountId}/patient/${patientId}/${part}`;
      expect((await get(own)).statusCode).toBe(401);
      expect((await get(own, bearer(theirs))).statusCode).toBe(404);
      const unknown = `/embed/${accountId}/patient/${accountId}/${part}`;
      expect((await get(unknown, bearer(token))).statusCode).toBe(404);
    }
    const summary = await get(
      `/embed/${accountId}/patient/${patientId}/summary`,
      bearer(token),
    );
    const kinds = summary.body
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).kind);
    expect(kinds.slice(0, 2)).toEqual(['total', 'head']);
    expect(kinds).toContain('row');
  });
});

describe('a stream of events', () => {
  test('says how long it may last, then how things stand, and does not hold up a gateway that closes', async () => {
    const other = await environment.gateway.addAccount();
    const person = (
      await other.call(
        'POST',
        `patient?facilityId=${other.facilityId}`,
        newPerson(),
      )
    ).json();
    const { token } = (
      await other.call('POST', 'token/embed', { expirationInSeconds: 600 })
    ).json();
    const second = await createTestGateway({
      store: environment.gateway.store,
    });
    const origin = await second.app.listen({ host: '127.0.0.1', port: 0 });
    const answer = await request(
      `${origin}/embed/${other.accountId}/patient/${person.id}/events`,
      {
        headers: bearer(token),
      },
    );
    expect(answer.headers['content-type']).toContain('text/event-stream');
    let heard = '';
    for await (const chunk of answer.body) {
      heard += String(chunk);
      if (heard.includes('event: queries')) void second.app.close();
    }
    expect(heard).toMatch(
      /^event: session\ndata: {"expiresInSeconds":(600|59\d)}\n\nevent: queries\ndata: {"queries":\[\],"total":0}/,
    );
    await second.app.close();
  });
});

describeInChromium('the embedded page in a browser', () => {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let complaints: string[];
  let addresses: string[];
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      locale: 'en-US',
    });
    page = await context.newPage();
    [complaints, addresses] = [[], []];
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('pageerror', (error) => void complaints.push(error.message));
    page.on('request', (request) => void addresses.push(request.url()));
  });
  afterEach(() => context.close());

  const show = async (token: string, of = patientId) => {
    await page.goto(environment.pageUrl(of, token));
  };
  const text = (selector: string) => page.locator(selector).innerText();

  test('opens in a frame of an allowed page; its token is in no address, neither asked for nor shown', async () => {
    const token = await environment.token();
    await page.goto(
      environment.hostUrl('localhost', environment.pageUrl(patientId, token)),
    );
    const frame = page.frameLocator('iframe');
    await frame.getByRole('heading', { name: 'Maribel Ortega' }).waitFor();
    await frame.locator('#record details').first().waitFor();
    await frame.locator('#documents li').first().waitFor();
    await frame.locator('#session').waitFor();
    const [, inner] = page.frames();
    expect(inner?.url()).not.toContain('access_token');
    // The application's own address carries it in this test; what goes to the
    // gateway does not.
    const sent = addresses.filter((address) =>
      address.startsWith(environment.origin),
    );
    expect(sent.length).toBeGreaterThan(5);
    for (const address of sent)
      expect(address.split('#')[0]).not.toContain(token);
    expect(environment.gateway.logLines.join('')).not.toContain(token);
    expect(complaints).toEqual([]);
  });

  test('does not open in a frame of another page', async () => {
    const url = environment.pageUrl(patientId, await environment.token());
    await page.goto(environment.hostUrl('127.0.0.1', url));
    await expect.poll(() => complaints.join()).toContain('frame-ancestors');
    expect(await page.frameLocator('iframe').getByText('Maribel').count()).toBe(
      0,
    );
  });

  test('follows a query source by source, tells it, and offers what it brought', async () => {
    await show(await environment.token());
    await page.locator('#queries .quiet').waitFor();
    await page.locator('#record details').first().waitFor();
    const requestId = await environment.startQuery(patientId);
    await page.locator('#queries progress').first().waitFor();
    expect(await page.locator('#queries progress').count()).toBe(3);
    await environment.progress(requestId, 'pharmacy', {
      status: 'completed',
      resources: 12,
    });
    await page.locator('#queries').getByText('12 entries').waitFor();
    await expect.poll(() => text('#status')).toContain('Pharmacy: completed');
    await environment.progress(requestId, 'lab', {
      status: 'failed',
      reason: 'The source did not answer',
    });
    await environment.progress(requestId, 'hie', {
      status: 'completed',
      resources: 90,
    });
    await page.getByText('Partly completed', { exact: true }).waitFor();
    await page
      .locator('#queries')
      .getByText('The source did not answer')
      .waitFor();
    await page.getByRole('button', { name: 'Show it' }).click();
    await page.locator('#record details').first().waitFor();
    expect(complaints).toEqual([]);
  });

  test('tells before its time is over, and then forgets everything', async () => {
    await page.clock.install();
    await show(await environment.token(1_000));
    await page.getByText('Open until').waitFor();
    await page.getByRole('heading', { name: 'Maribel Ortega' }).waitFor();
    await page.clock.fastForward(800_000);
    await page.locator('#session').getByText('Closes in').waitFor();
    await expect
      .poll(() => text('#status'))
      .toContain('Open it again from your application');
    await page.clock.fastForward(300_000);
    await page.getByRole('heading', { name: 'This view is closed' }).waitFor();
    expect(await page.content()).not.toContain('Ortega');
    expect(await page.evaluate('document.activeElement.id')).toBe('name');
  });

  test('goes on with a new token that its host sets, without loading the page anew', async () => {
    await show('not.a.token');
    await page.getByRole('heading', { name: 'This view is closed' }).waitFor();
    const token = await environment.token();
    await page.evaluate(`location.hash = 'access_token=${token}'`);
    await page.getByRole('heading', { name: 'Maribel Ortega' }).waitFor();
    expect(page.url()).not.toContain('access_token');
  });

  test('closes when the API key of its token is revoked', async () => {
    const other = await environment.gateway.addAccount();
    const theirs = (
      await other.call(
        'POST',
        `patient?facilityId=${other.facilityId}`,
        newPerson(),
      )
    ).json();
    const { token } = (await other.call('POST', 'token/embed')).json();
    await page.goto(
      `${environment.origin}/embed/${other.accountId}/patient/${theirs.id}#access_token=${token}`,
    );
    await page.getByText('No data has been collected').waitFor();
    await page.getByText('No source has been queried').waitFor();
    await page.getByText('delivered no documents').waitFor();
    await environment.gateway.store.asSystem(async (tx) => {
      const [key] = await findApiKeys(
        tx,
        other.apiKey.split('_').slice(0, 2).join('_'),
      );
      await revokeApiKey(tx, key?.id ?? '');
    });
    await page.getByRole('heading', { name: 'This view is closed' }).waitFor();
  });

  test('shows hostile names as the text they are', async () => {
    const hostile = '<img/src=x/onerror=document.title="owned">';
    const cohort = (
      await environment.account.call('POST', 'cohort', {
        name: `<b>${hostile}</b>`,
      })
    ).json();
    const id = await environment.addPatient(
      newPerson({ firstName: hostile, cohorts: [cohort.id] }),
    );
    await show(await environment.token(), id);
    await page.getByRole('heading', { level: 1 }).getByText(hostile).waitFor();
    await page.locator('.cohorts li').getByText(hostile).waitFor();
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).toContain('<img');
    expect(complaints).toEqual([]);
  });

  test('says so when it was opened without a token, or with one that is not good', async () => {
    await show('');
    await page.getByText('Open this page from your application').waitFor();
    await page.goto('about:blank');
    await show('not.a.token');
    await page.getByRole('heading', { name: 'This view is closed' }).waitFor();
  });

  test('offers to try again what could not be loaded', async () => {
    let fails = true;
    await page.route('**/medical/v1/document?**', (route) =>
      fails ? route.abort() : route.continue(),
    );
    await show(await environment.token());
    const again = page
      .locator('#documents')
      .getByRole('button', { name: 'Try again' });
    await again.waitFor();
    fails = false;
    await again.click();
    await page.locator('#documents li').first().waitFor();
  });

  test('is worked by keyboard alone: sections open, a document is asked for', async () => {
    await show(await environment.token());
    await page.locator('#documents li').first().waitFor();
    await page.locator('#record details').first().waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe(
      'Skip to the content',
    );
    await page.keyboard.press('Enter');
    const part = page
      .locator('#record details', { hasText: 'Procedures' })
      .first();
    expect(await part.getAttribute('open')).toBeNull();
    await part.locator('summary').focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => part.getAttribute('open')).toBe('');
    // The link itself leads to the public address of the gateway, which is none
    // in a test.
    await context.route('**/links/document/**', (route) =>
      route.fulfill({ body: 'the document' }),
    );
    const opened = context.waitForEvent('page');
    await page
      .getByRole('button', { name: /^Open, / })
      .first()
      .focus();
    await page.keyboard.press('Enter');
    expect((await opened).url()).toContain('/links/document/');
    expect(page.url()).toContain('/embed/');
    expect(complaints).toEqual([]);
  });

  test('shows the record first, and opens a plain-text note in place, by keyboard', async () => {
    const note = {
      id: 'n',
      fileName: 'hie-note.txt',
      mimeType: 'text/plain',
      size: 30,
      source: 'hie',
      description: 'Visit note',
    };
    await context.route('**/medical/v1/document?*', (route) =>
      route.fulfill({ json: { documents: [note] } }),
    );
    await context.route('**/document/download-url?*', (route) =>
      route.fulfill({
        json: { url: 'https://exchange.example/links/document/x' },
      }),
    );
    await context.route('**/links/document/x', (route) =>
      route.fulfill({
        body: '<b>Seen today.</b>\nAll well.',
        contentType: 'text/plain',
      }),
    );
    await show(await environment.token());
    const read = page.getByRole('button', { name: /^Read, Visit note/ });
    await read.focus();
    await page.keyboard.press('Enter');
    const text = page.locator('#documents pre');
    await text.waitFor();
    expect(await text.textContent()).toBe('<b>Seen today.</b>\nAll well.');
    await read.click();
    await text.waitFor({ state: 'hidden' });
    const order = await page
      .locator('main > section')
      .evaluateAll((all) => all.map(({ id }) => id));
    expect(order).toEqual(['record', 'documents', 'queries', 'person']);
    expect(complaints).toEqual([]);
  });

  test('fits a phone of 320 pixels, in dark too', async () => {
    await page.setViewportSize({ width: 320, height: 640 });
    await page.emulateMedia({ colorScheme: 'dark' });
    await show(await environment.token());
    await page.locator('#record details[open] tbody tr').first().waitFor();
    await page.locator('#documents li').first().waitFor();
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(320);
    expect(
      await page.evaluate('getComputedStyle(document.body).backgroundColor'),
    ).toBe('rgb(15, 21, 25)');
  });
});
