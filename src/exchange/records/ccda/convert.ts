import { type Ccda, convertCcdaToFhir, convertXmlToCcda } from '@medplum/ccda';
import { isJson, type Json } from '../rules/json.ts';
import { emptySections } from './empty-sections.ts';
import { dropNullEntries, negated, takeNegated } from './negation.ts';
import { dayOfDocument, prepareCcda, withoutTimeMarks } from './prepare.ts';
import { tidyResources } from './tidy.ts';
import { isClinicalDocument, openXml } from './xml-gate.ts';

export type CcdaConversion =
  | {
      kind: 'converted' /** Of the header, without an id. */;
      patient: Json;
      resources: Json[];
      skippedSections: number;
    }
  | { kind: 'not-cda' }
  /** Not even text, or text without markup. */
  | { kind: 'not-xml'; reason: string }
  | { kind: 'skipped'; reason: string };

/** What the converted resources are called and whom they are about. */
export interface CcdaNames {
  /** Letters and digits that stand for the document; ids are `ccda.<unit>.<number>`. */
  unit: string;
  /** The person's id at the source. */
  patientId: string;
}

/**
 * A C-CDA document as FHIR R4 resources. The same bytes give the same resources. A section that cannot be converted
 * is left out and counted. Takes about 0.2 s and 40 MB for each MB: see `ccda-converter.ts` for a thread of its own.
 */
export function convertCcda(bytes: Uint8Array, names: CcdaNames): CcdaConversion {
  const xml = openXml(bytes);
  if (xml.kind === 'refused') {
    const isXml = xml.reason !== 'nothing that is XML' && xml.reason !== 'an unknown encoding';
    return { kind: isXml ? 'skipped' : 'not-xml', reason: `it has ${xml.reason}` };
  }
  if (!isClinicalDocument(xml.text)) return { kind: 'not-cda' };
  // The parser would take what is there of it for all.
  if (!isWhole(xml.text)) return { kind: 'skipped', reason: 'it is cut off' };
  const ccda = convertXmlToCcda(withoutPrefix(xml.text)) as Ccda | undefined;
  const persons = ccda?.recordTarget?.length ?? 0;
  if (ccda === undefined || persons !== 1) {
    return { kind: 'skipped', reason: persons > 1 ? 'it is about several persons' : 'it names nobody' };
  }
  const document = ccda as unknown as Json;
  const day = dayOfDocument(document);
  const empty = emptySections(document, day);
  prepareCcda(ccda);
  dropNullEntries(document);
  const denied = NEGATION.test(xml.text) ? convertNegated(document, day) : NOTHING_DENIED;
  const { bundle, skippedSections } = convertSections(ccda);
  const header = bundle.find(({ resourceType }) => resourceType === 'Patient');
  if (header === undefined) return { kind: 'skipped', reason: 'it names nobody' };
  // The converter numbers it by chance.
  const { id: _id, ...patient } = header;
  return {
    kind: 'converted',
    patient,
    resources: tidyResources([...bundle, ...denied.resources, ...empty], names.unit, names.patientId),
    skippedSections: skippedSections + denied.skippedSections,
  };
}

const NEGATION = /negationInd\s*=\s*["'](?:true|1)["']/;
const NOTHING_DENIED = { resources: [] as Json[], skippedSections: 0 };

/** What the document says is not so, taken out of it. */
function convertNegated(document: Json, day: string | undefined): typeof NOTHING_DENIED {
  const { denied, leftOut } = takeNegated(document);
  const { bundle, skippedSections } = convertSections(denied as unknown as Ccda);
  const resources = bundle.map((resource) => negated(resource, day)).filter(isJson);
  return { resources, skippedSections: skippedSections + leftOut };
}

const isWhole = (xml: string): boolean =>
  /<\/(?:[A-Za-z][\w.-]*:)?ClinicalDocument\s*>/.test(xml.trimEnd().slice(-2_000));

/** All at once; where that fails, section by section. */
function convertSections(ccda: Ccda): { bundle: Json[]; skippedSections: number } {
  try {
    return { bundle: resourcesOf(ccda), skippedSections: 0 };
  } catch {
    const sections = ccda.component?.structuredBody?.component ?? [];
    let skippedSections = 0;
    const bundle: Json[] = resourcesOf({ ...ccda, component: undefined } as unknown as Ccda);
    for (const section of sections) {
      try {
        const alone = { ...ccda, component: { structuredBody: { component: [section] } } } as unknown as Ccda;
        bundle.push(...resourcesOf(alone).filter(({ resourceType }) => resourceType !== 'Patient'));
      } catch {
        skippedSections += 1;
      }
    }
    return { bundle, skippedSections };
  }
}

function resourcesOf(ccda: Ccda): Json[] {
  const bundle = convertCcdaToFhir(ccda, { ignoreUnsupportedSections: true });
  const entries: readonly { resource?: unknown }[] = bundle.entry ?? [];
  const resources = entries.map(({ resource }) => resource);
  return JSON.parse(withoutTimeMarks(JSON.stringify(resources))) as Json[];
}

/** `<cda:ClinicalDocument>`: the converter knows elements by their names without a prefix. */
function withoutPrefix(xml: string): string {
  const prefix = /<([A-Za-z][\w.-]*):ClinicalDocument[\s>]/.exec(xml.slice(0, 20_000))?.[1];
  return prefix === undefined
    ? xml
    : xml.replaceAll(new RegExp(`(</?)${prefix.replace('.', '\\.')}:`, 'g'), '$1');
}
