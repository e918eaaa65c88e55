import { createHash } from 'node:crypto';
import type {
  CodeableConcept,
  DiagnosticReport,
  DocumentReference,
  Observation,
  ServiceRequest,
  Specimen,
} from 'fhir/r4.js';
import {
  codedElement,
  namedIn,
  practitionersIn,
  requiredField,
} from './fields.ts';
import { fileOf } from './files.ts';
import { mappedElements, mappedResource } from './mapped.ts';
import { REPORT_ORDER_MAPPING, RESULT_MAPPING } from './mappings/report.ts';
import type { Hl7Segment } from './message.ts';
import {
  observationIds,
  type ParentFinder,
  type ParentResult,
} from './parents.ts';
import type { ReportedResource } from './read-message.ts';
import {
  isMistaken,
  observationStatus,
  reportCategory,
  reportStatus,
  resultCategory,
} from './report-codes.ts';
import type { ObservationGroup, ReportGroup } from './report-groups.ts';
import { specimenOf } from './specimen.ts';
import { hl7TimeInFhir } from './time.ts';
import {
  type ObservationReading,
  observationValue,
  unitNote,
} from './value.ts';
import { isVitalSign } from './vital-signs.ts';
import { hl7Decimal } from './written-decimals.ts';

const SUBJECT = { subject: { reference: 'Patient/person' } };
const REPORT = 'DiagnosticReport/report';
/** Types of values that are measured or coded, not written. */
const MEASURED = new Set(['NM', 'SN', 'CE', 'CWE', 'CNE', 'CF']);
const INTERPRETATION =
  'http://terminology.hl7.org/CodeSystem/v3-ObservationInterpretation';

/**
 * The resources of one report: a DiagnosticReport, an Observation for each
 * result, a DocumentReference for each file, and the Specimen if the message
 * describes it.
 */
export function reportResources(
  groups: readonly [ReportGroup, ...ReportGroup[]],
  message: ObservationReading,
  of: { sourceId: string; parents: ParentFinder },
): ReportedResource[] {
  const [first] = groups;
  const reading = { ...message, hasSubIds: hasSubIds(groups) };
  const specimens = specimensOf(groups, reading);
  const ownSpecimens = [...new Set(specimens.values())];
  const [specimen] = ownSpecimens;
  const ids = observationIds(groups);
  const parentOf = (
    group: ReportGroup,
    observation: ObservationGroup,
  ): ParentResult | undefined => {
    const organism = of.parents.ofSubId(group, observation);
    return organism === undefined
      ? of.parents.ofReport(group)
      : { sourceId: of.sourceId, id: ids.get(organism) };
  };
  const results = groups.flatMap((group) =>
    group.observations.flatMap((observation) => {
      const id = ids.get(observation);
      if (id === undefined) return [];
      const parent = parentOf(group, observation);
      const about = {
        id,
        specimen: specimens.get(group) ?? specimen,
        parent,
        isSameReport: parent?.sourceId === of.sourceId,
      };
      return [resultOf(group, observation, about, reading)];
    }),
  );
  const forms = results.flatMap(({ resource }) =>
    resource.resourceType === 'DocumentReference'
      ? resource.content.map(
          ({ attachment: { data: _, ...attachment } }) => attachment,
        )
      : [],
  );
  const { obr } = first;
  const order = orderOf(first, reading);
  const interpreters = namedIn(obr, 32);
  const conclusion = noteText(groups.flatMap(({ notes }) => notes));
  const report: DiagnosticReport & { id: string } = {
    resourceType: 'DiagnosticReport',
    id: 'report',
    ...numberOf(first),
    status: reportStatus(obr.value(25)),
    ...reportCategory(
      obr.value(24),
      specimen !== undefined || results.some(isMeasured),
    ),
    code: conceptIn(obr, 4, reading) ?? {},
    ...SUBJECT,
    ...timeOf(first, reading),
    ...issuedOf(hl7TimeInFhir(obr.value(22), reading.time)),
  };
  if (order !== undefined)
    report.basedOn = [{ reference: `ServiceRequest/${order.id}` }];
  if (interpreters.length > 0) report.resultsInterpreter = interpreters;
  if (ownSpecimens.length > 0)
    report.specimen = ownSpecimens.map(({ id }) => ({
      reference: `Specimen/${id}`,
    }));
  if (forms.length > 0) report.presentedForm = forms;
  if (conclusion !== undefined) report.conclusion = conclusion;

  const described = [...ownSpecimens, order].flatMap((resource) =>
    resource === undefined ? [] : [{ resource }],
  );
  return [{ resource: report }, ...described, ...results];
}

type OwnSpecimen = Specimen & { id: string };

