import { isEnteredInError } from '../fhir/codes.ts';
import { isJson, type Json, objectsOf, textOf } from '../fhir/json.ts';
import { marksOf } from '../fhir/modifiers.ts';
import { conceptText, conceptTexts, firstDay, unique } from '../fhir/words.ts';
import { withRemarks } from '../observation.ts';
import type { OverviewItem } from '../parts.ts';
import {
  allergyName,
  allergyReactions,
  gradesOf,
  isActive,
  isOfEncounter,
  isSocial,
  onset,
  problemName,
  problemState,
} from '../problems.ts';
import { complicationsOf, procedureName } from '../procedures.ts';
import { vaccineReactions } from '../resource-cells.ts';
import {
  type Lookup,
  nameOfReferred,
  type SummaryEntry,
  withoutShorter,
} from '../section.ts';
import {
  type Collect,
  LeftOutCounts,
  OtherStatements,
  referencesOf,
} from './block-rule.ts';
import { importanceOf, placeByState } from './problem-importance.ts';

/**
 * What sources say of one substance is one item: the table has each entry. Two
 * that name no substance may be about two.
 */
export const collectAllergies: Collect = () => {
  const byName = new Map<string, SummaryEntry[]>();
  const others = new LeftOutCounts();
  const statements = new OtherStatements();
  return {
    take: (entry) => {
      if (isActive(entry)) {
        const name =
          allergyName(entry.content)?.toLowerCase() ?? String(entry.content.id);
        byName.set(name, [...(byName.get(name) ?? []), entry]);
        return;
      }
      others.add(
        'inactive or refuted allergy',
        'inactive or refuted allergies',
      );
      statements.note(
        allergyName(entry.content),
        entry,
        problemState(entry).toLowerCase(),
      );
    },
    collected: () => ({
      items: [...byName.values()].sort(highFirst).map((entries) => {
        const isHigh = entries.some(isHighlyCritical);
        const name = allergyName(entries[0]?.content ?? {});
        return {
          of: referencesOf(entries),
          text: name ?? 'Unnamed substance',
          detail: unique([
            isHigh ? 'high criticality' : undefined,
            ...withoutShorter(
              entries.flatMap(({ content }) =>
                allergyReactions(content).split('; '),
              ),
            ),
            ...entries.map(unlessActive),
            ...entries.map(onset),
            entries.length > 1 ? `${entries.length} entries` : undefined,
            statements.about(name, entries),
          ]).join('; '),
          ...(isHigh && { tone: 'alert' as const }),
        };
      }),
      none: others.isEmpty
        ? undefined
        : 'None of the delivered allergies is active.',
      others,
    }),
  };
};

const isHighlyCritical = ({ content }: SummaryEntry): boolean =>
  content.criticality === 'high';

const highFirst = (
  left: readonly SummaryEntry[],
  right: readonly SummaryEntry[],
): number =>
  Number(right.some(isHighlyCritical)) - Number(left.some(isHighlyCritical));

/**
 * Entries with the same name are one item, with all their days. What went wrong
 * in a procedure is a problem, too.
 */
export const collectProblems: Collect = ({ lookup }) => {
  const complications: OverviewItem[] = [];
  const byName = new Map<string, { name: string; entries: SummaryEntry[] }>();
  const others = new LeftOutCounts();
  const statements = new OtherStatements();
  return {
    take: (entry) => {
      if (entry.content.resourceType === 'Procedure')
        complications.push(...complicationItems(entry, lookup));
      else if (isSocial(entry.content)) others.add('social or other finding');
      else if (isOfEncounter(entry))
        others.add('diagnosis at an encounter', 'diagnoses at encounters');
      else if (!isActive(entry)) {
        others.add('past problem');
        statements.note(
          problemName(entry.content, lookup),
          entry,
          problemState(entry).toLowerCase(),
        );
      } else {
        const name = problemName(entry.content, lookup) ?? 'Unnamed problem';
        const known = byName.get(name.toLowerCase());
        if (known === undefined)
          byName.set(name.toLowerCase(), { name, entries: [entry] });
        else known.entries.push(entry);
      }
    },
    collected: () => ({
      items: [
        ...[...byName.values()].sort(byImportance).map(({ name, entries }) => ({
          of: referencesOf(entries),
          text: name,
          detail: unique([
            ...entries.flatMap(({ content }) => gradesOf(content)),
            ...entries.map((entry) => {
              const since = onset(entry);
              return unique([
                since && `since ${since}`,
                unlessActive(entry),
              ]).join(', ');
            }),
            statements.about(name, entries),
          ]).join('; '),
        })),
        ...complications,
      ],
      none: others.isEmpty
        ? undefined
        : 'None of the delivered problems is active.',
      others,
    }),
  };
};

/** By what they are, then by state; newest first as they come. */
const byImportance = (
  left: { entries: readonly SummaryEntry[] },
  right: { entries: readonly SummaryEntry[] },
): number => {
  const placeOf = ({ entries }: typeof left): [number, number] => [
    Math.min(...entries.map(({ content }) => importanceOf(content))),
    Math.min(...entries.map(({ content }) => placeByState(content))),
  ];
  const [importance, state] = placeOf(left);
  const [otherImportance, otherState] = placeOf(right);
  return importance - otherImportance || state - otherState;
};

