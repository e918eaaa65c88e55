import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { freePort } from '../../src/lib/free-port.ts';
import { accessibilityFaults } from '../support/axe.ts';
import { describeInChromium, launchChromium } from '../support/chromium.ts';
import { samples } from '../support/deliveries.ts';
import { createFhirDoor, type FhirDoor } from '../support/fhir-door.ts';

const [sample] = samples;
if (sample === undefined) throw new Error('there are no samples');

let door: FhirDoor;
let base: string;
let apiKey: string;
let patientId: string;
beforeAll(async () => {
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  door = await createFhirDoor({ publicBaseUrl: base });
  apiKey = await door.addKey(door.accountId, ['read', 'write']);
  patientId = await door.addSample(sample);
  await door.gateway.app.listen({ port, host: '127.0.0.1' });
});
afterAll(() => door.close());

const make = async (body: object = {}): Promise<{ viewerUrl: string }> =>
  (
    await door.gateway.app.inject({
      method: 'POST',
      url: `/medical/v1/patient/${patientId}/health-link`,
      headers: { 'x-api-key': apiKey },
      payload: body,
    })
  ).json();

describeInChromium('the viewer of a health link', () => {
  let browser: Browser;
  let page: Page;
  let faults: string[];
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: 390, height: 800 } });
    faults = [];
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('status of 4'))
        faults.push(message.text());
    });
    return () => page.close();
  });

  const open = async (passcode?: string) => {
    await page.getByLabel('Your name or organization').fill('Dr. Rossi');
    if (passcode !== undefined)
      await page.getByLabel('Passcode').fill(passcode);
    await page.getByRole('button', { name: 'Open the summary' }).click();
  };

  test('asks who opens it, decrypts it here, and shows what is missing first', async () => {
    const { viewerUrl } = await make({ passcode: 'tulip-43' });
    await page.goto(viewerUrl);
    expect(await accessibilityFaults(page)).toEqual([]);
    await open('wrong-one');
    await expect
      .poll(() => page.getByRole('alert').textContent())
      .toBe('The passcode is wrong. 4 more attempts.');
    await open('tulip-43');
    await page
      .getByRole('heading', { name: 'Sources and completeness', level: 2 })
      .waitFor();
    const headings = await page
      .getByRole('heading', { level: 2 })
      .allTextContents();
    expect(headings.slice(0, 5)).toEqual([
      'Overview',
      'Sources and completeness',
      'Active problems',
      'Current medications',
      'Allergies and intolerances',
    ]);
    expect(await page.locator('section').nth(1).textContent()).toContain(
      'never queried',
    );
    expect(await page.locator('table').count()).toBeGreaterThan(2);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await accessibilityFaults(page)).toEqual([]);
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(390);
    expect(faults).toEqual([]);
  });

  test('opens a link for one time once, and only when asked to', async () => {
    const { viewerUrl } = await make({ isOneTime: true });
    await page.goto(viewerUrl);
    await page.reload();
    await open();
    await page
      .getByRole('heading', { name: 'Active problems', level: 2 })
      .waitFor();
    await page.reload();
    await open();
    await expect
      .poll(() => page.getByRole('alert').textContent())
      .toContain('This link has ended');
    expect(faults).toEqual([]);
  });

  test('says so when the address has no link of this service', async () => {
    for (const fragment of [
      '',
      '#shlink:/x',
      '#shlink:/eyJ1cmwiOiJodHRwczovL290aGVyLmV4YW1wbGUifQ',
    ]) {
      await page.goto('about:blank');
      await page.goto(`${base}/shl/view${fragment}`);
      await expect
        .poll(() => page.getByRole('alert').textContent())
        .toContain('no health link of this service');
    }
    expect(faults).toEqual([]);
  });

  test('shows whatever a document says, and runs nothing of it', async () => {
    await page.goto(`${base}/shl/view`);
    const said =
      '<div xmlns="x"><p onclick="x()">A &lt;b&gt; &#65;&amp;</p><script>window.hit=1</script><img src="x" onerror="window.hit=1"/>' +
      '<a href="javascript:window.hit=1">link</a><table><tr><td colspan="2" style="x">1 < 2</td></tr></table><svg><style>*{}</style></svg>';
    const shown =
      await page.evaluate(`import('${base}/shl/view/assets/narrative.js').then(({ narrativeOf }) => {
      const element = narrativeOf(${JSON.stringify(said)});
      document.body.append(element);
      return element.innerHTML;
    })`);
    expect(shown).toBe(
      '<p>A &lt;b&gt; A&amp;</p>link<div class="scroll" tabindex="0" role="group" aria-label="Table"><table><tr><td colspan="2">1 &lt; 2</td></tr></table></div>',
    );
    expect(await page.evaluate('window.hit')).toBeUndefined();
  });
});
