import { performer } from './actors.ts';
import {
  attribute,
  type CdaElement,
  childOf,
  childrenOf,
  elementsAt,
  isClinicalDocument,
  narrativeParts,
  openXml,
  readElements,
  templatesOf,
  type XmlEncoding,
} from './element.ts';
import { headerEncounter } from './encounters.ts';
import { type Reading, readStatement } from './entries.ts';
import { type FhirJson, fhirObjects, isFhirJson } from './json.ts';
import { cdaTable } from './lookup-table.ts';
import {
  emptySection,
  isNull,
  saysNothing,
  sectionKind,
  sectionsOf,
  statementsIn,
  unevenNumbers,
} from './sections.ts';
import { type DocumentScope, mapped, templateResource } from './table.ts';
import { TEMPLATES } from './templates.ts';
import { cdaTimeInFhir, statedOffset } from './times.ts';

export type CcdaConversion =
  | {
      kind: 'converted' /** The Patient of the document header, without an id. */;
      patient: FhirJson;
      resources: FhirJson[];
      /** The time of the document, as FHIR's dateTime, if it states one. */
      statedOn?: string;
      /** Which document it is, and which ones it replaces. */
      version: CcdaVersion;
      /** Sections that could not be converted. */
      skippedSections: number;
      /** Entries of other sections that can be read in the document only. */
      leftOutEntries: number;
      /**
       * How many of these there are of each template; `none` for those without
       * one.
       */
      leftOutTemplates: Readonly<Record<string, number>>;
      /**
       * Parts of converted entries that can be read in the document only, by
       * template or, without one, by the name of their element.
       */
      leftOutParts: Readonly<Record<string, number>>;
      /**
       * Sections whose words and entries differ in number, with both numbers
       * (`unevenNumbers`).
       */
      unevenSections: readonly string[];
      /** The encoding it was read in, if that is not the one it states. */
      readAs?: XmlEncoding;
      /**
       * The id of the DocumentReference whose file is the body of a document
       * without sections.
       */
      bodyId?: string;
    }
  | { kind: 'not-cda' }
  /** Binary, or text without markup. */
  | { kind: 'not-xml'; reason: string }
  | { kind: 'skipped'; reason: string };

/**
 * What a header says of the document among others. An id is
 * `<root>|<extension>`.
 */
export interface CcdaVersion {
  id?: string;
  /** The set of its versions, with the kind of document. */
  set?: string;
  /** The number of the version in the set. */
  number?: number;
  /** The ids of the documents that it replaces (`relatedDocument`, `RPLC`). */
  replaces: readonly string[];
}

/** The names used in the converted resources. */
export interface CcdaNames {
  /**
   * Letters and digits that identify the document; resource ids are
   * `ccda.<unit>.<number>`.
   */
  unit: string;
  /** The person's Patient id at the source. */
  patientId: string;
}

/**
 * Converts a C-CDA document to FHIR R4 resources by the tables in
 * `templates.ts`, which follow HL7's guide C-CDA on FHIR. The same bytes
 * always give the same resources. A section that cannot be converted is skipped
 * and counted, as is each entry of which nothing is made. Takes about 0.1 s and
 * 40 MB of memory per MB of input, so call it in a thread
 * (`ccda-converter.ts`).
 *
 * @throws when the document is not well-formed
 */
export function convertCcda(
  bytes: Uint8Array,
  names: CcdaNames,
): CcdaConversion {
  const xml = openXml(bytes);
  if (xml.kind === 'refused') {
    const isXml =
      xml.reason !== 'it is not XML' &&
      xml.reason !== 'it has an unknown encoding';
    return { kind: isXml ? 'skipped' : 'not-xml', reason: xml.reason };
  }
  if (!isClinicalDocument(xml.text)) return { kind: 'not-cda' };
  if (!isWhole(xml.text)) return { kind: 'skipped', reason: 'it is truncated' };
  const document = childOf(readElements(xml.text), 'ClinicalDocument');
  const persons = childrenOf(document, 'recordTarget');
  const [role] = elementsAt(document, 'recordTarget/patientRole');
  if (document === undefined || persons.length !== 1 || role === undefined) {
    return {
      kind: 'skipped',
      reason:
        persons.length > 1
          ? 'it is about several people'
          : 'it names no patient',
    };
  }
  const conversion = convert(document, role, names);
  return xml.readAs === undefined
    ? conversion
    : { ...conversion, readAs: xml.readAs };
}