/** One item for a procedure with complications, unless it was withdrawn. */
function complicationItems(
  { content }: SummaryEntry,
  lookup: Lookup,
): OverviewItem[] {
  const complications = complicationsOf(content, lookup);
  if (complications.length === 0 || isEnteredInError(content)) return [];
  const name = procedureName(content, lookup) || 'a procedure';
  return [
    {
      of: referencesOf([{ content }]),
      text: `Complication of ${name}: ${complications.join(', ')}`,
      detail:
        firstDay(content, 'performedDateTime', 'performedPeriod') ?? 'undated',
      tone: 'alert',
    },
  ];
}

const unlessActive = (entry: SummaryEntry): string | undefined => {
  const state = problemState(entry);
  return state === 'Active' ? undefined : state.toLowerCase();
};

/** A series has fewer; of what is given each year, the last ones count. */
const DAYS_MAX = 3;

/** A day on which a vaccine was given, with what is remarked about it. */
interface VaccineDay {
  text: string;
  isRemarked: boolean;
}

/** Doses of one vaccine are one item with their days. */
export const collectImmunizations: Collect = () => {
  const days = new Map<
    string,
    { name: string; days: VaccineDay[]; of: OverviewItem['of'][number][] }
  >();
  const others = new LeftOutCounts();
  return {
    take: (entry) => {
      const { content } = entry;
      if (content.status === 'entered-in-error')
        return others.add('retracted immunization');
      if (content.status === 'not-done')
        return others.add(
          'vaccine that was not given',
          'vaccines that were not given',
        );
      const name = conceptText(content.vaccineCode) ?? 'Unnamed vaccine';
      const day =
        firstDay(content, 'occurrenceDateTime') ??
        textOf(content.occurrenceString) ??
        'undated';
      const remarks = [...marksOf(content).words, ...reactionsTo(content)];
      const given = {
        text: withRemarks(day, remarks),
        isRemarked: remarks.length > 0,
      };
      const known = days.get(name.toLowerCase()) ?? { name, days: [], of: [] };
      const of = [...known.of, ...referencesOf([entry])];
      days.set(name.toLowerCase(), { name, days: [...known.days, given], of });
    },
    collected: () => ({
      items: [...days.values()].map(({ name, days: given, of }) => ({
        of,
        text: name,
        detail: daysText(given),
      })),
      none: others.isEmpty ? undefined : 'None that was given.',
      others,
    }),
  };
};

/** The last days, and each earlier one of which something is remarked. */
function daysText(days: readonly VaccineDay[]): string {
  const shown = days.filter(
    ({ isRemarked }, index) => index < DAYS_MAX || isRemarked,
  );
  const texts = shown.map(({ text }) => text).join('; ');
  const doses = days.length > 1 ? `${days.length} doses: ` : '';
  return `${doses}${texts}${days.length > shown.length ? '; earlier ones' : ''}`;
}

/** What is stated to have followed a vaccine, in notes too. */
const reactionsTo = (content: Json): string[] =>
  [
    ...vaccineReactions(content),
    ...objectsOf(content.note).flatMap(({ text }) => textOf(text) ?? []),
  ].filter((text) => /^reaction\b/i.test(text));

export const collectCareTeam: Collect = ({ lookup }) => {
  const rolesByName = new Map<
    string,
    { roles: string[]; of: OverviewItem['of'][number][] }
  >();
  const others = new LeftOutCounts();
  return {
    take: (entry) => {
      const { content } = entry;
      const add = (
        name: string | undefined,
        ...added: (string | undefined)[]
      ) => {
        const { roles, of } = rolesByName.get(name ?? '') ?? {
          roles: [],
          of: [],
        };
        const now = {
          roles: unique([...roles, ...added]),
          of: [...of, ...referencesOf([entry])],
        };
        if (name !== undefined) rolesByName.set(name, now);
      };
      if (content.resourceType === 'Patient') {
        for (const each of objectsOf(content.generalPractitioner))
          add(nameOfReferred(each, lookup), 'general practitioner');
        return;
      }
      if (!isOngoing(content)) return others.add('past care team');
      const team =
        textOf(content.name) ?? (conceptTexts(content.reasonCode) || undefined);
      for (const { member, role } of objectsOf(content.participant)) {
        const isPatient =
          isJson(member) && String(member.reference).startsWith('Patient/');
        if (!isPatient)
          add(nameOfReferred(member, lookup), conceptTexts(role), team);
      }
    },
    collected: () => ({
      items: [...rolesByName].map(([text, { roles, of }]) => ({
        of,
        text,
        detail: roles.join('; '),
      })),
      none: others.isEmpty ? undefined : 'No present member is named.',
      others,
    }),
  };
};

const isOngoing = ({ status, period }: Json): boolean =>
  status === 'active' ||
  status === 'proposed' ||
  (status === undefined && !(isJson(period) && 'end' in period));
