import { isEnteredInError } from '../fhir/codes.ts';
import type { Json } from '../fhir/json.ts';
import {
  classText,
  codesOf,
  conceptTexts,
  firstDay,
  periodText,
  statusText,
  unique,
} from '../fhir/words.ts';
import type { OverviewItem } from '../parts.ts';
import { procedureName } from '../procedures.ts';
import { type Lookup, nameOfReferred, type SummaryEntry } from '../section.ts';
import {
  type Collect,
  LeftOutCounts,
  referencesOf,
  withAge,
  yearsAgo,
} from './block-rule.ts';
import { kindOfProcedure } from './procedure-kinds.ts';

/** Stays and emergency visits that page one lists, and other visits. */
const STAYS_MAX = 4;
const VISITS_MAX = 2;

/** Of v3 ActCode; sources also send the words. */
const STAY_CLASSES = [
  'IMP',
  'ACUTE',
  'NONAC',
  'OBSENC',
  'SS',
  'EMER',
  'inpatient',
  'emergency',
];
const STAY_WORDS =
  /\badmission\b|\binpatient\b|\bemergency\b|\bhospice\b|intensive care/i;

function isStay(content: Json): boolean {
  const codes = codesOf({ coding: [content.class] });
  const words = `${classText(content.class) ?? ''} ${conceptTexts(content.type)}`;
  return (
    codes.some((code) => STAY_CLASSES.includes(code)) || STAY_WORDS.test(words)
  );
}

/** Stays and emergency visits first, then the last other visits. */
export const collectEncounters: Collect = ({ lookup, madeAt }) => {
  const stays: OverviewItem[] = [];
  const visits: OverviewItem[] = [];
  const others = new LeftOutCounts();
  return {
    take: ({ content }) => {
      if (content.status === 'entered-in-error')
        return others.add('retracted encounter');
      const [list, max] = isStay(content)
        ? [stays, STAYS_MAX]
        : [visits, VISITS_MAX];
      if (list.length < max) list.push(encounterItem(content, lookup, madeAt));
      else if (list === stays)
        others.add(
          'earlier stay or emergency visit',
          'earlier stays and emergency visits',
        );
      else others.add('earlier visit');
    },
    collected: () => ({
      items: [...stays, ...visits],
      none: others.isEmpty ? undefined : 'None that is valid.',
      others,
    }),
  };
};

const encounterItem = (
  content: Json,
  lookup: Lookup,
  madeAt: Date,
): OverviewItem => ({
  of: referencesOf([{ content }]),
  text: conceptTexts(content.type) || 'Encounter',
  detail: unique([
    withAge(
      periodText(content.period, content.status === 'in-progress') ?? 'undated',
      yearsAgo(content, madeAt),
    ),
    content.status === 'finished'
      ? undefined
      : statusText(content.status)?.toLowerCase(),
    classText(content.class),
    conceptTexts(content.reasonCode),
    nameOfReferred(content.serviceProvider, lookup),
  ]).join('; '),
});

interface Procedures {
  name: string;
  kind: number;
  entries: [SummaryEntry, ...SummaryEntry[]];
}

/**
 * Major procedures (`procedure-kinds.ts`), those of one name together, the most
 * important kind first.
 */
export const collectProcedures: Collect = ({ lookup, madeAt }) => {
  const byName = new Map<string, Procedures>();
  const others = new LeftOutCounts();
  return {
    take: (entry) => {
      const { content } = entry;
      if (isEnteredInError(content)) return others.add('retracted procedure');
      if (content.status === 'not-done')
        return others.add(
          'procedure that was not done',
          'procedures that were not done',
        );
      const kind = kindOfProcedure(content);
      if (kind === undefined) return others.add('other procedure');
      const name = procedureName(content, lookup);
      const known = byName.get(name.toLowerCase());
      if (known === undefined)
        byName.set(name.toLowerCase(), { name, kind, entries: [entry] });
      else known.entries.push(entry);
    },
    collected: () => ({
      items: [...byName.values()]
        .sort((left, right) => left.kind - right.kind)
        .map((each) => procedureItem(each, madeAt)),
      none: others.isEmpty ? undefined : 'None of the delivered ones is major.',
      others,
    }),
  };
};

function procedureItem(
  { name, entries }: Procedures,
  madeAt: Date,
): OverviewItem {
  const [{ content: newest }] = entries;
  const day =
    firstDay(newest, 'performedDateTime', 'performedPeriod') ?? 'undated';
  const last = withAge(day, yearsAgo(newest, madeAt));
  const times =
    entries.length === 1 ? last : `${entries.length} times, last ${last}`;
  // What was stopped, or is still to come, is not done.
  const states = entries.map(({ content }) =>
    content.status === 'completed'
      ? undefined
      : statusText(content.status)?.toLowerCase(),
  );
  return {
    of: referencesOf(entries),
    text: name,
    detail: unique([...states, times]).join('; '),
  };
}
