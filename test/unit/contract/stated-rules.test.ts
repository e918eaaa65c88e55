import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { endpoints } from '../../../src/contract/endpoints.ts';
import { EXAMPLES } from '../../../src/exchange/platform/http/openapi/examples.ts';

type Json = { [word: string]: unknown };

/**
 * Whether the published schema lets a value through, by those words of JSON
 * Schema that the contract uses for its rules.
 */
function passes(schema: Json, value: unknown, root: Json): boolean {
  if (typeof schema.$ref === 'string')
    return passes(
      (root.$defs as Record<string, Json>)[
        schema.$ref.replace('#/$defs/', '')
      ] ?? {},
      value,
      root,
    );
  const all = (word: string) => (schema[word] as Json[] | undefined) ?? [];
  const ok = (inner: unknown, item: unknown) =>
    passes(inner as Json, item, root);
  if (schema.anyOf && !all('anyOf').some((one) => ok(one, value))) return false;
  if (schema.oneOf && all('oneOf').filter((one) => ok(one, value)).length !== 1)
    return false;
  if (!all('allOf').every((one) => ok(one, value))) return false;
  if (schema.not && ok(schema.not, value)) return false;
  if ('const' in schema && schema.const !== value) return false;
  if (schema.enum && !(schema.enum as unknown[]).includes(value)) return false;
  if (typeof value === 'string')
    return (
      [undefined, 'string'].includes(schema.type as string) &&
      (schema.pattern === undefined ||
        new RegExp(schema.pattern as string, 'u').test(value))
    );
  if (Array.isArray(value))
    return (
      [undefined, 'array'].includes(schema.type as string) &&
      value.length >= Number(schema.minItems ?? 0) &&
      value.every((item) => ok(schema.items ?? {}, item)) &&
      (schema.contains === undefined ||
        value.some((item) => ok(schema.contains, item)))
    );
  if (value !== null && typeof value === 'object')
    return (
      [undefined, 'object'].includes(schema.type as string) &&
      Object.keys(value).length <=
        Number(schema.maxProperties ?? Number.POSITIVE_INFINITY) &&
      ((schema.required as string[] | undefined) ?? []).every(
        (name) => (value as Json)[name] !== undefined,
      ) &&
      Object.entries((schema.properties as Json | undefined) ?? {}).every(
        ([name, inner]) =>
          (value as Json)[name] === undefined ||
          ok(inner, (value as Json)[name]),
      )
    );
  return true;
}

const published = (schema: z.ZodType, value: unknown): boolean => {
  const root = z.toJSONSchema(schema, { io: 'input' }) as Json;
  return passes(root, value, root);
};

const ADDRESS = {
  addressLine1: '1 Main',
  city: 'Boston',
  state: ' ma ',
  zip: '02108-1234',
  country: 'us',
};
const PERSON = {
  firstName: ['Ann', ''],
  lastName: 'O’Neil, Second',
  dob: '1980-02-03',
  genderAtBirth: 'F',
  address: ADDRESS,
  contact: [{ phone: '6175550123' }, { email: 'a.b+c@sub.example.org' }],
  personalIdentifiers: [{ type: 'ssn', value: '123456789' }],
  additionalIdentifiers: { quest: ['q-1', 'q-2'] },
};
const ID = '0198a000-0000-7000-8000-000000000000';
const MESSAGE = {
  destination: 'urn:oid:2.16.840.1',
  subject: 'S',
  attachments: [ID],
};
const person = (change: object) => ({ ...PERSON, ...change });
const facility = (change: object) => ({
  ...EXAMPLES.createFacility.body,
  ...change,
});

