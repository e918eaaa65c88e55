import { describe, expect, test } from 'vitest';
import {
  acceptHl7,
  parseHl7,
  readHl7,
  UnreadableMessageError,
} from '../src/index.ts';

const messageOf = (type: string, ...segments: string[]) =>
  parseHl7(
    Buffer.from(
      [
        `MSH|^~\\&|LAB|ACME|HUB|X|20261120090000+0000||${type}|m-1|P|2.5.1`,
        'PID|||R1^^^ACME^MR||Li^Wei||19800405|F|||1 Main St^^Boston^MA^02108',
        ...segments,
      ].join('\r'),
    ),
  );
const OBR = 'OBR|1||F-1^ACME|51990-0^Panel^LN|||202611200800+0000';
const refusalOf = (type: string, ...segments: string[]) => {
  try {
    acceptHl7(messageOf(type, ...segments), 'UTC');
  } catch (error) {
    if (error instanceof UnreadableMessageError) return error;
  }
  return undefined;
};

describe('a message that would not be recorded in full is refused by name of the place', () => {
  test.each([
    ['OBR', 'a line that is no segment', [OBR, 'Mass of 4 cm']],
    ['OBZ', 'a segment that there is not', [OBR, 'OBZ|1']],
    [
      'OBX',
      'a line behind the last field of a text',
      [OBR, 'OBX|1|TX|1^T^L||a||||||F', 'and more'],
    ],
    ['OBX-6', 'a unit that is cut', [OBR, 'OBX|1|NM|1^T^L||5|10^g/L']],
    ['OBR-3', 'a counter', [OBR.replace('F-1', '1.23457E+11')]],
    ['OBR-3', 'a number that is cut', [OBR.replace('F-1', 'F&1')]],
  ])('%s: %s', (place, _, segments) => {
    expect(refusalOf('ORU^R01', ...segments)).toMatchObject({
      kind: 'invalid',
      place,
    });
    // What was accepted before stays readable.
    expect(() =>
      readHl7(messageOf('ORU^R01', ...segments), 'UTC'),
    ).not.toThrow();
  });

  test('a reaction to nothing that is named', () => {
    expect(
      refusalOf('ADT^A28', 'EVN||20261120', 'AL1|1|DA||SV|Hives'),
    ).toMatchObject({ place: 'AL1-3' });
  });
});

test('a message that describes a person is accepted without a visit number', () => {
  const parsed = messageOf(
    'ADT^A28',
    'EVN||20261120',
    'PV1|1|N',
    'AL1|1|DA|7980^Penicillin^RXNORM',
  );
  const { message, reported } = acceptHl7(parsed, 'UTC');
  expect(message.content).toMatchObject({ kind: 'person' });
  expect(reported).toHaveLength(1);
});

test('what cannot be understood is counted, not left out in silence', () => {
  const { message } = acceptHl7(
    messageOf(
      'RDE^O11',
      'ORC|NW|O-1',
      'TQ1|1||||||20261399',
      'RXE||1^T^L|1 or 2||TAB||Take 1 or 2',
    ),
    'UTC',
  );
  expect(message.unused).toEqual([
    'RXE-3 not understood',
    'RXE-5',
    'TQ1-7 not understood',
  ]);
});
