import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutLines } from '../../../src/exchange/sources/connectors/collect/async-job.ts';
import { property } from '../../support/property.ts';

async function* inParts(
  bytes: Buffer,
  sizeBytes: number,
): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += sizeBytes)
    yield bytes.subarray(start, start + sizeBytes);
}

const line = fc.oneof(
  fc.constant(''),
  fc.constant('  '),
  fc.string({ maxLength: 12, unit: 'grapheme' }).map(JSON.stringify),
);

property({
  lines: fc.array(line, { maxLength: 20 }),
  endsWithNewline: fc.boolean(),
  linesMax: fc.integer({ min: 1, max: 5 }),
  partBytes: fc.integer({ min: 1, max: 40 }),
})(
  'however a file arrives, its pages hold each line once, and any page can be gone on after',
  async (given) => {
    const { lines, linesMax, partBytes } = given;
    const file = Buffer.from(
      lines.join('\n') + (given.endsWithNewline ? '\n' : ''),
    );
    const wanted = lines.filter((text) => text.trim() !== '');
    const read = async (offsetBytes: number) => {
      const groups: string[][] = [];
      const ends: number[] = [];
      let lasts = 0;
      for await (const cut of cutLines(inParts(file, partBytes), {
        linesMax,
        bytesMax: 1_000,
        offsetBytes,
      })) {
        if (cut.kind !== 'lines') throw new Error(cut.kind);
        groups.push(cut.lines.map((part) => part.toString().trim()));
        ends.push(cut.endBytes);
        if (cut.isLast) lasts += 1;
      }
      expect(lasts).toBe(1);
      return { groups, ends };
    };
    const { groups, ends } = await read(0);
    expect(groups.flat()).toEqual(wanted);
    expect(groups.every((group) => group.length <= linesMax)).toBe(true);
    for (const [index, end] of ends.entries()) {
      expect((await read(end)).groups.flat()).toEqual(
        groups.slice(index + 1).flat(),
      );
    }
  },
);

test('a file that became shorter is noticed', async () => {
  const cuts = [];
  const limits = { linesMax: 5, bytesMax: 100, offsetBytes: 50 };
  for await (const cut of cutLines(inParts(Buffer.from('{}\n'), 10), limits))
    cuts.push(cut.kind);
  expect(cuts).toEqual(['too-short']);
});
