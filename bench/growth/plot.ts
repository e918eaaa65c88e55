import type { MeasuredOperation } from './run.ts';

const WIDTH = 900;
const HEIGHT = 420;
const LEFT = 60;
const TOP = 40;
const BOTTOM = 50;
const RIGHT = 390;
const COLOURS = [
  '#1f6feb',
  '#c4321b',
  '#1a7f37',
  '#8250df',
  '#9a6700',
  '#57606a',
  '#bf3989',
  '#0a7d91',
];
const TITLE =
  'Pages that PostgreSQL reads per call, as times of those at the smallest size';
const MOST_OPERATIONS = COLOURS.length;

/**
 * The pages that calls read, as times of those at the smallest size, over the
 * number of patients; both axes logarithmic.
 */
export function plotGrowth(measured: readonly MeasuredOperation[]): string {
  const names = [...new Set(measured.map(({ name }) => name))]
    .filter(
      (name) =>
        !name.startsWith('reconcile') && !name.startsWith('the gateway'),
    )
    .slice(0, MOST_OPERATIONS);
  const sizes = [...new Set(measured.map(({ patients }) => patients))];
  const lines = names.map((name) => {
    const points = measured.filter((each) => each.name === name);
    const first = points[0]?.pages ?? Number.NaN;
    return {
      name,
      points: points.map(({ patients, pages }) => ({
        patients,
        times: pages / first,
      })),
    };
  });
  const most = Math.max(
    10,
    ...lines.flatMap(({ points }) => points.map(({ times }) => times)),
  );
  const place = (value: number, from: number, to: number) =>
    (Math.log10(value) - Math.log10(from)) /
    (Math.log10(to) - Math.log10(from));
  const x = (patients: number) =>
    LEFT +
    place(patients, sizes[0] ?? 1, sizes.at(-1) ?? 1) * (WIDTH - LEFT - RIGHT);
  const y = (times: number) =>
    HEIGHT -
    BOTTOM -
    place(Math.max(0.5, times), 0.5, most) * (HEIGHT - TOP - BOTTOM);
  const text = (left: number, top: number, content: string, more = '') =>
    `<text x="${left.toFixed(0)}" y="${top.toFixed(0)}" ${more}>${content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`;

  const grid = [1, 10, 100, 1_000, 10_000]
    .filter((times) => times <= most)
    .flatMap((times) => [
      `<path d="M${LEFT} ${y(times).toFixed(1)}H${WIDTH - RIGHT}" stroke="#d0d7de"/>`,
      text(LEFT - 8, y(times) + 4, `${times} ×`, 'text-anchor="end"'),
    ]);
  const series = lines.flatMap(({ name, points }, number) => {
    const colour = COLOURS[number] ?? '#000';
    const path = points.map(
      ({ patients, times }) =>
        `${x(patients).toFixed(1)} ${y(times).toFixed(1)}`,
    );
    const top = TOP + 20 * number;
    return [
      `<path d="M${path.join('L')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      `<path d="M${WIDTH - RIGHT + 16} ${top}h18" stroke="${colour}" stroke-width="2"/>`,
      text(WIDTH - RIGHT + 40, top + 4, name),
    ];
  });
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<title>${TITLE}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    text(LEFT, 20, TITLE, 'font-size="14"'),
    ...grid,
    ...sizes.map((size) =>
      text(
        x(size),
        HEIGHT - 26,
        size.toLocaleString('en-US'),
        'text-anchor="middle"',
      ),
    ),
    text(LEFT, HEIGHT - 8, 'patients in the account'),
    ...series,
    '</svg>',
  ].join('\n')}\n`;
}
