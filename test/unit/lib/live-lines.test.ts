import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { fitted, LiveLines } from '../../../src/lib/live-lines.ts';
import { terminalText } from '../../../src/starter/progress/plain-text.ts';

const ESC = String.fromCharCode(27);

/**
 * A screen that understands what LiveLines writes: text, line ends, "up n
 * lines" and "clear to the end".
 */
function screen(size: { columns: number; rows: number }) {
  const lines: string[] = [''];
  let row = 0;
  return {
    ...size,
    isTTY: true,
    write(text: string) {
      for (const part of text.split(new RegExp(`(\n|${ESC}\\[\\d*[A-Za-z])`))) {
        const up = new RegExp(`^${ESC}\\[(\\d+)A$`).exec(part);
        if (up !== null) row -= Number(up[1]);
        else if (part === `${ESC}[0J`) lines.splice(row, lines.length, '');
        else if (part === '\n') {
          row += 1;
          lines[row] ??= '';
        } else if (!part.startsWith(ESC)) lines[row] += part;
      }
    },
    shown: () => lines.slice(0, -1),
  };
}

function file() {
  let text = '';
  return {
    write(more: string) {
      text += more;
    },
    lines: () => text.split('\n').slice(0, -1),
  };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('progress on a terminal', () => {
  test('is drawn over in place', () => {
    const out = screen({ columns: 80, rows: 24 });
    const live = new LiveLines(out);
    live.set('a', ['begun', 'hie running']);
    live.set('b', ['begun']);
    live.set('a', ['waiting', 'hie running', 'lab running']);
    live.set('a', ['done']);
    expect(out.shown()).toEqual(['a  done', 'b  begun', '⠋ 0 s']);
  });

  test('of a finished subject stays above the others', () => {
    const out = screen({ columns: 80, rows: 24 });
    const live = new LiveLines(out);
    live.set('a', ['begun']);
    live.set('b', ['begun', 'hie running']);
    live.finish('b');
    live.set('a', ['waiting']);
    live.print('a word of warning');
    live.set('a', ['done']);
    live.close();
    expect(out.shown()).toEqual([
      'b  begun',
      '  hie running',
      'a word of warning',
      'a  done',
    ]);
  });

  test('never draws more than the screen holds, nor a line that would wrap', () => {
    const out = screen({ columns: 20, rows: 8 });
    const live = new LiveLines(out);
    for (let index = 0; index < 20; index++)
      live.set(`subject ${index}`, ['a text that is far too long']);
    expect(out.shown()).toHaveLength(7);
    expect(out.shown().slice(-2)).toEqual(['… and 15 more lines', '⠋ 0 s']);
    for (const line of out.shown()) expect(line.length).toBeLessThan(20);
  });
});

const DEADLINE = new Date('2026-11-24T09:52:21Z');

test('a spinner lives below the rows, with the elapsed time, what is awaited and until when at the latest', () => {
  const out = screen({ columns: 120, rows: 24 });
  const live = new LiveLines(out);
  live.set(
    'a',
    ['waiting'],
    [{ what: 'hie', until: DEADLINE }, { what: 'lab' }],
  );
  live.set(
    'b',
    ['waiting'],
    [{ what: 'hie', until: new Date('2026-11-23T09:52:21Z') }],
  );
  const awaited =
    'waiting for hie (until 2026-11-24 09:52 UTC at the latest), lab';
  vi.advanceTimersByTime(65_160);
  expect(out.shown().slice(0, -1)).toEqual(['a  waiting', 'b  waiting']);
  expect(out.shown().at(-1)?.slice(1)).toBe(` 1 min 5 s, ${awaited}`);
  const before = out.shown().at(-1);
  vi.advanceTimersByTime(120);
  expect(out.shown().at(-1)?.[0]).not.toBe(before?.[0]);

  live.finish('a');
  live.set('b', ['done']);
  live.close();
  vi.advanceTimersByTime(60_000);
  expect(out.shown()).toEqual(['a  waiting', 'b  done']);
});

test('in a file a line every ten seconds says that the work goes on, until it ends', () => {
  const out = file();
  const live = new LiveLines(out);
  live.set('a', ['waiting'], [{ what: 'hie', until: DEADLINE }]);
  vi.advanceTimersByTime(25_000);
  live.close();
  vi.advanceTimersByTime(60_000);
  expect(out.lines()).toEqual([
    'a: waiting',
    '… 10 s, waiting for hie (until 2026-11-24 09:52 UTC at the latest)',
    '… 20 s, waiting for hie (until 2026-11-24 09:52 UTC at the latest)',
  ]);
});

test('in a file a line stands for each change, with its subject and without colours', () => {
  const out = file();
  const live = new LiveLines(out);
  live.set('a', ['begun', live.colors.red('hie running')]);
  live.set('a', ['begun', 'hie running', 'lab running']);
  live.set('a', ['begun', 'hie running', 'lab done']);
  live.close();
  expect(out.lines()).toEqual([
    'a: begun',
    'a: hie running',
    'a: lab running',
    'a: lab done',
  ]);
});

test('cutting a line keeps its colours whole', () => {
  const line = `${ESC}[31mfailed${ESC}[39m and ${ESC}[2mmore${ESC}[22m`;
  expect(fitted(line, 8)).toBe(
    `${ESC}[31mfailed${ESC}[39m …${ESC}[2m${ESC}[22m`,
  );
  expect(fitted(line, 40)).toBe(line);
});

test('what others wrote cannot steer the terminal', () => {
  expect(
    terminalText(`a${ESC}[2J${ESC}]0;title\u0007 b\r\n\tc \u009b31m`),
  ).not.toMatch(/\p{C}/u);
  expect(terminalText(`one\ntwo`)).toBe('one two');
  expect(terminalText('x'.repeat(5_000))).toHaveLength(500);
});
