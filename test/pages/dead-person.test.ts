import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { freePort } from '../../src/lib/free-port.ts';
import { accessibilityFaults } from '../support/axe.ts';
import { describeInChromium, launchChromium } from '../support/chromium.ts';
import { delivery, personOf, samples } from '../support/deliveries.ts';
import { createFhirDoor, type FhirDoor } from '../support/fhir-door.ts';

const [sample] = samples;
if (sample === undefined) throw new Error('there are no samples');
const person = { ...personOf(sample), dob: '1951-04-05' };
const DIED = 'Died 12 Mar 2017, aged 65 years';

let door: FhirDoor;
let base: string;
let apiKey: string;
beforeAll(async () => {
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  door = await createFhirDoor({ publicBaseUrl: base });
  apiKey = await door.addKey(door.accountId, ['read', 'write']);
  await door.gateway.app.listen({ port, host: '127.0.0.1' });
});
afterAll(() => door.close());

const post = async (path: string, payload: object = {}) =>
  (
    await door.gateway.app.inject({
      method: 'POST',
      url: `/medical/v1/${path}`,
      headers: { 'x-api-key': apiKey },
      payload,
    })
  ).json();

const problem = {
  resourceType: 'Condition',
  id: 'c',
  subject: { reference: 'Patient/p' },
  code: { text: 'Heart failure' },
};

async function addPerson(
  deceased: object,
  ...others: object[]
): Promise<string> {
  const patientId = await door.addPatient(person);
  const patient = { resourceType: 'Patient', id: 'p', ...deceased };
  const given = [patient, ...others].map((each) => delivery('hie', each));
  await door.deliver(patientId, 'hie', given, ['p']);
  return patientId;
}

describeInChromium('a person who has died', () => {
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: 900, height: 700 } });
    return () => page.close();
  });

  async function openEmbedded(patientId: string): Promise<string> {
    const { token } = await post('token/embed');
    const path = `/embed/${door.accountId}/patient/${patientId}`;
    await page.goto(`${base}${path}#access_token=${token}`);
    await page.locator('#record p').first().waitFor();
    await page.getByText('Born').waitFor();
    await expect.poll(() => page.locator('#life').textContent()).not.toBe('');
    return page.locator('#head').innerText();
  }

  test.each([
    ['and nothing else is known of them', []],
    ['and has a record', [problem]],
  ])('is not shown as alive on the embedded page, %s', async (_, others) => {
    const deceased = { deceasedDateTime: '2017-03-12' };
    const head = await openEmbedded(await addPerson(deceased, ...others));
    expect(head).toContain('Born 5 Apr 1951');
    expect(head).toContain(DIED);

    expect(await page.locator('#life.alert').textContent()).toBe(DIED);
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('is told from one who lives', async () => {
    const head = await openEmbedded(await addPerson({}));
    expect(head).toMatch(/Born 5 Apr 1951\s+\d+ years/);
    expect(head).not.toContain('Died');
  });

  test('is not shown as alive at a health link', async () => {
    const patientId = await addPerson({ deceasedDateTime: '2017-03-12' });
    const { viewerUrl } = await post(`patient/${patientId}/health-link`);
    await page.goto(viewerUrl);
    await page.getByLabel('Your name or organization').fill('Dr. Rossi');
    await page.getByRole('button', { name: 'Open the summary' }).click();
    await page
      .getByRole('heading', { name: 'Active problems', level: 2 })
      .waitFor();

    const head = await page.locator('header').innerText();
    expect(head).toContain('Born: 5 Apr 1951');
    expect(await page.locator('#person b').textContent()).toBe(
      DIED.replace('Died', 'Died:'),
    );
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});
