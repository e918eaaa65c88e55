import { describe, expect, test } from 'vitest';
import {
  parseHl7,
  parseHl7Time,
  readHl7,
  UnreadableMessageError,
} from '#hl7v2-to-fhir';
import {
  ACCEPTED,
  acknowledgement,
  acknowledgementsAsked,
  refusedFor,
} from '../../../src/exchange/messaging/notifications/hl7v2/acknowledge.ts';

/** Field by field, for nobody counts bars. */
const segment = (name: string, fields: Record<number, string>) =>
  [
    name,
    ...Array.from({ length: 50 }, (_, index) => fields[index + 1] ?? ''),
  ].join('|');
const PV1 = segment('PV1', {
  1: '1',
  2: 'I',
  3: '5E^512^A^MERCY',
  6: 'ER^1',
  19: 'V100^^^MERCY',
  36: '01',
  44: '20260429',
  45: '20260501082000',
});
const ZONE = 'America/New_York';
const lines = (
  changes: Partial<Record<'MSH' | 'EVN' | 'PID' | 'PV1' | 'MRG', string>> = {},
) =>
  Object.values({
    MSH: 'MSH|^~\\&|ADT|MERCY|EXCHANGE|HUB|20260501083000-0500||ADT^A03^ADT_A03|M-1|P|2.5.1',
    EVN: 'EVN||20260501082900|||op1|20260501082500',
    PID: 'PID|1||77^^^MERCY^MR~1^^^STATE^XX||O\\T\\Brien^Mary^Ann^^^^L~Maiden^Mary||19700203|F|||5 Elm\\F\\St^Apt 2^Boston^MA^02108-1234^USA||6175550100|||||ACC9',
    PV1,
    ...changes,
  });
const message = (changes?: Parameters<typeof lines>[0], end = '\r') =>
  Buffer.from(lines(changes).filter(Boolean).join(end));
const read = (changes?: Parameters<typeof lines>[0]) =>
  readHl7(parseHl7(message(changes)), ZONE);
function refusalOf(
  changes: Parameters<typeof lines>[0],
): UnreadableMessageError {
  try {
    read(changes);
  } catch (error) {
    if (error instanceof UnreadableMessageError) return error;
    throw error;
  }
  throw new Error('it was taken');
}

