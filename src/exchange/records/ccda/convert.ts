import { type Ccda, convertCcdaToFhir } from '@medplum/ccda';
import { isJson, type Json, objectsOf } from '../rules/json.ts';
import { documentTime, withStatedOn } from '../rules/stated-on.ts';
import { asStated } from './as-stated.ts';
import { dropNarratives, emptySections } from './empty-sections.ts';
import { takeLeftOut } from './left-out.ts';
import { type NamedStatements, nameStatements } from './named-statements.ts';
import { nameByNarrative } from './narrative-names.ts';
import { dropNullEntries, negated, takeNegated } from './negation.ts';
import { dayOfDocument, prepareCcda, withoutTimeMarks } from './prepare.ts';
import { readCcda } from './read-ccda.ts';
import { prepareSections } from './sections.ts';
import { tidyResources } from './tidy.ts';
import { isClinicalDocument, openXml } from './xml-gate.ts';

export type CcdaConversion =
  | {
      kind: 'converted' /** The Patient of the document header, without an id. */;
      patient: Json;
      resources: Json[];
      /** Sections that could not be converted. */
      skippedSections: number;
      /** Entries of other sections that can be read in the document only. */
      leftOutEntries: number;
    }
  | { kind: 'not-cda' }
  /** Binary, or text without markup. */
  | { kind: 'not-xml'; reason: string }
  | { kind: 'skipped'; reason: string };

/** The names used in the converted resources. */
export interface CcdaNames {
  /** Letters and digits that identify the document; resource ids are `ccda.<unit>.<number>`. */
  unit: string;
  /** The person's Patient id at the source. */
  patientId: string;
}

/**
 * Converts a C-CDA document to FHIR R4 resources. The same bytes always give the same resources. A section that cannot be
 * converted is skipped and counted. Takes about 0.2 s and 40 MB of memory per MB of input, so call it in a thread
 * (`ccda-converter.ts`).
 */
export function convertCcda(bytes: Uint8Array, names: CcdaNames): CcdaConversion {
  const xml = openXml(bytes);
  if (xml.kind === 'refused') {
    const isXml = xml.reason !== 'it is not XML' && xml.reason !== 'it has an unknown encoding';
    return { kind: isXml ? 'skipped' : 'not-xml', reason: xml.reason };
  }
  if (!isClinicalDocument(xml.text)) return { kind: 'not-cda' };
  // The parser would accept a truncated document without an error.
  if (!isWhole(xml.text)) return { kind: 'skipped', reason: 'it is truncated' };
  const ccda = readCcda(withoutPrefix(xml.text));
  const persons = ccda?.recordTarget?.length ?? 0;
  if (ccda === undefined || persons !== 1) {
    return { kind: 'skipped', reason: persons > 1 ? 'it is about several people' : 'it names no patient' };
  }
  const document = ccda as unknown as Json;
  const day = dayOfDocument(document);
  const at = documentTime(objectsOf(document.effectiveTime)[0]?.['@_value']);
  prepareSections(document);
  const empty = emptySections(document, day);
  nameByNarrative(document);
  dropNarratives(document);
  prepareCcda(ccda);
  dropNullEntries(document);
  const { leftOut, relatives } = takeLeftOut(document);
  const statements = nameStatements(document);
  const denied = NEGATION.test(xml.text) ? convertNegated(document, statements, day) : NOTHING_DENIED;
  const { bundle, skippedSections } = convertSections(ccda, statements, day);
  const header = bundle.find(({ resourceType }) => resourceType === 'Patient');
  if (header === undefined) return { kind: 'skipped', reason: 'it names no patient' };
  // The converter gives it a random id.
  const { id: _id, ...patient } = header;
  return {
    kind: 'converted',
    patient,
    resources: tidyResources(
      [...bundle, ...relatives, ...denied.resources, ...empty],
      names.unit,
      names.patientId,
    ).map((resource) => withStatedOn(resource, at)),
    skippedSections: skippedSections + denied.skippedSections,
    leftOutEntries: leftOut + denied.leftOut,
  };
}

const NEGATION = /negationInd\s*=\s*["'](?:true|1)["']/;
const NOTHING_DENIED = { resources: [] as Json[], skippedSections: 0, leftOut: 0 };

/** Removes the negated entries from the document and converts them separately. */
function convertNegated(
  document: Json,
  statements: NamedStatements,
  day: string | undefined,
): typeof NOTHING_DENIED {
  const { denied, leftOut } = takeNegated(document);
  const { bundle, skippedSections } = convertSections(denied as unknown as Ccda, statements, day);
  const resources = bundle.map((resource) => negated(resource, day)).filter(isJson);
  return { resources, skippedSections, leftOut };
}

const isWhole = (xml: string): boolean =>
  /<\/(?:[A-Za-z][\w.-]*:)?ClinicalDocument\s*>/.test(xml.trimEnd().slice(-2_000));

/** Converts the whole document at once; if that fails, section by section. */
function convertSections(
  ccda: Ccda,
  statements: NamedStatements,
  day: string | undefined,
): { bundle: Json[]; skippedSections: number } {
  try {
    return { bundle: resourcesOf(ccda, statements, day), skippedSections: 0 };
  } catch {
    const sections = ccda.component?.structuredBody?.component ?? [];
    let skippedSections = 0;
    const bundle: Json[] = resourcesOf({ ...ccda, component: undefined } as unknown as Ccda, statements, day);
    for (const section of sections) {
      try {
        const alone = { ...ccda, component: { structuredBody: { component: [section] } } } as unknown as Ccda;
        bundle.push(
          ...resourcesOf(alone, statements, day).filter(({ resourceType }) => resourceType !== 'Patient'),
        );
      } catch {
        skippedSections += 1;
      }
    }
    return { bundle, skippedSections };
  }
}

function resourcesOf(ccda: Ccda, statements: NamedStatements, day: string | undefined): Json[] {
  const bundle = convertCcdaToFhir(ccda, { ignoreUnsupportedSections: true });
  // The Composition repeats the document, which is stored.
  const entries: readonly { resource?: { resourceType: string } }[] = bundle.entry ?? [];
  const resources = entries.flatMap(({ resource }) =>
    resource === undefined || resource.resourceType === 'Composition'
      ? []
      : [asStated(resource as unknown as Json, statements, day)],
  );
  return JSON.parse(withoutTimeMarks(JSON.stringify(resources))) as Json[];
}

/** Removes a namespace prefix (`<cda:ClinicalDocument>`): the converter expects names without one. */
function withoutPrefix(xml: string): string {
  const prefix = /<([A-Za-z][\w.-]*):ClinicalDocument[\s>]/.exec(xml.slice(0, 20_000))?.[1];
  return prefix === undefined
    ? xml
    : xml.replaceAll(new RegExp(`(</?)${prefix.replace('.', '\\.')}:`, 'g'), '$1');
}