/** The specimen of each OBR: bottles of one culture have one each. */
function specimensOf(
  groups: readonly ReportGroup[],
  reading: ObservationReading,
): Map<ReportGroup, OwnSpecimen> {
  const specimens = new Map<ReportGroup, OwnSpecimen>();
  const byContent = new Map<string, OwnSpecimen>();
  for (const group of groups) {
    const specimen = specimenOf(group, reading);
    if (specimen === undefined) continue;
    const content = JSON.stringify(specimen);
    const own = byContent.get(content) ?? {
      ...specimen,
      id: specimenId(specimen, byContent.size),
    };
    byContent.set(content, own);
    specimens.set(group, own);
  }
  return specimens;
}

/** By its number, so that it is the same in every message about the report. */
function specimenId({ identifier }: Specimen, nth: number): string {
  const number = identifier?.[0]?.value;
  if (number === undefined)
    return nth === 0 ? 'specimen' : `specimen-${nth + 1}`;
  return `s-${createHash('sha256').update(number).digest('hex').slice(0, 32)}`;
}

/**
 * Whether one code stands under several sub-ids (OBX-4), as for two organisms,
 * so that these say which results belong together.
 */
function hasSubIds(groups: readonly ReportGroup[]): boolean {
  const all = groups.flatMap(({ observations }) =>
    observations.map(({ segments: [obx] }) => obx),
  );
  const different = (fields: number[]) =>
    new Set(all.map((obx) => fields.map((field) => obx.raw(field)).join('|')))
      .size;
  return different([3]) < different([3, 4]);
}

function looksLike(
  obx: Hl7Segment,
  code: CodeableConcept,
  specimen: Specimen | undefined,
): 'vital-signs' | 'laboratory' | undefined {
  if (specimen !== undefined) return 'laboratory';
  if (isVitalSign(code)) return 'vital-signs';
  return MEASURED.has(obx.value(2) ?? '') ? 'laboratory' : undefined;
}

const isMeasured = ({ resource }: ReportedResource): boolean =>
  resource.resourceType === 'Observation' &&
  resource.category?.some(({ coding }) =>
    coding?.some(({ code }) => code === 'laboratory'),
  ) === true;

/** The order that the report answers, if the report says anything of it. */
function orderOf(
  { orc, obr }: ReportGroup,
  reading: ObservationReading,
): (ServiceRequest & { id: string }) | undefined {
  const group = orc === undefined ? [obr] : [obr, orc];
  const order = mappedResource(group, REPORT_ORDER_MAPPING, reading);
  const isKnown = [
    order.identifier,
    order.requester,
    order.reasonCode,
    order.note,
  ].some((part) => part !== undefined);
  return isKnown ? { ...order, id: 'order' } : undefined;
}

interface AboutResult {
  id: string;
  specimen: OwnSpecimen | undefined;
  parent: ParentResult | undefined;
  /** Whether its parent stands in the same report. */
  isSameReport: boolean;
}

function resultOf(
  group: ReportGroup,
  observation: ObservationGroup,
  { id, specimen, parent, isSameReport }: AboutResult,
  reading: ObservationReading,
): ReportedResource {
  const { segments, notes } = observation;
  const [obx] = segments;
  const code = requiredField(
    conceptIn(obx, 3, reading),
    'OBX-3',
    'the kind of result',
  );
  const file = fileOf(obx);
  if (file !== undefined)
    return {
      resource: { ...documentOf(group, obx, file, reading), id, type: code },
    };
  const status = observationStatus(obx.value(11));
  const subId = reading.hasSubIds ? obx.value(4) : undefined;
  const value =
    segments.length === 1
      ? observationValue(obx, reading)
      : { valueString: linesOf(segments, 5) };
  const isEmpty = Object.keys(value).length === 0;
  const at = hl7TimeInFhir(obx.value(14), reading.time);
  const laboratory = obx.value(23) ?? obx.value(15, 2) ?? obx.value(15, 1);
  const performer = [
    ...(laboratory === undefined ? [] : [{ display: laboratory }]),
    ...practitionersIn(obx, 16),
  ];
  const note = [noteText(notes), unitNote(value, obx)].filter(
    (text) => text !== undefined,
  );
  const resource: Observation & { id: string } = {
    resourceType: 'Observation',
    id,
    status,
    ...resultCategory(group.obr.value(24), looksLike(obx, code, specimen)),
    code: withNames(code, [organismOf(parent), subId]),
    ...SUBJECT,
    ...(at === undefined ? timeOf(group, reading) : { effectiveDateTime: at }),
    ...issuedOf(
      hl7TimeInFhir(obx.value(19) ?? group.obr.value(22), reading.time),
    ),
    ...value,
    ...mappedElements([obx], RESULT_MAPPING.elements, reading),
    ...derivationOf(parent, isSameReport),
    ...interpretationOf(obx),
    ...referenceRangeOf(obx),
  };
  if (performer.length > 0) resource.performer = performer;
  if (specimen !== undefined)
    resource.specimen = { reference: `Specimen/${specimen.id}` };
  if (note.length > 0) resource.note = note.map((text) => ({ text }));

  const { sourceId, id: parentId } = parent ?? {};
  const isElsewhere =
    sourceId !== undefined && parentId !== undefined && !isSameReport;
  return {
    resource,
    ...(isElsewhere ? { parent: { sourceId, id: parentId } } : {}),
    ...(obx.value(11) === 'U' && isEmpty ? { isStatusOnly: true } : {}),
  };
}