const BODIES: [
  keyof typeof endpoints,
  { good: unknown[]; refused: unknown[] },
][] = [
  [
    'createPatient',
    {
      good: [PERSON, EXAMPLES.createPatient.body],
      refused: [
        ...Object.keys(PERSON)
          .slice(0, 5)
          .map((name) => person({ [name]: undefined })),
        person({ networkQuery: {} }),
        person({ firstName: ' , ' }),
        person({ lastName: [] }),
        person({ address: [] }),
        person({ address: [{ ...ADDRESS, state: 'XX' }] }),
        person({ address: [{ ...ADDRESS, zip: '2108' }] }),
        person({ address: [{ ...ADDRESS, city: ' ' }] }),
        person({ address: [{ ...ADDRESS, country: 'Canada' }] }),
        person({ contact: [{}] }),
        person({ contact: [{ phone: '617-555-0123' }] }),
        person({ contact: [{ email: 'nobody' }] }),
        person({ contact: [{ email: '617.555.0123@example.org' }] }),
        person({ contact: [{ email: 'mailto:a@example.org' }] }),
        person({ personalIdentifiers: [{ type: 'ssn', value: '1' }] }),
        person({ externalId: ' ' }),
        person({ additionalIdentifiers: { epic: ['1'] } }),
        person({ additionalIdentifiers: { quest: [' '] } }),
        person({ networkQuery: { sources: [] } }),
        person({ networkQuery: { sources: { hie: { enabled: false } } } }),
      ],
    },
  ],
  [
    'createFacility',
    {
      good: [facility({})],
      refused: [
        facility({ npi: '' }),
        facility({ name: ' ' }),
        facility({ tin: ' ' }),
      ],
    },
  ],
  [
    'addPatientsToCohort',
    {
      good: [{ allPatients: true }, { patientIds: [ID] }],
      refused: [{}, { allPatients: true, patientIds: [ID] }],
    },
  ],
  [
    'sendMessage',
    {
      good: [
        MESSAGE,
        {
          ...MESSAGE,
          destination: 'a@direct.example.org',
          attachments: [],
          body: 'Hello',
        },
      ],
      refused: [
        { ...MESSAGE, destination: 'nowhere' },
        { ...MESSAGE, attachments: [] },
        { ...MESSAGE, subject: ' ' },
        { ...MESSAGE, intendedRecipientNpi: ['1'] },
      ],
    },
  ],
  [
    'createWebhook',
    {
      good: [
        {
          url: 'https://a.example.org',
          types: ['*', 'patient.*', 'message.status'],
        },
      ],
      refused: [{ url: 'https://a.example.org', types: ['unknown'] }],
    },
  ],
  [
    'retryWebhooks',
    {
      good: [
        { eventId: ID, webhookId: ID },
        { from: '2026-01-01T00:00:00Z' },
        {},
      ],
      refused: [{ eventId: ID, from: '2026-01-01T00:00:00Z' }],
    },
  ],
  ['updateWebhook', { good: [{ types: ['*'] }], refused: [{}] }],
];

describe.each(BODIES)('the body of %s', (name, { good, refused }) => {
  const { body } = endpoints[name] as { body: z.ZodType };

  test('is refused by the published schema where our code refuses it', () => {
    for (const value of refused) {
      expect(body.safeParse(value).success, JSON.stringify(value)).toBe(false);
      expect(published(body, value), JSON.stringify(value)).toBe(false);
    }
  });

  test('is not refused by the published schema where our code takes it', () => {
    for (const value of good) {
      expect(body.safeParse(value).error).toBeUndefined();
      const { address } = value as { address?: unknown };
      // One object is taken for a list of one; the schema has the list.
      const listed =
        address === ADDRESS
          ? { ...(value as object), address: [address] }
          : value;
      expect(published(body, listed), JSON.stringify(listed)).toBe(true);
    }
  });
});

describe('parameters', () => {
  const patterns = (
    name: keyof typeof endpoints,
    parameter: string,
  ): RegExp[] =>
    [
      ...JSON.stringify(
        z.toJSONSchema(
          (endpoints[name] as { query: z.ZodObject }).query.shape[
            parameter
          ] as z.ZodType,
          {
            io: 'input',
          },
        ),
      ).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g),
    ].map(([, text]) => new RegExp(JSON.parse(text ?? '')));

  test('say how a sort and a list of types look', () => {
    const [sort] = patterns('listPatients', 'sort');
    expect(
      ['createdAt=desc', ' id=asc , createdAt=desc'].every((text) =>
        sort?.test(text),
      ),
    ).toBe(true);
    expect(
      ['', 'name=asc', 'id', 'id=up', 'id=asc,'].some((text) =>
        sort?.test(text),
      ),
    ).toBe(false);
    const [types] = patterns('getConsolidated', 'resources');
    expect(types?.test('Condition, Observation')).toBe(true);
    expect(['', 'Foo', 'Condition,'].some((text) => types?.test(text))).toBe(
      false,
    );
  });
});