function convert(
  document: CdaElement,
  role: CdaElement,
  names: CcdaNames,
): CcdaConversion & { kind: 'converted' } {
  const result = createResult(names.unit);
  const stated = attribute(childOf(document, 'effectiveTime'), 'value');
  const at = cdaTimeInFhir(stated, undefined)?.value;
  const all = narrativeParts(document);
  const base: DocumentScope = {
    day: at,
    offset: statedOffset(stated),
    section: undefined,
    parts: [all],
    patient: { reference: `Patient/${names.patientId}` },
    templates: TEMPLATES,
    add: result.add,
    named: new Map(),
  };
  const start = result.mark();
  const header = documentPatient(role, base);
  // The organization around the header's patient says nothing of the person.
  result.backTo(start);
  const said = {
    ...saidOfPerson(header),
    contact: contactsOf(document, base),
    generalPractitioner: practitionersOf(document, base),
  };
  if (Object.values(said).some((value) => value !== undefined))
    result.add({ resourceType: 'Patient', ...said });
  let skippedSections = 0;
  const unevenSections: string[] = [];
  const leftOut = createCounts('none');
  const leftOutParts = createCounts();
  const labels = confidentialityOf(document);
  for (const section of inOrder(sectionsOf(document))) {
    const scope = {
      ...base,
      section: sectionKind(section),
      parts: [narrativeParts(childOf(section, 'text')), all],
    };
    const mark = result.mark();
    const before = [leftOut, leftOutParts].map((each) => each.mark());
    try {
      const reading = {
        scope,
        leftOut: leftOut.take,
        leftOutPart: leftOutParts.take,
      };
      unevenSections.push(...readSection(section, reading));
      result.label(mark, labels.get(section));
    } catch (error) {
      if (error instanceof RangeError) throw error;
      result.backTo(mark);
      for (const restore of before) restore();
      skippedSections += 1;
    }
  }
  const bodyId = addBody(document, base, leftOut.take);
  const visit = headerEncounter(document, base);
  if (visit !== undefined) result.add(visit);
  result.label(start, labels.get(document));
  return {
    kind: 'converted',
    patient: header,
    resources: result.resources(),
    statedOn: at,
    version: versionOf(document),
    skippedSections,
    leftOutEntries: leftOut.total(),
    leftOutTemplates: leftOut.counts(),
    leftOutParts: leftOutParts.counts(),
    unevenSections,
    ...(bodyId === undefined ? {} : { bodyId }),
  };
}

/**
 * Adds the body of a document without sections, a text or a file (`nonXMLBody`),
 * as a DocumentReference; counts one that is not in the document.
 *
 * @returns the id of the DocumentReference
 */