describe('an ADT message', () => {
  test('is read: whose, which stay, what happened, when it was recorded and when it happened', () => {
    const inbound = read();
    expect(inbound).toMatchObject({
      messageId: '["ADT","MERCY","M-1"]',
      trigger: 'A03',
      sentAt: '2026-05-01T13:30:00.000Z',
      recordedAt: '2026-05-01T13:29:00.000Z',
      sourcePatientId: '77^MERCY',
    });
    expect(inbound.content).toMatchObject({
      kind: 'encounter',
      sourceId: 'V100^MERCY',
      event: {
        trigger: 'discharge',
        occurredAt: '2026-05-01T13:25:00.000Z',
        admittedAt: '2026-04-29T05:00:00.000Z',
        dischargedAt: '2026-05-01T13:20:00.000Z',
        encounterClass: 'IMP',
        location: '5E-512-A, MERCY',
        priorLocation: 'ER-1',
        disposition: '01',
        written: { '2026-04-29T05:00:00.000Z': '2026-04-29' },
      },
    });
    expect(inbound.person).toMatchObject({
      name: [
        { family: 'O&Brien', given: ['Mary', 'Ann'] },
        { family: 'Maiden', given: ['Mary'] },
      ],
      birthDate: '1970-02-03',
      gender: 'female',
      address: [{ line: ['5 Elm|St', 'Apt 2'], postalCode: '02108-1234' }],
    });
  });

  test.each(['\r', '\n', '\r\n'])('may end its segments in %j', (end) => {
    expect(readHl7(parseHl7(message({}, end)), ZONE).content.kind).toBe(
      'encounter',
    );
  });

  test('may come in its frame, with a byte order mark, in UTF-8 or Latin-1', () => {
    const text = lines().join('\r').replace('Mary^Ann', 'Zoë');
    const framed = Buffer.concat([
      Buffer.from([0x0b]),
      Buffer.from(text),
      Buffer.from([0x1c, 0x0d]),
    ]);
    for (const bytes of [
      framed,
      Buffer.from(`\uFEFF${text}`),
      Buffer.from(text, 'latin1'),
    ])
      expect(readHl7(parseHl7(bytes), ZONE).person.name?.[0]?.given).toEqual([
        'Zoë',
      ]);
  });

  test.each([
    ['8859/1', 'Zo\u00eb', [0x5a, 0x6f, 0xeb]],
    ['ISO-8859-1', '\u2019', [0x92]],
    ['8859/2', '\u0141', [0xa3]],
    ['8859/15', '\u20ac', [0xa4]],
    ['Windows-1252', '\u2019\u20ac', [0x92, 0x80]],
    ['', '\u2019', [0x92]],
    ['ASCII', 'Zo\u00eb', [0x5a, 0x6f, 0xc3, 0xab]],
    ['UNICODE UTF-8', 'Zo\u00eb', [0x5a, 0x6f, 0xc3, 0xab]],
    ['8859/1~8859/15', '\u00a4', [0xa4]],
  ])(
    'is read in the character set that MSH-18 names: %s',
    (charset, name, bytes) => {
      const text = lines({ MSH: `${lines()[0]}||||||${charset}` }).join('\r');
      const [before, after] = text.split('Mary^Ann');
      const whole = Buffer.concat([
        Buffer.from(`${before}`),
        Buffer.from(bytes),
        Buffer.from(`${after}`),
      ]);
      for (const framed of [
        whole,
        Buffer.concat([Buffer.of(0x0b), whole, Buffer.of(0x1c, 0x0d)]),
      ])
        expect(readHl7(parseHl7(framed), ZONE).person.name?.[0]?.given).toEqual(
          [name],
        );
    },
  );

  test.each([
    ['KOI-7', Buffer.from('Zoe')],
    ['8859/12', Buffer.from('Zoe')],
    ['8859/1~ISO IR87', Buffer.from('Zoe')],
    ['UNICODE UTF-8', Buffer.of(0x5a, 0xeb)],
  ])(
    'in a character set that cannot be read (%s) is refused, and answered',
    (charset, bytes) => {
      const text = lines({ MSH: `${lines()[0]}||||||${charset}` }).join('\r');
      const [before, after] = text.split('Mary^Ann');
      const parsed = parseHl7(
        Buffer.concat([
          Buffer.from(`${before}`),
          bytes,
          Buffer.from(`${after}`),
        ]),
      );
      expect(() => readHl7(parsed, ZONE)).toThrow(
        expect.objectContaining({ kind: 'invalid', place: 'MSH-18' }),
      );
      expect(acknowledgement(parsed, REFUSED)).toContain('MSA|AE|M-1');
    },
  );

  test('in UTF-8 with a byte order mark is read as such, whatever MSH-18 says', () => {
    const text = lines({ MSH: `${lines()[0]}||||||8859/1` })
      .join('\r')
      .replace('Mary^Ann', 'Zo\u00eb');
    expect(
      readHl7(parseHl7(Buffer.from(`\uFEFF${text}`)), ZONE).person.name?.[0]
        ?.given,
    ).toEqual(['Zo\u00eb']);
  });

  test('that was begun anew within its frame is the one that was written in full', () => {
    const broken = `${lines({ MSH: lines()[0]?.replace('M-1', 'M-0') })
      .join('\r')
      .slice(0, 150)}`;
    const bytes = Buffer.from(
      `\u000b${broken}\u000b${lines().join('\r')}\u001c\r`,
    );
    expect(readHl7(parseHl7(bytes), ZONE)).toMatchObject({
      messageId: expect.stringContaining('"M-1"'),
      sourcePatientId: '77^MERCY',
    });
    // A vertical tab within a text begins nothing.
    const PID = `${lines()[2]}`.replace('5 Elm', '5\u000bElm');
    expect(read({ PID }).messageId).toContain('"M-1"');
  });

  test.each([
    ['Pt s\\p CABG c\\o pain \\T\\ fever', 'Pt s\\p CABG c\\o pain & fever'],
    ['C:\\data\\x', 'C:\\data\\x'],
    ['a\\.br\\b\\.sp2\\c\\.in+4\\d', 'a\nb\nc' + 'd'],
    ['\\H\\high\\N\\ \\Z01\\ \\C2842\\', 'high \\Z01\\ \\C2842\\'],
    ['caf\\XE9\\ caf\\XC3A9\\ \\XZZ\\', 'caf\u00e9 caf\u00e9 \\XZZ\\'],
    ['\\E\\F\\E\\', '\\F\\'],
    ['half\\', 'half\\'],
  ])('loses no text to a backslash: %j', (sent, read_) => {
    const message_ = parseHl7(message({ PID: `PID|1||${sent}` }));
    expect(message_.segment('PID')?.texts(3)).toEqual([read_]);
  });

  test('is read without the character U+0000, which no table holds', () => {
    const PV1 = segment('PV1', { 3: 'W\\X00\\1\0', 19: 'V1' });
    expect(read({ PV1 }).content).toMatchObject({ event: { location: 'W1' } });
  });

  test('may have separators of its own', () => {
    const bytes = Buffer.from(
      lines().join('\r').replaceAll('|', '#').replaceAll('^', '*'),
    );
    expect(readHl7(parseHl7(bytes), ZONE)).toMatchObject({
      messageId: expect.stringContaining('"M-1"'),
      content: { sourceId: 'V100^MERCY' },
    });
  });

  test('without a visit number is known by its account number, and without either refused', () => {
    expect(read({ PV1: 'PV1|1|E' }).content).toMatchObject({
      sourceId: 'ACC9^@MERCY',
    });
    expect(refusalOf({ PV1: 'PV1|1|E', PID: 'PID|1||77' })).toMatchObject({
      kind: 'invalid',
      place: 'PV1-19',
    });
  });

  test.each(['A30', 'A34', 'A36', 'A39', 'A40', 'A47'])(
    'that merges two records names both: %s',
    (event) => {
      const inbound = read({
        MSH: lines()[0]?.replace('A03^ADT_A03', event),
        PV1: '',
        MRG: 'MRG|66^^^MERCY^MR',
      });
      expect(inbound.content).toEqual({
        kind: 'merge',
        priorPatientId: '66^MERCY',
        sourcePatientId: '77^MERCY',
      });
    },
  );

  test.each<[string, Parameters<typeof lines>[0], string, string]>([
    [
      'repetitions',
      { PID: `PID|1||77||${'A^B~'.repeat(100)}A^B` },
      'PID-5',
      '100 repetitions of a field',
    ],
    [
      'characters',
      { PID: `PID|1||77||A${'^'.repeat(100_000)}` },
      'PID',
      '100000 characters of a segment',
    ],
    [
      'segments',
      { PV1: `${PV1}${'\rNTE|1'.repeat(1_000)}` },
      'MSH',
      '1000 segments of a message',
    ],
  ])(
    'with too many %s is refused by name of the place, and answered',
    (_, changes, place, limit) => {
      const refusal = refusalOf(changes);
      expect(refusal).toMatchObject({
        kind: 'invalid',
        place,
        message: `At most ${limit} are accepted`,
      });
      expect(
        acknowledgement(parseHl7(message(changes)), refusedFor(refusal)),
      ).toContain('MSA|AE|M-1');
    },
  );

  test('may hold a long segment that is not read, and a header that repeats what it likes is answered', () => {
    expect(
      read({ PV1: `OBX|1|ED|${'x'.repeat(500_000)}\r${PV1}` }).messageId,
    ).toContain('"M-1"');
    const MSH = lines()[0]?.replace('ADT^A03', `ADT^A03${'~x'.repeat(200)}`);
    expect(acknowledgement(parseHl7(message({ MSH })), REFUSED)).toContain(
      'MSA|AE|M-1',
    );
  });

  test('of another kind, for training, or without what it needs is refused by name of the place', () => {
    const header = lines()[0] ?? '';
    expect(refusalOf({ MSH: header.replace('A03', 'A09') })).toMatchObject({
      kind: 'unsupported',
      place: 'MSH-9',
    });
    expect(
      refusalOf({ MSH: header.replace('ADT^A03', 'BAR^P01') }),
    ).toMatchObject({ kind: 'unsupported' });
    expect(refusalOf({ MSH: header.replace('|P|', '|T|') })).toMatchObject({
      kind: 'unsupported',
      place: 'MSH-11',
    });
    expect(refusalOf({ MSH: header.replace('|M-1|', '||') })).toMatchObject({
      kind: 'invalid',
      place: 'MSH-10',
    });
    expect(refusalOf({ PID: '' })).toMatchObject({
      kind: 'invalid',
      place: 'PID',
    });
    for (const text of [
      '',
      'hello',
      'PID|1',
      `${lines().join('\r')}\r${lines().join('\r')}`,
    ])
      expect(() => parseHl7(Buffer.from(text)), text.slice(0, 9)).toThrow(
        UnreadableMessageError,
      );
  });
});

