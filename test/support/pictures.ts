import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pixelmatch from 'pixelmatch';
import type { Browser, Page, Route } from 'playwright-core';
import { PNG } from 'pngjs';
import { CHART_STYLE } from '#record-summary';
import { THEME } from '../../src/lib/pages/notice-page.ts';

const GOLDEN = new URL('../pages/golden/', import.meta.url);
/**
 * Not in the run's temporary folder, which is removed at its end; ignored by
 * git.
 */
const DIFFERING = new URL('../pages/differing/', import.meta.url);
const PAGE = new URL(
  '../../src/exchange/delivery/embed/page/',
  import.meta.url,
);
const PDF_JS = import.meta.resolve('pdfjs-dist/package.json');
const ORIGIN = 'http://pictures.test';

/**
 * A share of pixels that may differ: edges of letters do, from one version of
 * Chromium to the next.
 */
const DIFFERING_MAX = 0.02;

/**
 * Compares a picture with the golden one of the same name. Without a golden
 * one, writes it and fails: whoever changed the look deletes the picture, runs
 * the test, looks at the new picture and commits it.
 */
export function expectPicture(name: string, taken: Buffer): void {
  const picture = withFewColours(taken);
  const golden = new URL(`${name}.png`, GOLDEN);
  if (!existsSync(golden)) {
    writeFileSync(golden, picture);
    throw new Error(
      `${fileURLToPath(golden)} was written. Look at it, commit it and run the test again.`,
    );
  }
  const is = PNG.sync.read(picture);
  const was = PNG.sync.read(readFileSync(golden));
  const { width, height } = was;
  if (is.width !== width || is.height !== height)
    throw new Error(
      `${name} is ${is.width} × ${is.height} pixels instead of ${width} × ${height}`,
    );
  const difference = new PNG({ width, height });
  const share =
    pixelmatch(is.data, was.data, difference.data, width, height, {
      threshold: 0.2,
    }) /
    (width * height);
  if (share <= DIFFERING_MAX) return;
  const folder = fileURLToPath(DIFFERING);
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}${name}.png`, picture);
  writeFileSync(`${folder}${name}-difference.png`, PNG.sync.write(difference));
  throw new Error(
    `${name} differs from the golden picture in ${(share * 100).toFixed(1)} % of its pixels: see ${folder}. If it is meant to, delete ${fileURLToPath(golden)} and run the test again.`,
  );
}

/**
 * Eight shades of each colour: a third of the size, and faint differences of
 * shading vanish.
 */
function withFewColours(picture: Buffer): Buffer {
  const image = PNG.sync.read(picture);
  for (const [index, value] of image.data.entries())
    image.data[index] =
      index % 4 === 3 ? value : Math.min(255, Math.round(value / 36.4) * 36.4);
  return PNG.sync.write(image, { colorType: 2 });
}

/** Every machine draws with the same font, whatever it has installed. */
const FONT_STYLE = `@font-face { font-family: Pinned; src: url("${ORIGIN}/font-400"); font-weight: 100 500; }
@font-face { font-family: Pinned; src: url("${ORIGIN}/font-700"); font-weight: 600 900; }
* { font-family: Pinned !important; animation: none !important; transition: none !important; }`;

export interface PictureOptions {
  width: number;
  height: number;
  isDark?: boolean;
  isPrint?: boolean;
}

/**
 * Small pictures: they show layout and colours, and leave little to the drawing
 * of single letters.
 */
const SCALE = 0.4;

/**
 * Opens an address of the pages below, without any server, and takes its
 * picture.
 */
export async function pictureOf(
  browser: Browser,
  serve: (
    path: string,
  ) => { body: string | Buffer; contentType: string } | undefined,
  { width, height, isDark = false, isPrint = false }: PictureOptions,
  prepare?: (page: Page) => Promise<unknown>,
): Promise<Buffer> {
  const page = await browser.newPage({
    viewport: { width, height },
    deviceScaleFactor: SCALE,
    colorScheme: isDark ? 'dark' : 'light',
    bypassCSP: true,
  });
  try {
    await page.clock.setFixedTime(new Date('2026-11-21T12:00:00Z'));
    await page.route('**/*', (route) => answer(route, serve));
    await page.emulateMedia({ media: isPrint ? 'print' : 'screen' });
    await page.goto(`${ORIGIN}/embed/a/patient/p#access_token=t`);
    await prepare?.(page);
    await page.addStyleTag({ content: FONT_STYLE });
    await page.evaluate('document.fonts.ready');
    return await page.screenshot();
  } finally {
    await page.close();
  }
}

function answer(
  route: Route,
  serve: (
    path: string,
  ) => { body: string | Buffer; contentType: string } | undefined,
): Promise<void> {
  const { pathname } = new URL(route.request().url());
  const weight = /^\/font-(\d+)$/.exec(pathname)?.[1];
  if (weight !== undefined)
    return route.fulfill({
      path: moduleFile(
        `@fontsource/dejavu-sans/files/dejavu-sans-latin-${weight}-normal.woff2`,
      ),
    });
  const asset = /^\/embed\/assets\/([\w-]+\.\w+)$/.exec(pathname)?.[1];
  const shared = { 'theme.css': THEME, 'charts.css': CHART_STYLE }[asset ?? ''];
  if (shared !== undefined)
    return route.fulfill({ body: shared, contentType: 'text/css' });
  if (asset !== undefined)
    return route.fulfill({ path: fileURLToPath(new URL(asset, PAGE)) });
  const part = /^\/pdfjs\/(.+)$/.exec(pathname)?.[1];
  if (part !== undefined)
    return route.fulfill({ path: fileURLToPath(new URL(part, PDF_JS)) });
  const served = serve(pathname);
  return served === undefined
    ? route.fulfill({ status: 404, body: '{}' })
    : route.fulfill(served);
}

const moduleFile = (path: string): string =>
  fileURLToPath(new URL(`../../node_modules/${path}`, import.meta.url));

/** The embedded page as the gateway serves it. */
export const embeddedPage = (): string =>
  readFileSync(new URL('index.html', PAGE), 'utf8')
    .replace('{modules}', '')
    .replaceAll('{base}', '');

/**
 * A page that draws the first page of a PDF with pdf.js, which brings its own
 * fonts.
 */
export const pdfPage = (
  width: number,
): string => `<!doctype html><body style="margin:0"><canvas></canvas>
<script type="module">
import * as pdf from '/pdfjs/build/pdf.min.mjs';
pdf.GlobalWorkerOptions.workerSrc = '/pdfjs/build/pdf.worker.min.mjs';
const file = await pdf.getDocument({ url: '/file.pdf', standardFontDataUrl: '/pdfjs/standard_fonts/' }).promise;
const page = await file.getPage(1);
const viewport = page.getViewport({ scale: ${width} / page.getViewport({ scale: 1 }).width });
const canvas = document.querySelector('canvas');
Object.assign(canvas, { width: viewport.width, height: viewport.height });
await page.render({ canvas, viewport }).promise;
document.title = 'drawn';
</script>`;
