import { isJson, type Json, objectsOf, textOf } from '../../rules/json.ts';
import { conceptTexts, periodText, referenceText, statusText, unique } from '../../rules/words.ts';
import { classText } from '../care.ts';
import type { OverviewItem } from '../parts.ts';
import { type BlockRule, Counts } from './block-rule.ts';

const RECENT = 5;

export const encountersBlock: BlockRule = {
  section: 'encounters',
  title: 'Recent encounters',
  types: ['Encounter'],
  itemsMax: RECENT,
  item: ['earlier encounter', 'earlier encounters'],
  collect: () => {
    const items: OverviewItem[] = [];
    const others = new Counts();
    return {
      take: ({ content }) => {
        if (content.status === 'entered-in-error') others.add('retracted encounter');
        else if (items.length === RECENT) others.add('earlier encounter');
        else items.push(encounterItem(content));
      },
      collected: () => ({ items, none: others.isEmpty ? undefined : 'None that is valid.', others }),
    };
  },
};

const encounterItem = (content: Json): OverviewItem => ({
  text: conceptTexts(content.type) || 'Encounter',
  detail: unique([
    periodText(content.period, content.status === 'in-progress') ?? 'undated',
    content.status === 'finished' ? undefined : statusText(content.status)?.toLowerCase(),
    classText(content.class),
    conceptTexts(content.reasonCode),
    referenceText(content.serviceProvider),
  ]).join('; '),
});

export const careTeamBlock: BlockRule = {
  section: 'care-plans',
  title: 'Care team',
  types: ['CareTeam', 'Patient'],
  empty: 'The sources have delivered no care team.',
  itemsMax: 12,
  item: ['member of a care team', 'members of care teams'],
  collect: () => {
    const rolesByName = new Map<string, string[]>();
    const others = new Counts();
    const add = (name: string | undefined, ...roles: (string | undefined)[]) => {
      if (name !== undefined) rolesByName.set(name, unique([...(rolesByName.get(name) ?? []), ...roles]));
    };
    return {
      take: ({ content }) => {
        if (content.resourceType === 'Patient') {
          for (const each of objectsOf(content.generalPractitioner))
            add(referenceText(each), 'general practitioner');
          return;
        }
        if (!isOngoing(content)) return others.add('past care team');
        const team = textOf(content.name) ?? (conceptTexts(content.reasonCode) || undefined);
        for (const { member, role } of objectsOf(content.participant)) {
          const isPatient = isJson(member) && String(member.reference).startsWith('Patient/');
          if (!isPatient) add(referenceText(member), conceptTexts(role), team);
        }
      },
      collected: () => ({
        items: [...rolesByName].map(([text, roles]) => ({ text, detail: roles.join('; ') })),
        none: others.isEmpty ? undefined : 'No present member is named.',
        others,
      }),
    };
  },
};

const isOngoing = ({ status, period }: Json): boolean =>
  status === 'active' ||
  status === 'proposed' ||
  (status === undefined && !(isJson(period) && 'end' in period));
