import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CcdaConversion } from '#ccda-to-fhir';
import type { Json } from '#record-summary/fhir';
import { note } from '../command-parts.ts';
import { compare, factsOf, type Score, sum } from './facts.ts';

export type Convert = (bytes: Uint8Array) => CcdaConversion;

/** A piece of a document, and the resource that it should become. */
interface Pair {
  name: string;
  document: Buffer;
  expected: Json;
}

const NAMESPACES =
  'xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:sdtc="urn:hl7-org:sdtc" xmlns:voc="urn:hl7-org:v3/voc"';
const SECTIONS: readonly (readonly [pattern: RegExp, loinc: string])[] = [
  [/^AllergyIntolerance/, '48765-2'],
  [/^Condition/, '11450-4'],
  [/^Medication/, '10160-0'],
  [/^Immunization/, '11369-6'],
  [/^Procedure/, '47519-4'],
  [/^Encounter/, '46240-8'],
  [/^Observation vital/, '8716-3'],
  [/^Observation (?:smoking|pregnancy)/, '29762-2'],
  [/^(?:Observation|DiagnosticReport)/, '30954-2'],
  [/^DocumentReference/, '34109-9'],
];

/**
 * A document around a snippet, which is a recordTarget, an entry or a
 * statement.
 */
export function documentOf(snippet: string, kind: string): Buffer {
  const xml = snippet.replace(/^\uFEFF?<\?xml[^>]*\?>/, '').trim();
  const target = /<recordTarget[\s>][\s\S]*<\/recordTarget>/.exec(xml)?.[0];
  const loinc =
    SECTIONS.find(([pattern]) => pattern.test(kind))?.[1] ?? '34109-9';
  const entry =
    xml.includes('<entry') && !/^<(?!entry)/.test(xml)
      ? xml
      : `<entry>${xml}</entry>`;
  const body =
    target !== undefined
      ? ''
      : `<component><structuredBody><component><section><code code="${loinc}" codeSystem="2.16.840.1.113883.6.1"/><title>x</title>${entry}</section></component></structuredBody></component>`;
  const header =
    target ??
    '<recordTarget><patientRole><id root="1.2.3" extension="1"/><patient><name><given>A</given><family>B</family></name></patient></patientRole></recordTarget>';
  return Buffer.from(
    `<ClinicalDocument ${NAMESPACES}><id root="1.2.3"/>${header}${body}</ClinicalDocument>`,
  );
}

const readJson = (path: string): Json =>
  JSON.parse(
    readFileSync(path, 'utf8')
      .replaceAll(/^\s*\/\/.*$/gm, '')
      .replaceAll(/^\s*\/\/.*$/gm, ''),
  ) as Json;

function guidePairs(root: string): Pair[] {
  const folder = join(root, 'HL7+ccda-on-fhir/input/resources');
  return readdirSync(folder).flatMap((type) =>
    readdirSync(join(folder, type))
      .filter((file) => /^CF-.*\.json$/.test(file))
      .flatMap((file) => {
        const source = join(folder, 'binary', file.replace('.json', '.xml'));
        if (!existsSync(source)) return [];
        const expected = readJson(join(folder, type, file));
        const kind = String(expected.resourceType);
        return [
          {
            name: `guide ${file}`,
            document: documentOf(readFileSync(source, 'utf8'), kind),
            expected,
          },
        ];
      }),
  );
}

function recommendedPairs(root: string): Pair[] {
  const folder = join(
    root,
    'HL7+ccda-on-fhir/mappings/examples/CDAtoFHIRExamples',
  );
  const document = readFileSync(join(folder, 'Input/Myra Jones v2.xml'));
  return readdirSync(join(folder, 'Rec_Output')).flatMap((file) => {
    try {
      const { resource } = readJson(join(folder, 'Rec_Output', file)) as {
        resource: Json;
      };
      return [{ name: `recommended ${file}`, document, expected: resource }];
    } catch {
      note(`${file} is no JSON`);
      return [];
    }
  });
}

function fixturePairs(root: string): Pair[] {
  const folder = join(
    root,
    'NurraHealth+ccda-to-fhir/tests/integration/fixtures',
  );
  return readdirSync(join(folder, 'fhir')).flatMap((file) => {
    const source = join(folder, 'ccda', file.replace('.json', '.xml'));
    if (!existsSync(source)) return [];
    const expected = readJson(join(folder, 'fhir', file));
    const kind = `${String(expected.resourceType)} ${file}`;
    return [
      {
        name: `fixture ${file}`,
        document: documentOf(readFileSync(source, 'utf8'), kind),
        expected,
      },
    ];
  });
}

/**
 * MedicationStatement and MedicationRequest name the same elements differently.
 */
const asRequest = (resource: Json): Json =>
  resource.resourceType === 'MedicationStatement'
    ? {
        ...resource,
        resourceType: 'MedicationRequest',
        dosageInstruction: resource.dosage,
      }
    : resource;

/** The resource with most of the expected facts. */
function counterpart(
  expected: Json,
  resources: readonly Json[],
): Json | undefined {
  const wanted = new Set(factsOf(expected));
  const shared = (own: Json): number =>
    factsOf(own).filter((fact) => wanted.has(fact)).length;
  return resources
    .map(asRequest)
    .filter(({ resourceType }) => resourceType === expected.resourceType)
    .sort((left, right) => shared(right) - shared(left))[0];
}

export function scorePairs(
  root: string,
  convert: Convert,
  isListed: boolean,
): { total: Score; byPair: Record<string, Score> } {
  const byPair: Record<string, Score> = {};
  for (const { name, document, expected } of [
    ...guidePairs(root),
    ...recommendedPairs(root),
    ...fixturePairs(root),
  ]) {
    const conversion = convert(document);
    const resources =
      conversion.kind === 'converted'
        ? [
            { ...conversion.patient, resourceType: 'Patient' },
            ...conversion.resources,
          ]
        : [];
    byPair[name] = compare(
      expected,
      counterpart(expected, resources),
      (line) => isListed && note(`${name}: ${line}`),
    );
  }
  return { total: sum(Object.values(byPair)), byPair };
}
