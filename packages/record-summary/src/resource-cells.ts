import type { Cell } from './cells.ts';
import { doseText, routeText } from './directions.ts';
import { codeTable } from './fhir/code-table.ts';
import { isJson, type Json, objectsOf, textOf } from './fhir/json.ts';
import { activityMarks } from './fhir/modifiers.ts';
import { FORMAT_NAMES } from './fhir/reader-words.ts';
import {
  amountText,
  codesOf,
  conceptText,
  conceptTexts,
  numberText,
  periodText,
  referenceText,
  statusText,
  unique,
} from './fhir/words.ts';
import {
  flagOf,
  rangeText,
  valueWithUnit,
  withRemarks,
} from './observation.ts';
import { gradesOf, problemName } from './problems.ts';
import { reasonsOf } from './section.ts';

// What cells say of several elements of a resource together.

export const problemCell: Cell<'Condition'> = (content, lookup) =>
  unique([problemName(content, lookup), ...gradesOf(content)]).join('; ');

export const criticality: Cell<'AllergyIntolerance'> = ({ criticality }) =>
  criticality === 'high'
    ? { text: 'High', tone: 'alert' }
    : statusText(criticality);

export const vaccineDose: Cell<'Immunization'> = ({
  doseQuantity,
  protocolApplied,
  route,
  site,
}) =>
  unique([
    ...objectsOf(protocolApplied).map(doseNumber),
    doseText(doseQuantity),
    routeText(route),
    conceptText(site),
  ]).join(', ');

/** Which dose of a series it was: `dose 2`. */
function doseNumber({
  doseNumberPositiveInt,
  doseNumberString,
}: Json): string | undefined {
  const number = numberText(doseNumberPositiveInt) ?? textOf(doseNumberString);
  return number && `dose ${number}`;
}

/** What is said of the reactions to a substance. */
export const reactionNotes: Cell<'AllergyIntolerance'> = ({ reaction }) =>
  unique(
    objectsOf(reaction)
      .flatMap(({ note }) => objectsOf(note))
      .map(({ text }) => textOf(text)),
  );

/** A goal, and what is to be reached: `Weight: 160 lb`. */
export const goalCell: Cell<'Goal'> = ({ description, target }) => {
  const targets = unique(objectsOf(target).map(targetText)).join(', ');
  return unique([conceptText(description), targets]).join(': ');
};

const targetText = ({
  detailQuantity,
  detailRange,
  detailCodeableConcept,
  detailString,
}: Json): string | undefined =>
  amountText(detailQuantity) ??
  rangeText(detailRange) ??
  conceptText(detailCodeableConcept) ??
  textOf(detailString);

/** The members of a care team, each with what they do. */
export const careTeamMembers: Cell<'CareTeam'> = ({ participant }) =>
  unique(
    objectsOf(participant).map(({ member, role }) => {
      const name = referenceText(member);
      const roles = conceptTexts(role);
      return name && roles ? `${name} (${roles})` : name;
    }),
  );

/**
 * The illnesses of a relative, with the age at their onset and whether they led
 * to death.
 */
export const familyConditions: Cell<'FamilyMemberHistory'> = ({ condition }) =>
  unique(
    objectsOf(condition).map(({ code, onsetAge, contributedToDeath }) => {
      const age = amountText(onsetAge);
      const more = [
        age && `at the age of ${age}`,
        contributedToDeath === true ? 'contributed to death' : '',
      ].filter(Boolean);
      const name = conceptText(code);
      return name && more.length > 0 ? `${name} (${more.join(', ')})` : name;
    }),
  );

export const vaccineStatus: Cell<'Immunization'> = ({
  status,
  statusReason,
  reasonCode,
}) =>
  unique([
    statusText(status),
    conceptText(statusReason),
    conceptTexts(reasonCode),
  ]).join(': ');

/** What followed a vaccine: `Reaction: Anaphylaxis`. */
export const vaccineReactions = ({ reaction }: Json): string[] =>
  unique(
    objectsOf(reaction).map(
      ({ detail, date }) =>
        `Reaction: ${unique([referenceText(detail) ?? 'not described', periodText(date)]).join(', ')}`,
    ),
  );

/** The name of a report, and its status unless it is final. */
export const reportName: Cell<'DiagnosticReport'> = ({ code, status }) =>
  unique([
    conceptText(code),
    status === 'final' ? '' : statusText(status)?.toLowerCase(),
  ]).join(', ');