function addBody(
  document: CdaElement,
  scope: DocumentScope,
  leftOut: Reading['leftOut'],
): string | undefined {
  const [body] = elementsAt(document, 'component/nonXMLBody');
  if (body === undefined) return undefined;
  const about = ['code', 'title', 'author'].flatMap((name) =>
    childrenOf(document, name),
  );
  const made = templateResource(
    'DocumentReference',
    { ...body, content: [...about, ...childrenOf(body, 'text')] },
    scope,
  );
  if (made === undefined) {
    leftOut(body);
    return undefined;
  }
  const { reference } = scope.add({
    ...made,
    date: scope.day?.includes('T') === true ? scope.day : made.date,
    context: { period: { start: scope.day } },
  });
  return String(reference).replace(/^.*\//, '');
}

/**
 * Counts elements by their first template.
 *
 * @param unnamed what those without one are called; otherwise by their element
 */
function createCounts(unnamed?: string) {
  let counts: Record<string, number> = cdaTable({});
  return {
    take: (node: CdaElement): void => {
      const [template = unnamed ?? node.name] = templatesOf(node).filter(
        (root) => /^[\d.]{3,}$/.test(root),
      );
      counts[template] = (counts[template] ?? 0) + 1;
    },
    counts: (): Readonly<Record<string, number>> => counts,
    total: (): number =>
      Object.values(counts).reduce((sum, number) => sum + number, 0),
    /** Returns what restores the present counts. */
    mark: (): (() => void) => {
      const before: Record<string, number> = Object.assign(
        cdaTable({}),
        counts,
      );
      return () => {
        counts = before;
      };
    },
  };
}

/**
 * Levels that do not restrict a document or section beyond the rest of the
 * record.
 */
const USUAL: ReadonlySet<string | undefined> = new Set([
  undefined,
  'N',
  'U',
  'L',
  'M',
]);

/**
 * The level of confidentiality of the document and of its sections, each also
 * for the sections in it, where it is above the usual.
 */
function confidentialityOf(document: CdaElement): Map<CdaElement, string> {
  const levels = new Map<CdaElement, string>();
  const read = (
    of: CdaElement,
    within: readonly CdaElement[],
    outer?: string,
  ): void => {
    const own = attribute(childOf(of, 'confidentialityCode'), 'code');
    const level = USUAL.has(own) ? outer : own;
    if (level !== undefined) levels.set(of, level);
    for (const section of within)
      read(section, elementsAt(section, 'component/section'), level);
  };
  read(
    document,
    elementsAt(document, 'component/structuredBody/component/section'),
  );
  return levels;
}

function versionOf(document: CdaElement): CcdaVersion {
  const set = idText(childOf(document, 'setId'));
  const kind = attribute(childOf(document, 'code'), 'code') ?? '';
  const number = Number(attribute(childOf(document, 'versionNumber'), 'value'));
  return {
    id: idText(childOf(document, 'id')),
    set: set && `${set}|${kind}`,
    number: Number.isInteger(number) ? number : undefined,
    replaces: childrenOf(document, 'relatedDocument')
      .filter((related) => attribute(related, 'typeCode') === 'RPLC')
      .flatMap((related) => childrenOf(related, 'parentDocument'))
      .flatMap((parent) => childrenOf(parent, 'id'))
      .flatMap((id) => idText(id) ?? []),
  };
}

const idText = (id: CdaElement | undefined): string | undefined => {
  const root = attribute(id, 'root');
  return root && `${root}|${attribute(id, 'extension') ?? ''}`.toLowerCase();
};

/** Encounters last: they refer to problems of other sections. */
const inOrder = (sections: readonly CdaElement[]): CdaElement[] => [
  ...sections.filter((section) => sectionKind(section) !== 'encounters'),
  ...sections.filter((section) => sectionKind(section) === 'encounters'),
];

/** @returns the section, if its words and entries differ in number */
function readSection(section: CdaElement, reading: Reading): string[] {
  const { scope, leftOut } = reading;
  const entries = childrenOf(section, 'entry');
  const read = entries.filter((entry) => !isNull(entry));
  if (read.length === 0) {
    const empty = emptySection(section, scope);
    if (empty !== undefined) scope.add(empty.list);
    const text =
      empty?.isQuoted === true || saysNothing(section, scope)
        ? undefined
        : templateResource('DocumentReference', section, scope);
    if (text !== undefined) scope.add(text);
    else if (empty === undefined)
      for (const entry of entries) statementsIn(entry).forEach(leftOut);
  }
  for (const entry of read)
    for (const statement of statementsIn(entry))
      readStatement(statement, reading);
  if (read.length > 0)
    for (const entry of entries)
      if (isNull(entry)) statementsIn(entry).forEach(leftOut);
  const uneven = unevenNumbers(section, read);
  return uneven === undefined ? [] : [uneven];
}

/** What a header says of the person beyond what the caller has told us. */
function saidOfPerson(header: FhirJson): FhirJson {
  const { extension, maritalStatus, communication } = header;
  const { deceasedDateTime, deceasedBoolean } = header;
  return {
    extension,
    maritalStatus,
    communication,
    deceasedDateTime,
    // That a person lives is true of the day on which it was written.
    deceasedBoolean: deceasedBoolean === true ? true : undefined,
  };
}

const CONTACTS = ['ECON', 'NOK'];

/** Whom to call in an emergency, and next of kin: participants of the header. */
const contactsOf = (document: CdaElement, scope: DocumentScope): unknown =>
  orNone(
    elementsAt(document, 'participant/associatedEntity')
      .filter((role) => CONTACTS.includes(attribute(role, 'classCode') ?? ''))
      .flatMap((role) => mapped('Contact', role, scope) ?? []),
  );

/** The primary care physicians that the header names (function code PCP). */
const practitionersOf = (document: CdaElement, scope: DocumentScope): unknown =>
  orNone(
    elementsAt(document, 'documentationOf/serviceEvent/performer')
      .filter(
        (each) => attribute(childOf(each, 'functionCode'), 'code') === 'PCP',
      )
      .flatMap((each) => performer(each, scope) ?? []),
  );

const orNone = (found: readonly unknown[]): unknown =>
  found.length === 0 ? undefined : found;

function documentPatient(role: CdaElement, scope: DocumentScope): FhirJson {
  const { deceasedBoolean, ...made } =
    templateResource('Patient', role, scope) ?? {};
  return made.deceasedDateTime === undefined
    ? { ...made, deceasedBoolean }
    : made;
}

const isWhole = (xml: string): boolean =>
  /<\/(?:[A-Za-z][\w.-]*:)?ClinicalDocument\s*>/.test(
    xml.trimEnd().slice(-2_000),
  );

const CONFIDENTIALITY =
  'http://terminology.hl7.org/CodeSystem/v3-Confidentiality';

/**
 * Types that stand for a person, place or thing; equal content is one resource.
 */
const SHARED: ReadonlySet<string> = new Set([
  'Device',
  'Location',
  'Organization',
  'Practitioner',
  'PractitionerRole',
  'Specimen',
]);

/** Collects the resources of a document with ids of their own. */
function createResult(unit: string) {
  const made: FhirJson[] = [];
  let counts = new Map<string, number>();
  let shared = new Map<string, string>();
  return {
    /** Adds a resource without empty parts; returns a reference to it. */
    add(resource: FhirJson): FhirJson {
      const own = withoutEmpty(resource) as FhirJson;
      const type = String(own.resourceType);
      const key = SHARED.has(type) ? JSON.stringify(own) : undefined;
      const known = key === undefined ? undefined : shared.get(key);
      if (known !== undefined) return { reference: known };
      const number = (counts.get(type) ?? 0) + 1;
      counts.set(type, number);
      const id = `ccda.${unit}.${number}`;
      made.push(Object.assign({ resourceType: type, id }, own));
      if (key !== undefined) shared.set(key, `${type}/${id}`);
      return { reference: `${type}/${id}` };
    },
    mark: () => ({
      made: made.length,
      counts: new Map(counts),
      shared: new Map(shared),
    }),
    /** Forgets what was added since a mark. */
    backTo(mark: {
      made: number;
      counts: Map<string, number>;
      shared: Map<string, string>;
    }): void {
      made.length = mark.made;
      counts = mark.counts;
      shared = mark.shared;
    },
    /**
     * Gives what was added since a mark a level of confidentiality, besides one
     * it has.
     */
    label(mark: { made: number }, code: string | undefined): void {
      if (code === undefined) return;
      for (const [index, resource] of made.entries()) {
        if (index < mark.made) continue;
        const { meta, ...rest } = resource;
        const known = isFhirJson(meta) ? fhirObjects(meta.security) : [];
        if (!known.some((label) => label.code === code))
          made[index] = {
            ...rest,
            meta: { security: [...known, { system: CONFIDENTIALITY, code }] },
          };
      }
    },
    resources: (): FhirJson[] => made,
  };
}

/**
 * A copy without empty texts, lists and objects; undefined when nothing is
 * left.
 */
function withoutEmpty(value: unknown): unknown {
  if (value === null || value === undefined || value === '') return undefined;
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty).filter((item) => item !== undefined);
    return items.length === 0 ? undefined : items;
  }
  if (!isFhirJson(value)) return value;
  const copy: Record<string, unknown> = {};
  let isEmpty = true;
  for (const name in value) {
    const own = withoutEmpty(value[name]);
    if (own === undefined) continue;
    copy[name] = own;
    isEmpty = false;
  }
  return isEmpty ? undefined : copy;
}
