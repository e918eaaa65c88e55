import { lookupTable } from '../../../lib/lookup-table.ts';
import type { AbsenceTopic } from '../rules/absence.ts';
import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import words from '../rules/reader-words.json' with { type: 'json' };
import {
  amountText,
  codesOf,
  conceptText,
  conceptTexts,
  momentText,
  periodText,
  referenceText,
  statusText,
  unique,
} from '../rules/words.ts';
import { directions, doseText, routeText } from './directions.ts';
import { resultTable, vitalSignTable } from './measurements.ts';
import {
  isCurrent,
  isTaken,
  medicationName,
  prescriptionStatus,
} from './medications.ts';
import {
  categoryOf,
  flagOf,
  isEmpty,
  observationName,
  valueIn,
} from './observation.ts';
import { row, type SummaryCell } from './parts.ts';
import {
  allergyReactions,
  gradesOf,
  hasAllergy,
  hasProblem,
  isActive,
  isOfEncounter,
  isSocial,
  problemName,
  stateOf,
} from './problems.ts';
import { procedureCell } from './procedures.ts';
import {
  type Denial,
  type Lookup,
  ORIGIN,
  reasonsOf,
  type SectionRule,
  type TableRule,
} from './section.ts';
import table from './sections.json' with { type: 'json' };

/** A table of `sections.json`, with a row for each resource. */
interface TableRow {
  caption: string;
  types: readonly string[];
  /**
   * Which of these resources belong in the table, by the names of `SHOWN`; all,
   * if it is missing.
   */
  shows?: string;
  /** Titles of the columns with numbers. */
  numeric?: readonly string[];
  /**
   * What a cell says, by the title of its column. `day recorded issued`: the
   * first of these elements that says something, in a form of `FORMS`. `a.b` is
   * an element of the first `a`, `a*.b` those of all. `|` divides alternatives,
   * and `+` what is said one after the other. `@name`: a cell of `NAMED`.
   */
  cells: Readonly<Record<string, string>>;
}

interface SectionRow extends Omit<SectionRule, 'tables' | 'statements'> {
  topic?: string;
  tables?: readonly TableRow[];
  /** Instead of `tables`, if rows do not correspond to single resources. */
  rows?: string;
}

type Cell = (
  content: Json,
  lookup: Lookup,
) => string | readonly string[] | SummaryCell | undefined;

const CLASSES: Readonly<Record<string, string>> = lookupTable(words.classes);
export const classText = (of: unknown): string | undefined =>
  isJson(of)
    ? (CLASSES[textOf(of.code) ?? ''] ?? textOf(of.display) ?? textOf(of.code))
    : undefined;

const FORMS: Readonly<Record<string, (value: unknown) => string | undefined>> =
  {
    amount: amountText,
    class: classText,
    concept: conceptText,
    day: (value) => periodText(value),
    directions,
    dose: doseText,
    moment: momentText,
    reference: referenceText,
    since: (value) => periodText(value, true),
    status: statusText,
    text: textOf,
  };

/** Statuses of what is as it stands; any other one must be seen. */
const USUAL = ['active', 'available', 'completed', 'partial'];

const NAMED: Readonly<Record<string, Cell>> = {
  activities: ({ activity }) =>
    unique(
      objectsOf(activity).map(({ detail }) =>
        isJson(detail)
          ? (conceptText(detail.code) ?? textOf(detail.description))
          : undefined,
      ),
    ),
  conclusion: ({ result, conclusion, conclusionCode, presentedForm }) => {
    const count = objectsOf(result).length;
    return unique([
      textOf(conclusion) ?? conceptTexts(conclusionCode),
      count === 0 ? '' : `${count} result${count === 1 ? '' : 's'}`,
      objectsOf(presentedForm).length === 0 ? '' : 'Text in the FHIR Bundle',
    ]);
  },
  course: ({ period, status }) =>
    periodText(period, status === 'active' || status === 'in-progress'),
  criticality: ({ criticality }) =>
    criticality === 'high'
      ? { text: 'High', tone: 'alert' }
      : statusText(criticality),
  diagnoses: ({ diagnosis }, lookup) =>
    reasonsOf(
      {
        reasonReference: objectsOf(diagnosis).map(({ condition }) => condition),
      },
      lookup,
    ),
  encounter: ({ type, status }) =>
    unique([
      conceptTexts(type),
      status === 'finished' ? '' : statusText(status),
    ]).join(', '),
  formats: (content) =>
    unique(
      valuesAt(content, ['content*', 'attachment', 'contentType']).map(
        formatName,
      ),
    ).join(', '),
  kinds: ({ category }) =>
    unique(
      objectsOf(category).map((each) => statusText(codesOf(each)[0])),
    ).join(', '),
  medication: medicationName,
  modality: ({ modality, series }) =>
    unique(
      [
        ...objectsOf(modality),
        ...objectsOf(series).map((each) => each.modality),
      ].map((each) =>
        isJson(each) ? (textOf(each.display) ?? textOf(each.code)) : undefined,
      ),
    ).join(', '),
  observation: (content, { linked }) => observationName(content, linked),
  prescription: prescriptionStatus,
  problem: (content, lookup) =>
    unique([problemName(content, lookup), ...gradesOf(content)]).join('; '),
  procedure: procedureCell,
  reactions: allergyReactions,
  reasons: reasonsOf,
  report: ({ code, status }) =>
    unique([
      conceptText(code),
      status === 'final' ? '' : statusText(status)?.toLowerCase(),
    ]).join(', '),
  state: (content) => stateOf({ content }),
  unusual: ({ status }) =>
    USUAL.includes(String(status)) ? '' : statusText(status),
  vaccineDose: ({ doseQuantity, route, site }) =>
    unique([doseText(doseQuantity), routeText(route), conceptText(site)]).join(
      ', ',
    ),
  vaccineStatus: ({ status, statusReason, reasonCode }) =>
    unique([
      statusText(status),
      conceptText(statusReason),
      conceptTexts(reasonCode),
    ]).join(': '),
  value: (content) => {
    const parts = objectsOf(content.component);
    const isAlert = [content, ...parts].some((part) => flagOf(part)?.isAlert);
    const text = unique([
      valueText(content),
      ...parts.map(
        (part) => `${conceptText(part.code) ?? ''}: ${valueText(part) ?? ''}`,
      ),
    ]).join('; ');
    return isAlert ? { text, tone: 'alert' } : text;
  },
};

