import { conceptText, unique } from '../../rules/words.ts';
import { isActive, isOfEncounter, onset, stateOf } from '../condition.ts';
import type { SummaryEntry } from '../entry.ts';
import { allergyReactions } from '../problems.ts';
import { isSocial } from '../social-findings.ts';
import { type BlockRule, Counts } from './block-rule.ts';
import { OtherStatements } from './other-statements.ts';

export const allergiesBlock: BlockRule = {
  section: 'allergies',
  title: 'Allergies and intolerances',
  types: ['AllergyIntolerance'],
  itemsMax: 40,
  item: ['allergy', 'allergies'],
  collect: () => {
    const entries: SummaryEntry[] = [];
    const others = new Counts();
    const statements = new OtherStatements();
    return {
      take: (entry) => {
        if (isActive(entry)) {
          entries.push(entry);
          return;
        }
        others.add('inactive or refuted allergy', 'inactive or refuted allergies');
        statements.note(conceptText(entry.content.code), entry, stateOf(entry).toLowerCase());
      },
      collected: () => ({
        items: entries.map((entry) => {
          const isHigh = entry.content.criticality === 'high';
          return {
            text: conceptText(entry.content.code) ?? 'Unnamed substance',
            detail: unique([
              isHigh ? 'high criticality' : undefined,
              allergyReactions(entry.content),
              unlessActive(entry),
              onset(entry),
              statements.about(conceptText(entry.content.code), [entry]),
            ]).join('; '),
            ...(isHigh && { tone: 'alert' as const }),
          };
        }),
        none: others.isEmpty ? undefined : 'None of the delivered allergies is active.',
        others,
      }),
    };
  },
};

/** Entries with the same name are one item, with all their days. */
export const problemsBlock: BlockRule = {
  section: 'problems',
  title: 'Active problems',
  types: ['Condition'],
  itemsMax: 20,
  item: ['active problem', 'active problems'],
  collect: () => {
    const byName = new Map<string, { name: string; entries: SummaryEntry[] }>();
    const others = new Counts();
    const statements = new OtherStatements();
    return {
      take: (entry) => {
        if (isSocial(entry.content)) others.add('social or other finding');
        else if (isOfEncounter(entry)) others.add('diagnosis at an encounter', 'diagnoses at encounters');
        else if (!isActive(entry)) {
          others.add('past problem');
          statements.note(conceptText(entry.content.code), entry, stateOf(entry).toLowerCase());
        } else {
          const name = conceptText(entry.content.code) ?? 'Unnamed problem';
          const known = byName.get(name.toLowerCase());
          if (known === undefined) byName.set(name.toLowerCase(), { name, entries: [entry] });
          else known.entries.push(entry);
        }
      },
      collected: () => ({
        items: [...byName.values()].map(({ name, entries }) => ({
          text: name,
          detail: unique([
            ...entries.map((entry) => {
              const since = onset(entry);
              return unique([since && `since ${since}`, unlessActive(entry)]).join(', ');
            }),
            statements.about(name, entries),
          ]).join('; '),
        })),
        none: others.isEmpty ? undefined : 'None of the delivered problems is active.',
        others,
      }),
    };
  },
};

const unlessActive = (entry: SummaryEntry): string | undefined => {
  const state = stateOf(entry);
  return state === 'Active' ? undefined : state.toLowerCase();
};
