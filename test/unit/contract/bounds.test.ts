import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Endpoint } from '../../../src/contract/endpoint.ts';
import { endpoints } from '../../../src/contract/endpoints.ts';
import { bundleSchema } from '../../../src/exchange/messaging/notifications/fhir/schemas.ts';
import { onboardingRequestSchema } from '../../../src/orchestrator/patient-onboarding/onboarding-request.ts';

const PARTS = ['params', 'query', 'headers', 'body'] as const;
const contract = Object.entries(
  endpoints as Readonly<Record<string, Endpoint>>,
).flatMap(([name, endpoint]) =>
  PARTS.flatMap((part) => {
    const schema = endpoint[part];
    const isFhir = part === 'body' && endpoint.fhirBytesMax !== undefined;
    return schema === undefined
      ? []
      : [{ what: `${name}, ${part}`, schema, isFhir }];
  }),
);
const fromOutside = [
  ...contract,
  {
    what: 'the intake of the receiver',
    schema: onboardingRequestSchema,
    isFhir: false,
  },
];

type Json = { [name: string]: unknown };
/** Formats whose pattern allows only so many characters. */
const BOUNDED_FORMATS = ['uuid', 'date'];

const BELOW = ['items', 'additionalProperties', 'propertyNames'];

/** Places of a JSON Schema that take something of any size. */
function unbounded(schema: unknown, place: string): string[] {
  if (Array.isArray(schema))
    return schema.flatMap((item, index) =>
      unbounded(item, `${place}/${index}`),
    );
  if (schema === null || typeof schema !== 'object') return [];
  const { $defs, properties, ...rest } = schema as Json;
  const below = [
    ...Object.entries({ ...(properties as Json), ...($defs as Json) }),
    ...Object.entries(rest).filter(([name]) =>
      // With a type, alternatives are further rules of a schema that has its
      // bounds itself.
      [
        ...('type' in rest ? [] : ['anyOf', 'oneOf', 'allOf']),
        ...BELOW,
      ].includes(name),
    ),
  ].flatMap(([name, child]) => unbounded(child, `${place}/${name}`));
  return sizeIsBounded(rest) ? below : [place, ...below];
}

function sizeIsBounded(schema: Json): boolean {
  if ('const' in schema || 'enum' in schema) return true;
  switch (schema.type) {
    case 'string':
      return (
        'maxLength' in schema || BOUNDED_FORMATS.includes(String(schema.format))
      );
    case 'array':
      return 'maxItems' in schema;
    case 'object':
      return (
        typeof schema.additionalProperties !== 'object' ||
        'maxProperties' in schema
      );
    case 'number':
    case 'integer':
    case 'boolean':
    case 'null':
      return true;
    default:
      return ['$ref', 'anyOf', 'oneOf', 'allOf', 'not'].some(
        (word) => word in schema,
      );
  }
}

/**
 * Places of a zod schema whose lists and records are looked into before they
 * are measured.
 */
function measuredLate(
  schema: z.core.$ZodType,
  place: string,
  isMeasured = false,
): string[] {
  const def = schema._zod.def as z.core.$ZodTypeDef & Record<string, unknown>;
  const isPre =
    schema instanceof z.ZodPipe &&
    schema._zod.def.in._zod.def.type === 'transform';
  const children = Object.entries({
    ...def,
    ...(def.shape as object | undefined),
  })
    .filter(([name]) => !['catchall', 'in'].includes(name) || !isPre)
    .flatMap(([name, child]) =>
      [child]
        .flat()
        .flatMap((one) =>
          one instanceof z.core.$ZodType ? [{ name, one }] : [],
        ),
    )
    .flatMap(({ name, one }) =>
      measuredLate(one, `${place}/${name}`, isPre && name === 'out'),
    );
  const isLate = (def.type === 'array' || def.type === 'record') && !isMeasured;
  return isLate ? [place, ...children] : children;
}

describe.each(fromOutside)('$what', ({ schema, isFhir }) => {
  // The elements of FHIR are not listed in the contract: the size of the whole
  // is bounded, and FHIR's own rules are checked later.
  test.skipIf(isFhir)('takes nothing of any size', () => {
    const json = z.toJSONSchema(schema, {
      io: 'input',
      unrepresentable: 'any',
    });
    expect(unbounded(json, '')).toEqual([]);
  });
});

describe.each([
  ...fromOutside,
  { what: 'the Bundle of a sender', schema: bundleSchema },
])('$what', ({ schema }) => {
  test('measures its lists before it looks at their entries', () => {
    expect(measuredLate(schema, '')).toEqual([]);
  });
});

describe('the walks of this test', () => {
  test('find what has no bounds', () => {
    const open = z.object({
      text: z.string(),
      list: z.array(z.string().max(1)),
      record: z.record(z.string().max(3), z.string().max(3)),
      either: z.union([z.uuid(), z.iso.datetime()]),
    });
    const json = z.toJSONSchema(open, { io: 'input' });
    expect(unbounded(json, '')).toEqual([
      '/text',
      '/list',
      '/record',
      '/either/anyOf/1',
    ]);
    const late = z.object({
      list: z.array(z.string()).max(3).optional(),
      record: z.record(z.string(), z.string()),
    });
    expect(measuredLate(late, '')).toEqual(['/list/innerType', '/record']);
  });
});