const REFUSED = refusedFor(
  new UnreadableMessageError('invalid', 'PID is required', 'PID'),
);

describe('the acknowledgement', () => {
  test('repeats no more of the header than the standard allows', () => {
    const long = 'A'.repeat(5_000);
    const header = `MSH|^~\\&${long}|${long}|${long}|${long}|${long}|20260501||ADT^A01${long}|${long}|${long}|${long}`;
    const ack = acknowledgement(parseHl7(Buffer.from(header)), REFUSED);
    expect(ack.length).toBeLessThan(1_500);
    expect(ack).toMatch(/^MSH\|\^~\\&A\|/);
  });

  test('repeats the control id and turns sender and receiver round', () => {
    const segments = acknowledgement(parseHl7(message()), ACCEPTED).split('\r');
    expect(segments[0]).toMatch(
      /^MSH\|\^~\\&\|EXCHANGE\|HUB\|ADT\|MERCY\|\d{14}\+0000\|\|ACK\^A03\^ACK\|\w{20}\|P\|2\.5\.1$/,
    );
    expect(segments.slice(1)).toEqual(['MSA|AA|M-1', '']);
  });

  test('says what is wrong and where, and nothing of the person', () => {
    const problem = refusalOf({
      PV1: 'PV1|1|E',
      PID: lines()[2]?.replace('ACC9', ''),
    });
    const ack = acknowledgement(parseHl7(message()), refusedFor(problem));
    expect(ack).toContain(
      'MSA|AE|M-1\rERR||PV1^1^19|101^Required field missing^HL70357|E||||PV1-19 is required: the visit number',
    );
    expect(ack).not.toMatch(/Mary|19700203|02108/);
  });
});

