import { type Json, objectsOf } from '../rules/json.ts';
import { conceptText, conceptTexts, firstDay, statusText, unique } from '../rules/words.ts';
import { isActive, isOfEncounter, onset, stateOf } from './condition.ts';
import { type Denial, resourceTable, type SectionRule } from './section.ts';
import { isSocial } from './social-findings.ts';

const hasProblem: Denial = (entry) =>
  entry.content.resourceType === 'Condition' && isActive(entry) && !isSocial(entry.content);

/** An allergy without a category may be one of those that are denied, so it contradicts the statement. */
const hasAllergy: Denial = (entry, { category }) => {
  const categories = Array.isArray(entry.content.category) ? entry.content.category : [];
  const isOfAnother = categories.length > 0 && !categories.includes(category);
  return (
    entry.content.resourceType === 'AllergyIntolerance' &&
    isActive(entry) &&
    (category === undefined || (category !== 'latex' && !isOfAnother))
  );
};

export const problems: SectionRule = {
  id: 'problems',
  title: 'Problems',
  empty: 'The sources have delivered no problems.',
  statements: { topic: 'problems', denies: hasProblem },
  tables: [
    resourceTable({
      caption: 'Active problems',
      types: ['Condition'],
      shows: (content) => isActive({ content }) && !isSocial(content),
      cells: {
        Problem: ({ code }) => conceptText(code),
        Since: (content) => onset({ content }),
        Status: (content) => stateOf({ content }),
      },
    }),
    resourceTable({
      caption: 'Past problems',
      types: ['Condition'],
      shows: (content) => !isActive({ content }) && !isOfEncounter({ content }) && !isSocial(content),
      cells: {
        Problem: ({ code }) => conceptText(code),
        From: (content) => onset({ content }),
        Until: (content) => firstDay(content, 'abatementDateTime', 'abatementPeriod'),
        Status: (content) => stateOf({ content }),
      },
    }),
    resourceTable({
      caption: 'Diagnoses at encounters, of which the sources do not say whether they are active',
      types: ['Condition'],
      shows: (content) => isOfEncounter({ content }) && !isSocial(content),
      cells: {
        Diagnosis: ({ code }) => conceptText(code),
        Date: (content) => onset({ content }),
      },
    }),
  ],
};

export const allergyReactions = (content: Json): string =>
  objectsOf(content.reaction)
    .map((reaction) =>
      unique([conceptTexts(reaction.manifestation), statusText(reaction.severity)?.toLowerCase()]).join(', '),
    )
    .filter((text) => text !== '')
    .join('; ');

export const allergies: SectionRule = {
  id: 'allergies',
  title: 'Allergies and intolerances',
  empty: 'The sources have delivered no allergies; that does not mean that there are none.',
  statements: { topic: 'allergies', denies: hasAllergy },
  tables: [
    resourceTable({
      caption: 'Allergies and intolerances, newest first',
      types: ['AllergyIntolerance'],
      cells: {
        Substance: ({ code }) => conceptText(code),
        Reactions: allergyReactions,
        Criticality: ({ criticality }) =>
          criticality === 'high' ? { text: 'High', tone: 'alert' } : statusText(criticality),
        Status: (content) => stateOf({ content }),
        Noted: (content) => firstDay(content, 'onsetDateTime', 'onsetPeriod', 'recordedDate'),
      },
    }),
  ],
};
