import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const TEST = fileURLToPath(new URL('../../', import.meta.url));
/**
 * What takes a second alone took more than a minute at the lowest priority
 * beside other work. A wait ends when its condition holds, so a long bound
 * costs nothing.
 */
const BOUND_MS = 240_000;
/** A limit of one of our own calls below this is what the test is about. */
const MEANT_MS = 1_000;
/**
 * `vi.waitFor` gives up after a second unless it is told otherwise;
 * `expect.poll` has its bound from vitest.config.ts.
 */
const WAIT = /\bvi\.waitFor\(/g;
const BOUND =
  /\b(?:(timeout|timeoutMs|withinMs)(?:: | = | \?\? )|AbortSignal\.timeout\()([\d_]+)/g;

const files = readdirSync(TEST, { recursive: true, encoding: 'utf8' })
  .filter(
    (file) => file.endsWith('.ts') && !/^(?:foreign|conformance)\b/.test(file),
  )
  .filter((file) => join(TEST, file) !== fileURLToPath(import.meta.url));

/** The text between the bracket before `from` and the one that closes it. */
function withinBrackets(text: string, from: number): string {
  let depth = 1;
  let at = from;
  for (; at < text.length && depth > 0; at++)
    depth += { '(': 1, ')': -1 }[text[at] ?? ''] ?? 0;
  return text.slice(from, at - 1);
}

/**
 * Whether the last argument of a wait is a bound: a number, or options that are
 * written or named.
 */
const isBounded = (args: string) =>
  /(?:\btimeout: [\w.]+[^(]*\}|,\s+[A-Z_]+|,\s+[\d_]+),?\s*$/.test(args);

/**
 * Bounds of waits that are shorter than they may be, one for a whole file (it
 * begins when the file is loaded), and waits without one.
 */
function shortWaits(text: string): string[] {
  const bounds = [...text.matchAll(BOUND)].filter(([, name, digits = '']) => {
    const boundMs = Number(digits.replaceAll('_', ''));
    return boundMs < BOUND_MS && (name === 'timeout' || boundMs >= MEANT_MS);
  });
  const begunAtLoad =
    text.match(/^(?:export )?const .*AbortSignal\.timeout\(.*$/gm) ?? [];
  const waits = [...text.matchAll(WAIT)].map(({ index }) =>
    withinBrackets(text, index + 'vi.waitFor('.length),
  );
  const bare = waits.filter((args) => {
    const [, digits] = /,\s+([\d_]+),?\s*$/.exec(args) ?? [];
    return (
      !isBounded(args) ||
      (digits !== undefined && Number(digits.replaceAll('_', '')) < BOUND_MS)
    );
  });
  return [
    ...bounds.map(([bound]) => bound),
    ...begunAtLoad,
    ...bare.map((args) => args.trim().slice(0, 80)),
  ];
}

test('no wait of a test gives up in less than four minutes', () => {
  const found = files.flatMap((file) =>
    shortWaits(readFileSync(join(TEST, file), 'utf8')).map(
      (wait) => `test/${file}: ${wait}`,
    ),
  );
  expect(found).toEqual([]);
});

/** Limits that tests and hooks have as their last argument. */
function ownLimits(text: string): string[] {
  /** By indentation: the latest line that begins something. */
  const began = new Map<string, string>();
  return text.split('\n').flatMap((line) => {
    const [, indent = '', code = ''] = /^( *)(.*)$/.exec(line) ?? [];
    const isLastLine = /^\}, [\d_]+\);$/.test(code);
    const isOwnLine = /^[\d_]+,$/.test(code);
    const call = began.get(isOwnLine ? indent.slice(2) : indent) ?? '';
    if (!/^[})]/.test(code)) began.set(indent, code);
    return (isLastLine || isOwnLine) && /^(?:test|before|after)/.test(call)
      ? [code]
      : [];
  });
}

test('no test has a limit of its own, which a busy machine meets before that of vitest.config.ts', () => {
  const found = files.flatMap((file) =>
    ownLimits(readFileSync(join(TEST, file), 'utf8')).map(
      (limit) => `test/${file}: ${limit}`,
    ),
  );
  expect(found).toEqual([]);
  expect(
    ownLimits("test('a', async () => {\n  b();\n}, 240_000);\n"),
  ).toHaveLength(1);
  expect(
    ownLimits("  test('a', async () => {\n    b();\n  }, 240_000);\n"),
  ).toHaveLength(1);
  expect(
    ownLimits("test.each([1])(\n  'a',\n  async () => {},\n  240_000,\n);\n"),
  ).toHaveLength(1);
});

test('no test cancels after a time: what it cancels may not have begun', () => {
  const found = files.filter((file) =>
    /setTimeout\(\(\) => \w+\.(?:abort|cancel)\(/.test(
      readFileSync(join(TEST, file), 'utf8'),
    ),
  );
  expect(found).toEqual([]);
});

test.each([
  ['await vi.waitFor(() => expect(a(b)).toBe(1));', 1],
  ['await vi.waitFor(() => expect(a).toBe(1), 5_000);', 1],
  [
    'await vi.waitFor(\n async () => { x(); },\n { timeout: 5_000, interval: 20 },\n);',
    1,
  ],
  ['await expect.poll(a, { timeout: 20_000 }).toBe(1);', 1],
  ['createClient({ baseUrl, timeoutMs: 5_000 });', 1],
  ['async function until(check, { withinMs = 15_000 } = {}) {}', 1],
  ['AbortSignal.timeout(options.timeoutMs ?? 20_000)', 1],
  ['  await download(name, AbortSignal.timeout(60_000));', 1],
  ['const signal = AbortSignal.timeout(240_000);', 1],
  ['  await request(url, { signal: AbortSignal.timeout(200) });', 0],
  ['expect(await failureOf(start({ timeoutMs: 300 }))).toBe(1);', 0],
  ['await expect.poll(a).toBe(1);', 0],
  ['await vi.waitFor(() => expect(a(b)).toBe(1), 240_000);', 0],
  ['await vi.waitFor(() => a(), WAIT);', 0],
  ['await vi.waitFor(() => a(), {\n timeout: 240_000,\n interval: 20,\n});', 0],
])('%j has %i of them', (text, count) => {
  expect(shortWaits(text)).toHaveLength(count);
});