describe('a time', () => {
  const utc = (text: string, offset?: string) =>
    parseHl7Time(text, { zone: ZONE, offset });

  test('is read by its own offset, else the message’s, else the sender’s zone, summer and winter', () => {
    expect(utc('20260701120000.1234+0200', '-0800')).toBe(
      '2026-07-01T10:00:00.123Z',
    );
    expect(utc('202607011200', '-0800')).toBe('2026-07-01T20:00:00.000Z');
    expect(utc('202607011200')).toBe('2026-07-01T16:00:00.000Z');
    expect(utc('2026011512')).toBe('2026-01-15T17:00:00.000Z');
    expect(utc('20260115')).toBe('2026-01-15T05:00:00.000Z');
  });

  test('is one and the same where clocks change', () => {
    expect(utc('20261101013000')).toBe('2026-11-01T05:30:00.000Z');
    expect(utc('20261101023000')).toBe('2026-11-01T07:30:00.000Z');
    expect(utc('20260308013000')).toBe('2026-03-08T06:30:00.000Z');
    expect(utc('20260308033000')).toBe('2026-03-08T07:30:00.000Z');
  });

  test('that no clock showed in spring is an hour later, never before what came before it', () => {
    expect(utc('20260308020000')).toBe('2026-03-08T07:00:00.000Z');
    expect(utc('20260308023000')).toBe('2026-03-08T07:30:00.000Z');
    const skipped = [
      ['Europe/Berlin', '20260329', 3 * 60],
      ['America/New_York', '20260308', 3 * 60],
      ['Australia/Lord_Howe', '20261004', 2 * 60 + 30],
      ['America/Havana', '20260308', 60],
    ] as const;
    for (const [zone, day, until] of skipped) {
      const times = Array.from({ length: until }, (_, minute) => {
        const clock = [Math.floor(minute / 60), minute % 60].map((part) =>
          String(part).padStart(2, '0'),
        );
        return Date.parse(
          parseHl7Time(`${day}${clock.join('')}`, { zone }) ?? '',
        );
      });
      expect(times, zone).toEqual(
        times.map((_, minute) => (times[0] ?? 0) + minute * 60_000),
      );
    }
  });

  test.each([
    '',
    '2026',
    '20260231',
    '20261301',
    '2026-05-01',
    '20260501 1200',
    '00000101',
    '99991231235959-1200',
    '202605011200+9999',
    '202605011200+1500',
    '202605011200-0060',
  ])('%j is none', (text) => {
    expect(utc(text)).toBeUndefined();
  });

  test.each([
    ['2.1', 'ACK', 'MSA|AE|M-1|PV1-19 \\T\\ more', 'ERR|PV1^1^19^101'],
    [
      '2.3',
      'ACK^A03',
      'MSA|AE|M-1|PV1-19 \\T\\ more',
      'ERR|PV1^1^19^101&Required field missing&HL70357',
    ],
    [
      '2.4',
      'ACK^A03^ACK',
      'MSA|AE|M-1|PV1-19 \\T\\ more',
      'ERR|PV1^1^19^101&Required field missing&HL70357',
    ],
    [
      '2.7',
      'ACK^A03^ACK',
      'MSA|AE|M-1',
      'ERR||PV1^1^19|101^Required field missing^HL70357|E||||PV1-19 \\T\\ more',
    ],
  ])('has the forms of version %s', (version, type, msa, err) => {
    const MSH = lines()[0]?.replace('2.5.1', version);
    const problem = new UnreadableMessageError(
      'invalid',
      'PV1-19 & more',
      'PV1-19',
    );
    const [msh, ...others] = acknowledgement(
      parseHl7(message({ MSH })),
      refusedFor(problem),
    ).split('\r');
    expect(msh?.split('|').at(8)).toBe(type);
    expect(msh?.split('|').at(11)).toBe(version);
    expect(others).toEqual([msa, err, '']);
  });

  test.each([
    ['', '', ['AA'], ['AE']],
    ['AL', 'NE', ['CA'], ['CE']],
    ['AL', 'AL', ['CA', 'AA'], ['CE']],
    ['NE', 'AL', ['AA'], ['AE']],
    ['ER', 'AL', ['AA'], ['CE']],
    ['SU', 'ER', ['CA'], ['AE']],
    ['NE', 'NE', [], []],
    ['', 'AL', ['AA'], ['AE']],
  ])(
    'is what MSH-15 %s and MSH-16 %s ask for',
    (accept, application, ofAccepted, ofRefused) => {
      const MSH = `${lines()[0]}|||${accept}|${application}`;
      const codesOf = (outcome: typeof REFUSED) =>
        acknowledgementsAsked(parseHl7(message({ MSH })), outcome).map(
          (ack) => /\rMSA\|(\w\w)\|M-1/.exec(ack)?.[1],
        );
      expect(codesOf(ACCEPTED)).toEqual(ofAccepted);
      expect(codesOf(REFUSED)).toEqual(ofRefused);
    },
  );
});
