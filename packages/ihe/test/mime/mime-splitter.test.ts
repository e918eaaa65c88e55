import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { IheError } from '../../src/ihe-error.ts';
import { type MimeEvent, MimeSplitter } from '../../src/mime/mime-splitter.ts';
import type { PartHeaders } from '../../src/mime/part-headers.ts';

interface Part {
  headers: PartHeaders;
  text: string;
  isComplete?: boolean;
}

/** Splits a message that arrives in chunks of a size. */
function split(
  message: Buffer,
  boundary?: string,
  size = message.length,
): Part[] {
  const splitter = new MimeSplitter(boundary);
  const parts: Part[] = [];
  const take = (events: Iterable<MimeEvent>) => {
    for (const event of events) {
      const last = parts.at(-1);
      if (event.kind === 'headers')
        parts.push({ headers: event.headers, text: '' });
      else if (last === undefined) throw new Error('No part has begun.');
      else if (event.kind === 'bytes')
        last.text += event.bytes.toString('latin1');
      else last.isComplete = event.isComplete;
    }
  };
  for (let at = 0; at < message.length; at += Math.max(size, 1))
    take(splitter.push(message.subarray(at, at + size)));
  take(splitter.end());
  return parts;
}

const textsOf = (parts: readonly Part[]) => parts.map(({ text }) => text);

describe('splitting a multipart message', () => {
  const anyBoundary = fc.constantFrom('b', 'uuid:1-2', "a'()+_,-./:=?", '--');
  const anyPart = fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    fc
      .array(
        fc.constantFrom(
          '\r',
          '\n',
          '-',
          '--',
          '--b',
          '\n--b',
          'x',
          ' ',
          '--b--x',
        ),
      )
      .map((words) => Buffer.from(words.join(''))),
  );

  test('parts have exactly the bytes that were written, in any chunks', () => {
    fc.assert(
      fc.property(
        anyBoundary,
        fc.array(anyPart, { minLength: 1, maxLength: 4 }),
        fc.constantFrom('\r\n', '\n'),
        fc.constantFrom('', ' ', '\t '),
        fc.constantFrom('', 'preamble', 'preamble\r\n'),
        fc.integer({ min: 1, max: 30 }),
        (boundary, bodies, lineEnd, padding, preamble, size) => {
          const line = `--${boundary}`;
          // A part may not hold a line that is its boundary.
          fc.pre(
            bodies.every(
              (body) => !`\n${body.toString('latin1')}`.includes(`\n${line}`),
            ),
          );
          const message = Buffer.concat([
            Buffer.from(preamble === '' ? '' : `${preamble}${lineEnd}`),
            ...bodies.flatMap((body) => [
              Buffer.from(
                `${line}${padding}${lineEnd}A: b${lineEnd}${lineEnd}`,
              ),
              body,
              Buffer.from(lineEnd),
            ]),
            Buffer.from(`${line}--${padding}${lineEnd}epilogue`),
          ]);
          // With LF, a return at the end of a part cannot be told from CRLF.
          fc.pre(
            lineEnd === '\r\n' || bodies.every((body) => body.at(-1) !== 13),
          );
          const parts = split(message, boundary, size);
          expect(textsOf(parts)).toEqual(
            bodies.map((body) => body.toString('latin1')),
          );
          expect(parts.every(({ isComplete }) => isComplete)).toBe(true);
        },
      ),
      { numRuns: 400 },
    );
  });

  test('a part that is multipart itself, with a longer boundary, is one part', () => {
    const inner = '--bb\r\n\r\ninner\r\n--bb--';
    const message = `--b\r\n\r\n${inner}\r\n--b--`;
    expect(textsOf(split(Buffer.from(message), 'b'))).toEqual([inner]);
  });

  test('a boundary other than the announced one is taken at its word', () => {
    const message = Buffer.from('\r\n--used \r\nA: b\r\n\r\nx\r\n--used--\r\n');
    for (const announced of ['announced', undefined])
      for (const size of [1, 1_000])
        expect(textsOf(split(message, announced, size))).toEqual(['x']);
  });

  test('without the closing boundary, the last part is said to be incomplete', () => {
    const message = '--b\r\n\r\none\r\n--b\r\n\r\nhalf of tw';
    expect(split(Buffer.from(message), 'b')).toMatchObject([
      { text: 'one', isComplete: true },
      { text: 'half of tw', isComplete: false },
    ]);
  });

  test('headers are unfolded, and their names have no case', () => {
    const message =
      '--b\nCONTENT-type: a/b;\n  c=d \nContent-ID: <x> \n\nbody\n--b--';
    expect(split(Buffer.from(message), 'b')[0]?.headers).toEqual({
      'content-type': 'a/b; c=d',
      'content-id': '<x>',
    });
  });

  test.each([
    ['no boundary at all', 'no part in here', undefined],
    ['another boundary after a preamble', 'preamble\r\n--c\r\n\r\nx', 'b'],
    ['headers without an end', `--b\r\n${'A: b\r\n'.repeat(20_000)}`, 'b'],
  ])('%s is refused', (_, message, boundary) => {
    expect(() => split(Buffer.from(message), boundary, 1_000)).toThrow(
      IheError,
    );
  });
});
