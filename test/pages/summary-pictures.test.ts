import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fittedTables, renderHtml, renderPdf } from '#record-summary';
import { accessibilityFaults } from '../support/axe.ts';
import { describeInChromium, launchChromium } from '../support/chromium.ts';
import { samples } from '../support/deliveries.ts';
import {
  embeddedPage,
  expectPicture,
  type PictureOptions,
  pdfPage,
  pictureOf,
} from '../support/pictures.ts';
import { gather, partsOf, sampleReader } from '../support/summary-reader.ts';

const PATIENTS = [
  'dannie-bogisich',
  'isaiah-weber',
  'keith-kiehn',
  'lieselotte-howe',
];
const DESKTOP = { width: 1000, height: 760 };
const PRINTED = { ...DESKTOP, isPrint: true };
const PHONE = { width: 390, height: 900 };

describeInChromium.each(PATIENTS)(
  'the record of %s looks as it was approved:',
  (key) => {
    let browser: Browser;
    let html = '';
    let pdf = Buffer.alloc(0);
    let lines = '';
    beforeAll(async () => {
      browser = await launchChromium();
      const parts = () => partsOf(sampleReader(key));
      html = (await gather(renderHtml(fittedTables(parts())))).join('');
      pdf = Buffer.concat(await gather(renderPdf(fittedTables(parts()))));
      lines = [{ kind: 'total', resources: 1 }, ...(await gather(parts()))]
        .map((part) => `${JSON.stringify(part)}\n`)
        .join('');
    });
    afterAll(() => browser.close());

    test.each<[string, PictureOptions]>([
      ['desktop', DESKTOP],
      ['phone', PHONE],
    ])('summary, %s', async (form, options) => {
      expectPicture(
        `${key}-${form}`,
        await pictureOf(browser, summary, options),
      );
    });

    test('summary, print, at the tables', async () => {
      const picture = await pictureOf(browser, summary, PRINTED, (page) =>
        page
          .locator('#medications')
          .evaluate((heading) => heading.scrollIntoView()),
      );
      expectPicture(`${key}-print`, picture);
    });

    test('embedded page, dark, at the charts', async () => {
      const picture = await pictureOf(
        browser,
        embedded,
        { ...DESKTOP, isDark: true },
        async (page) => {
          await page.locator('#record-vital-signs').waitFor();
          await openVitalSigns(page);
        },
      );
      expectPicture(`${key}-dark`, picture);
    });

    test('pdf, first page', async () => {
      const serve = (path: string) =>
        path === '/file.pdf'
          ? { body: pdf, contentType: 'application/pdf' }
          : { body: pdfPage(850), contentType: 'text/html; charset=utf-8' };
      const picture = await pictureOf(
        browser,
        serve,
        { width: 850, height: 1100 },
        (page) => page.waitForFunction("document.title === 'drawn'"),
      );
      expectPicture(`${key}-pdf`, picture);
    });

    const summary = (path: string) =>
      path.endsWith('/p')
        ? { body: html, contentType: 'text/html; charset=utf-8' }
        : undefined;

    function embedded(
      path: string,
    ): { body: string; contentType: string } | undefined {
      if (path.endsWith('/p') && path.startsWith('/embed'))
        return {
          body: embeddedPage(),
          contentType: 'text/html; charset=utf-8',
        };
      if (path.endsWith('/summary'))
        return { body: lines, contentType: 'application/x-ndjson' };
      if (path.endsWith('/events'))
        return {
          body: 'event: queries\ndata: {"queries":[],"total":0}\n\n',
          contentType: 'text/event-stream',
        };
      const answers: Record<string, object> = {
        '/medical/v1/patient/p': personAsAnswered(key),
        '/medical/v1/patient/p/cohort': { cohorts: [] },
        '/medical/v1/document': { documents: [] },
      };
      const answer = answers[path];
      return (
        answer && {
          body: JSON.stringify(answer),
          contentType: 'application/json',
        }
      );
    }
  },
);

const openVitalSigns = (page: Page) =>
  page.locator('#record-vital-signs').evaluate((part) => {
    part.setAttribute('open', '');
    part.scrollIntoView();
  });

function personAsAnswered(key: string): object {
  const body = samples.find((sample) => sample.key === key)?.createBody;
  const { firstName, lastName, dob, genderAtBirth } = body ?? {};
  return {
    firstName: [firstName],
    lastName: [lastName],
    dob,
    genderAtBirth,
    contact: [],
    address: [],
  };
}

describeInChromium('a summary in html', () => {
  let browser: Browser;
  let html = '';
  beforeAll(async () => {
    browser = await launchChromium();
    html = (
      await gather(
        renderHtml(fittedTables(partsOf(sampleReader('isaiah-weber')))),
      )
    ).join('');
  });
  afterAll(() => browser.close());

  test.each([
    ['light', { colorScheme: 'light', viewport: DESKTOP }],
    ['dark', { colorScheme: 'dark', viewport: DESKTOP }],
    [
      '320 pixels wide, as at a zoom of 400 %',
      { colorScheme: 'light', viewport: { width: 320, height: 640 } },
    ],
  ] as const)('can be read by everybody: %s', async (_, options) => {
    const page = await browser.newPage({ ...options, bypassCSP: true });
    await page.setContent(html);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(
      await page.evaluate('document.documentElement.scrollWidth - innerWidth'),
    ).toBe(0);
    await page.close();
  });

  test('works by keyboard: the skip link first, then the contents, each stop in view and with a ring', async () => {
    const page = await browser.newPage({ viewport: DESKTOP });
    await page.setContent(html);
    const stops: string[] = [];
    for (let index = 0; index < 25; index += 1) {
      await page.keyboard.press('Tab');
      const stop = (await page.evaluate(`(({ activeElement }) => {
        const { top, bottom } = activeElement.getBoundingClientRect();
        const isShown = getComputedStyle(activeElement).outlineStyle !== 'none' && bottom > 0 && top < innerHeight;
        return (isShown ? '' : 'not shown: ') + (activeElement.getAttribute('aria-label') ?? activeElement.textContent);
      })(document)`)) as string;
      stops.push(stop);
    }
    expect(stops.slice(0, 3)).toEqual([
      'Skip to the content',
      'Overview',
      'Problems',
    ]);
    expect(stops.filter((stop) => stop.startsWith('not shown'))).toEqual([]);
    await page.close();
  });

  test('prints its overview on one page', async () => {
    const page = await browser.newPage();
    await page.setContent(
      html.replace(
        /<section aria-labelledby="problems">.*<\/main>/s,
        '</main>',
      ),
    );
    const pdf = await page.pdf({ preferCSSPageSize: true });
    expect(pdf.toString('latin1').match(/\/Type \/Page\b/g)).toHaveLength(1);
    await page.close();
  });
});