export const conclusion: Cell<'DiagnosticReport'> = ({
  result,
  conclusion,
  conclusionCode,
  presentedForm,
}) => {
  const count = objectsOf(result).length;
  return unique([
    textOf(conclusion) ?? conceptTexts(conclusionCode),
    count === 0 ? '' : `${count} result${count === 1 ? '' : 's'}`,
    formText(objectsOf(presentedForm)),
  ]);
};

/** Where the text of a report is: its files are documents of the patient. */
function formText(forms: readonly Json[]): string {
  if (forms.length === 0) return '';
  const held = forms.filter(({ url }) => textOf(url) !== undefined);
  if (held.length > 0) {
    const formats = held.map(({ contentType }) => formatName(contentType));
    return `Text among the documents (${unique(formats).join(', ')})`;
  }
  return forms.some(({ data }) => textOf(data) !== undefined)
    ? 'Text in the FHIR Bundle'
    : 'Its text was not received';
}

export const modality: Cell<'ImagingStudy'> = ({ modality, series }) =>
  unique(
    [
      ...objectsOf(modality),
      ...objectsOf(series).map((each) => each.modality),
    ].map((each) =>
      isJson(each) ? (textOf(each.display) ?? textOf(each.code)) : undefined,
    ),
  ).join(', ');

/** The types of an encounter, and its status unless it is over. */
export const encounterKind: Cell<'Encounter'> = ({ type, status }) =>
  unique([
    conceptTexts(type),
    status === 'finished' ? '' : statusText(status),
  ]).join(', ');

export const diagnoses: Cell<'Encounter'> = ({ diagnosis }, lookup) =>
  reasonsOf(
    {
      reasonReference: objectsOf(diagnosis).map(({ condition }) => condition),
    },
    lookup,
  );

/** The period of what may still go on. */
export const course: Cell<'CarePlan' | 'CareTeam' | 'Encounter'> = ({
  period,
  status,
}) => periodText(period, status === 'active' || status === 'in-progress');

const attachmentsOf = (content: unknown): readonly Json[] =>
  objectsOf(content).flatMap(({ attachment }) =>
    objectsOf(attachment).slice(0, 1),
  );

export const attachmentTitles: Cell<'DocumentReference'> = ({ content }) =>
  unique(attachmentsOf(content).map(({ title }) => textOf(title)));

/** The status of a document, and whether another one replaces it. */
export const documentStatus: Cell<'DocumentReference'> = (
  { id, status },
  { linked },
) =>
  unique([
    statusText(status),
    linked.replaced.has(textOf(id) ?? '')
      ? 'replaced by another document'
      : undefined,
  ]).join(', ');

const FORMATS = codeTable(FORMAT_NAMES);

export const attachmentFormats: Cell<'DocumentReference'> = ({ content }) =>
  unique(
    attachmentsOf(content).map(({ contentType }) => formatName(contentType)),
  ).join(', ');

function formatName(contentType: unknown): string | undefined {
  const plain = textOf(contentType)?.split(';', 1)[0]?.trim();
  return plain && (FORMATS[plain] ?? plain);
}

export const activities: Cell<'CarePlan'> = (plan) =>
  unique(
    objectsOf(plan.activity).map(({ detail }) =>
      isJson(detail) ? activityText(detail, plan) : undefined,
    ),
  );

function activityText(detail: Json, plan: Json): string | undefined {
  const name = conceptText(detail.code) ?? textOf(detail.description);
  const marks = activityMarks(detail, plan);
  return marks === undefined ? name : withRemarks(name ?? 'unnamed', [marks]);
}

export const categoryNames: Cell<'Observation'> = ({ category }) =>
  unique(objectsOf(category).map((each) => statusText(codesOf(each)[0]))).join(
    ', ',
  );

/** The value of an observation and of its parts. */
export const observedValueCell: Cell<'Observation'> = (content) => {
  const parts = objectsOf(content.component);
  const isAlert = [content, ...parts].some((part) => flagOf(part)?.isAlert);
  const text = unique([
    valueText(content),
    ...parts.map(
      (part) => `${conceptText(part.code) ?? ''}: ${valueText(part) ?? ''}`,
    ),
  ]).join('; ');
  return isAlert ? { text, tone: 'alert' } : text;
};

function valueText(of: Json): string | undefined {
  const value = valueWithUnit(of);
  const flag = flagOf(of);
  return (
    value &&
    `${value.value} ${value.unit}`.trim() +
      (flag?.isAlert ? ` (${flag.text})` : '')
  );
}

/** Statuses of what is as it stands; any other one must be seen. */
const USUAL = ['active', 'available', 'completed'];

export const unusualStatus: Cell<
  'Coverage' | 'FamilyMemberHistory' | 'ImagingStudy'
> = ({ status }) => (USUAL.includes(String(status)) ? '' : statusText(status));
