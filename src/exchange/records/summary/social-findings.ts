import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import { codesOf, conceptText, firstDay } from '../rules/words.ts';
import { isActive, onset, stateOf } from './condition.ts';
import { resourceTable, type SectionRule } from './section.ts';

/** Condition categories for social findings. */
const SOCIAL_CATEGORIES = ['sdoh', 'social-history'];
/** ICD-10 codes for circumstances, not illnesses: education, work, housing, family, law. */
const SOCIAL_ICD = /^Z(?:5[5-9]|6[0-5])/;
const CLINICAL_TAG = /\((?:disorder|morphologic abnormality)\)\s*$/;
/** SNOMED CT tags that may denote circumstances; the name must match too, since "Chronic pain (finding)" is clinical. */
const TAG = /\((?:finding|situation|person|social concept|occupation|event)\)\s*$/;
const CIRCUMSTANCES =
  /\b(?:employ(?:ed|ment)|unemploy\w*|labor force|retired|job|education|school|literacy|housing|homeless\w*|shelter|criminal|prison\w*|legal|armed forces|military|veteran|refugee|migrant|asylum|immigra\w*|transport\w*|social (?:contact|isolation|support|exclusion)|isolation|lives alone|income|poverty|financ\w*|food insecurity|insurance|violence|victim of|abuse by|risk activity|stress|medication review|review due|language|caregiver|carer)\b/i;

/** Whether a Condition describes a person's circumstances rather than a disorder. In doubt it is a disorder, so that none is overlooked. */
export function isSocial({ category, code }: Json): boolean {
  const codings = isJson(code) ? objectsOf(code.coding) : [];
  const names = [
    isJson(code) ? textOf(code.text) : undefined,
    ...codings.map(({ display }) => textOf(display)),
  ];
  if (names.some((name) => name !== undefined && CLINICAL_TAG.test(name))) return false;
  const categories = objectsOf(category).flatMap(codesOf);
  if (categories.some((each) => SOCIAL_CATEGORIES.includes(each))) return true;
  const icd = codings
    .filter(({ system }) => String(system).includes('icd-10'))
    .flatMap((coding) => textOf(coding.code) ?? []);
  if (icd.length > 0) return icd.every((each) => SOCIAL_ICD.test(each));
  const isConcern = categories.includes('health-concern');
  return names.some(
    (name) => name !== undefined && (isConcern || TAG.test(name)) && CIRCUMSTANCES.test(name),
  );
}

export const socialFindings: SectionRule = {
  id: 'social-findings',
  title: 'Social and other findings',
  empty: 'The sources have delivered no social findings.',
  tables: [true, false].map((active) =>
    resourceTable({
      caption: active ? 'Present findings' : 'Past findings',
      types: ['Condition'],
      shows: (content) => isSocial(content) && isActive({ content }) === active,
      cells: {
        Finding: ({ code }) => conceptText(code),
        Since: (content) => onset({ content }),
        Until: (content) => firstDay(content, 'abatementDateTime', 'abatementPeriod'),
        Status: (content) => stateOf({ content }),
      },
    }),
  ),
};