/** The flags of a result: OBX-8. */
export function interpretationOf(
  obx: Hl7Segment,
): Pick<Observation, 'interpretation'> {
  const coding = obx
    .repetitions(8)
    .flatMap((flag) => flag(1) ?? [])
    .map((code) => ({ system: INTERPRETATION, code }));
  return coding.length === 0 ? {} : { interpretation: [{ coding }] };
}

const organismOf = (parent: ParentResult | undefined): string | undefined =>
  parent?.isOrganism === true ? parent.name : undefined;

/** The code with what tells it from equal ones: `Ampicillin [E. coli]`. */
function withNames(
  code: CodeableConcept,
  names: readonly (string | undefined)[],
): CodeableConcept {
  const added = names.flatMap((name) =>
    name === undefined ? [] : [`[${name}]`],
  );
  if (added.length === 0) return code;
  const text = code.text ?? code.coding?.[0]?.code;
  return { ...code, text: [text, ...added].join(' ') };
}

/**
 * What a result derives from. The reference to a result of another report is
 * put in where that report's id is known.
 */
function derivationOf(
  parent: ParentResult | undefined,
  isSameReport: boolean,
): Pick<Observation, 'derivedFrom'> {
  if (parent === undefined) return {};
  const { id, name, number, sourceId } = parent;
  const isKnown = id !== undefined && sourceId !== undefined;
  if (!isKnown && number === undefined && name === undefined) return {};
  return {
    derivedFrom: [
      {
        ...(isKnown && isSameReport ? { reference: `Observation/${id}` } : {}),
        type: 'Observation',
        ...(isKnown || number === undefined
          ? {}
          : { identifier: { value: number } }),
        ...(name === undefined ? {} : { display: name }),
      },
    ],
  };
}

function documentOf(
  group: ReportGroup,
  obx: Hl7Segment,
  file: object,
  reading: ObservationReading,
): DocumentReference {
  const date = hl7TimeInFhir(
    obx.value(14) ?? group.obr.value(22),
    reading.time,
  );
  return {
    resourceType: 'DocumentReference',
    status: isMistaken(obx.value(11)) ? 'entered-in-error' : 'current',
    ...SUBJECT,
    ...(date?.includes('T') ? { date } : {}),
    content: [{ attachment: file }],
    context: { related: [{ reference: REPORT }] },
  };
}

function timeOf(
  { obr, spm }: ReportGroup,
  { time }: ObservationReading,
): { effectiveDateTime?: string } {
  const at =
    hl7TimeInFhir(obr.value(7), time) ?? hl7TimeInFhir(spm?.value(17), time);
  return at === undefined ? {} : { effectiveDateTime: at };
}

/** `issued` is an instant: a day is not precise enough. */
const issuedOf = (at: string | undefined): { issued?: string } =>
  at?.includes('T') ? { issued: at } : {};

function numberOf({
  orc,
  obr,
}: ReportGroup): Pick<DiagnosticReport, 'identifier'> {
  const segment = obr.value(3) === undefined ? orc : obr;
  const value = segment?.value(3);
  if (value === undefined) return {};
  const oid = segment?.value(3, 4) === 'ISO' ? segment.value(3, 3) : undefined;
  return {
    identifier: [
      { ...(oid === undefined ? {} : { system: `urn:oid:${oid}` }), value },
    ],
  };
}

/** A range whose bounds are in the wrong order is kept as text only. */
export function referenceRangeOf(
  obx: Hl7Segment,
): Pick<Observation, 'referenceRange'> {
  const text = obx.texts(7).join('~').trim();
  if (text === '' || text === '""') return {};
  const [, low, high] = RANGE.exec(text) ?? [];
  if (low === undefined || high === undefined)
    return { referenceRange: [{ text }] };
  if (Number(low) > Number(high)) {
    obx.remark(7, 'reversed');
    return { referenceRange: [{ text }] };
  }
  const numbers = {
    low: hl7Decimal('value', low),
    high: hl7Decimal('value', high),
  };
  return { referenceRange: [{ ...numbers, text }] };
}

const RANGE = /^(\d+(?:\.\d+)?)\s*-\s*(\d+(?:\.\d+)?)$/;

const conceptIn = (
  segment: Hl7Segment,
  field: number,
  { sender }: ObservationReading,
): CodeableConcept | undefined =>
  codedElement(segment.repetitions(field)[0], sender);

const linesOf = (segments: readonly Hl7Segment[], field: number): string =>
  segments.flatMap((segment) => segment.texts(field)).join('\n');

/** The text of notes (NTE-3), line by line; undefined when there is none. */
export const noteText = (notes: readonly Hl7Segment[]): string | undefined =>
  linesOf(notes, 3).trim() || undefined;