function valueText(of: Json): string | undefined {
  const value = valueIn(of);
  const flag = flagOf(of);
  return (
    value &&
    `${value.value} ${value.unit}`.trim() +
      (flag?.isAlert ? ` (${flag.text})` : '')
  );
}

const FORMATS: Readonly<Record<string, string>> = lookupTable(words.formats);
function formatName(contentType: unknown): string | undefined {
  const plain = textOf(contentType)?.split(';', 1)[0]?.trim();
  return plain && (FORMATS[plain] ?? plain);
}

const SHOWN: Readonly<Record<string, (content: Json) => boolean>> = {
  activeProblem: (content) => isActive({ content }) && !isSocial(content),
  pastProblem: (content) =>
    !isActive({ content }) && !isOfEncounter({ content }) && !isSocial(content),
  diagnosisOfEncounter: (content) =>
    isOfEncounter({ content }) && !isSocial(content),
  presentFinding: (content) => isSocial(content) && isActive({ content }),
  pastFinding: (content) => isSocial(content) && !isActive({ content }),
  current: (content) => isCurrent({ content }),
  past: (content) => !isCurrent({ content }),
  filled: (content) => !isEmpty(content),
  otherObservation: (content) =>
    categoryOf(content) === 'other' && !isEmpty(content),
};

/** Which resources contradict a source's statement that there is none. */
const DENIALS: Readonly<Record<AbsenceTopic, Denial>> = {
  allergies: hasAllergy,
  devices: ({ content }) => content.resourceType === 'Device',
  immunizations: ({ content }) => content.status === 'completed',
  medications: isTaken,
  problems: hasProblem,
  procedures: ({ content }) =>
    content.status !== 'not-done' && content.status !== 'entered-in-error',
};

const MEASURED: Readonly<Record<string, TableRule>> = {
  results: resultTable,
  vitalSigns: vitalSignTable,
};

/** The sections of a summary, in their order. */
export const SECTIONS: readonly SectionRule[] = (
  table.sections as readonly SectionRow[]
).map(({ topic, tables = [], rows, ...section }) => ({
  ...section,
  ...(topic !== undefined && {
    statements: {
      topic: topic as AbsenceTopic,
      denies: DENIALS[topic as AbsenceTopic],
    },
  }),
  tables: rows === undefined ? tables.map(tableOf) : [named(MEASURED, rows)],
}));

function tableOf({
  caption,
  types,
  shows,
  numeric = [],
  cells,
}: TableRow): TableRule {
  const isShown = shows === undefined ? () => true : named(SHOWN, shows);
  const says = Object.values(cells).map(cellOf);
  return {
    caption,
    types,
    shows: isShown,
    columns: [
      ...Object.keys(cells).map((title) => ({
        title,
        isNumeric: numeric.includes(title),
      })),
      ORIGIN,
    ],
    row: ({ content, origin }, lookup) =>
      isShown(content)
        ? row(...says.map((say) => say(content, lookup)), origin)
        : undefined,
  };
}

function cellOf(
  rule: string,
): (content: Json, lookup: Lookup) => string | SummaryCell {
  const parts = rule
    .split(' + ')
    .map((part) => part.split(' | ').map(alternative));
  return (content, lookup) => {
    const said = parts.map((ways) =>
      ways
        .map((way) => way(content, lookup))
        .find((each) => each !== undefined && each !== ''),
    );
    return (
      said.find(isCell) ??
      unique(said.flatMap((each) => (isCell(each) ? [] : each))).join('; ')
    );
  };
}

const isCell = (said: ReturnType<Cell>): said is SummaryCell => isJson(said);

function alternative(rule: string): Cell {
  if (rule.startsWith('@')) return named(NAMED, rule.slice(1));
  const [form = '', ...paths] = rule.split(' ');
  const say = named(FORMS, form);
  const elements = paths.map((path) => path.split('.'));
  return (content) =>
    elements
      .map((path) => unique(valuesAt(content, path).map(say)))
      .find((texts) => texts.length > 0);
}

/** What an element has: of its parents the first, or all of `parent*`. */
const valuesAt = (content: Json, path: readonly string[]): readonly unknown[] =>
  path.reduce<readonly unknown[]>(
    (parents, step) =>
      parents.flatMap((parent): readonly unknown[] => {
        const [first] = objectsOf(parent);
        return step.endsWith('*')
          ? objectsOf(first?.[step.slice(0, -1)])
          : [first?.[step]];
      }),
    [content],
  );

function named<T>(of: Readonly<Record<string, T>>, name: string): T {
  const found = of[name];
  if (found === undefined)
    throw new Error(`sections.json names ${name}, which does not exist`);
  return found;
}
