import fc from 'fast-check';
import { describe, expect, test as plain } from 'vitest';
import {
  FrameError,
  framed,
  MllpFrames,
} from '../../../src/exchange/messaging/notifications/mllp/frames.ts';
import { property } from '../../support/property.ts';

const readAll = (chunks: readonly Buffer[], bytesMax = 1_000) => {
  const frames = new MllpFrames(bytesMax);
  return chunks
    .flatMap((chunk) => [...frames.read(chunk)])
    .map((message) => message.toString());
};

/** Texts with the bytes of the frame in them, but without a whole end block. */
const message = fc
  .array(fc.constantFrom('MSH|', 'é', '\r', '\n', '\x1c', '\x0b', 'x'))
  .map((parts) => parts.join('').replaceAll('\x1c\r', ''))
  .filter((text) => !text.includes('\x1c\r'));

describe('messages in MLLP frames', () => {
  property([
    fc.array(message),
    fc.array(fc.nat({ max: 200 })),
    fc.constantFrom('', '\r', '\r\n', '\0', 'keep alive', '\x1c\r'),
  ])(
    'are read as they were sent, wherever their frames are split and joined',
    (messages, cuts, between) => {
      const sent = Buffer.concat(
        messages.flatMap((each) => [framed(each), Buffer.from(between)]),
      );
      const places = [...new Set(cuts)]
        .filter((cut) => cut < sent.length)
        .sort((a, b) => a - b);
      const chunks = [0, ...places].map((from, index) =>
        sent.subarray(from, places[index] ?? sent.length),
      );
      expect(readAll(chunks)).toEqual(messages);
      expect(readAll([...sent].map((byte) => Buffer.of(byte)))).toEqual(
        messages,
      );
    },
  );

  plain('have a bound, whole or not', () => {
    expect(readAll([framed('12345')], 5)).toEqual(['12345']);
    expect(() => readAll([framed('123456')], 5)).toThrow(FrameError);
    expect(() => readAll([Buffer.from('\x0b12345678')], 5)).toThrow(FrameError);
  });

  plain('are never text outside of a frame, of which there is a bound', () => {
    expect(readAll([Buffer.from('GET / HTTP/1.1\r\n')])).toEqual([]);
    const much = Buffer.from('x'.repeat(1_025));
    expect(() => readAll([much])).toThrow(FrameError);
    expect(() => readAll([...much].map((byte) => Buffer.of(byte)))).toThrow(
      FrameError,
    );
  });
});
