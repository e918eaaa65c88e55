import { withoutFrame } from './text.ts';

/**
 * The messages of a body or frame. A batch (FHS, BHS, any number of messages, BTS, FTS) is taken apart, and so are messages
 * that follow each other without one. Segments begin with the same bytes in every supported character set.
 */
export function messagesIn(bytes: Buffer): Buffer[] {
  const framed = withoutFrame(bytes);
  const text = framed.toString('latin1');
  const starts = [...text.matchAll(/(?<=^|[\r\n])MSH(?=[^\w\s])/g)].map(({ index }) => index);
  const isBatch = /^(?:FHS|BHS)[^\w\s]/.test(text);
  if (starts.length === 0 || (starts.length === 1 && !isBatch)) return [bytes];
  return starts.map((start, nth) => {
    const message = text.slice(start, starts[nth + 1]);
    const trailer = message.search(/[\r\n]+(?:BTS|FTS|BHS)(?:[^\w\s]|[\r\n]|$)/);
    return framed.subarray(start, start + (trailer < 0 ? message.length : trailer));
  });
}

/** The answer to a batch is a batch of acknowledgements, in the order of its messages. */
export const batchOf = (acknowledgements: readonly string[]): string =>
  acknowledgements.length === 1
    ? acknowledgements.join('')
    : `BHS|^~\\&\r${acknowledgements.join('')}BTS|${acknowledgements.length}\r`;
