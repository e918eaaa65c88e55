import { unnamedSites } from './fhir/distinctions.ts';
import { isJson, type Json, objectsOf, textOf } from './fhir/json.ts';
import {
  codesOf,
  conceptText,
  conceptTexts,
  firstDay,
  referenceText,
  statusText,
  unique,
} from './fhir/words.ts';
import { withRemarks } from './observation.ts';
import type { Denial, Lookup, SummaryEntry } from './section.ts';

export const hasProblem: Denial = (entry) =>
  entry.content.resourceType === 'Condition' &&
  isActive(entry) &&
  !isSocial(entry.content);

/**
 * An allergy without a category may be one of those that are denied, so it
 * contradicts the statement.
 */
export const hasAllergy: Denial = (entry, { category }) => {
  const categories = Array.isArray(entry.content.category)
    ? entry.content.category
    : [];
  const isOfAnother = categories.length > 0 && !categories.includes(category);
  return (
    entry.content.resourceType === 'AllergyIntolerance' &&
    isActive(entry) &&
    (category === undefined || (category !== 'latex' && !isOfAnother))
  );
};

export const allergyReactions = (content: Json): string =>
  objectsOf(content.reaction)
    .map((reaction) =>
      unique([
        conceptTexts(reaction.manifestation),
        statusText(reaction.severity)?.toLowerCase(),
        textOf(reaction.description),
      ]).join(', '),
    )
    .filter((text) => text !== '')
    .join('; ');

/**
 * The name of a problem with its body sites; undefined if the source names
 * none.
 */
export function problemName(
  content: Json,
  { linked }: Lookup,
): string | undefined {
  const name = conceptText(content.code);
  return name && withRemarks(name, unnamedSites(content, linked));
}

/**
 * The substance of an allergy: where the source names it only by its reactions,
 * what these were to.
 */
export const allergyName = ({ code, reaction }: Json): string | undefined =>
  conceptText(code) ??
  (unique(
    objectsOf(reaction).map(({ substance }) => conceptText(substance)),
  ).join(', ') ||
    undefined);

/** The name of a problem for what refers to it, which must not revive it. */
export function reasonName({
  code,
  verificationStatus,
}: Json): string | undefined {
  const name = conceptText(code);
  const isNotTrue = codesOf(verificationStatus).some((each) =>
    NOT_TRUE.includes(each),
  );
  const verification = conceptText(verificationStatus)?.replaceAll('-', ' ');
  return name && isNotTrue
    ? withRemarks(name, [verification?.toLowerCase() ?? ''])
    : name;
}

const MODIFIER = / \(severity modifier\)$/i;

/** How far a problem has gone: `severe`, `stage IIA (Pathologic stage)`. */
export function gradesOf({ severity, stage }: Json): string[] {
  const stages = objectsOf(stage).map(({ summary, type, assessment }) => {
    const text =
      conceptText(summary) ??
      unique(objectsOf(assessment).map(referenceText)).join(', ');
    const isNamed = text === '' || /\b(?:stage|grade)\b/i.test(text);
    const kind = conceptText(type);
    return withRemarks(isNamed ? text : `stage ${text}`, kind ? [kind] : []);
  });
  const degree = conceptText(severity)?.replace(MODIFIER, '').toLowerCase();
  return unique([degree, ...stages]);
}

const OVER = ['inactive', 'remission', 'resolved'];
const NOT_TRUE = ['refuted', 'entered-in-error'];

/**
 * Whether a Condition is a diagnosis at an encounter of which nothing says
 * whether the patient still has it.
 */
export function isOfEncounter({
  content,
}: Pick<SummaryEntry, 'content'>): boolean {
  const categories = objectsOf(content.category).flatMap(codesOf);
  return (
    content.clinicalStatus === undefined &&
    !hasEnded(content) &&
    categories.includes('encounter-diagnosis') &&
    !categories.includes('problem-list-item')
  );
}

/** An end that is still to come, such as 9999-12-31, ends nothing. */
function hasEnded(content: Json): boolean {
  const { abatementDateTime, abatementPeriod: period } = content;
  const end = textOf(
    abatementDateTime ?? (isJson(period) ? period.end : undefined),
  );
  const isToCome =
    end !== undefined &&
    end.slice(0, 10) > new Date().toISOString().slice(0, end.length);
  return (
    !isToCome &&
    Object.keys(content).some((element) => element.startsWith('abatement'))
  );
}

/**
 * Whether a Condition or AllergyIntolerance is active: it is, unless its
 * statuses or an abatement say otherwise.
 */
export function isActive({ content }: Pick<SummaryEntry, 'content'>): boolean {
  const codes = [
    ...codesOf(content.clinicalStatus),
    ...codesOf(content.verificationStatus),
  ];
  const isOver = codes.some(
    (code) => OVER.includes(code) || NOT_TRUE.includes(code),
  );
  return !isOver && !hasEnded(content) && !isOfEncounter({ content });
}

/**
 * Clinical status and, unless it is `confirmed`, verification status: `Active,
 * Provisional`.
 */
export function problemState({
  content,
}: Pick<SummaryEntry, 'content'>): string {
  const verification = codesOf(content.verificationStatus).find(
    (code) => code !== 'confirmed',
  );
  return unique([
    conceptText(content.clinicalStatus),
    verification === undefined
      ? undefined
      : conceptText(content.verificationStatus),
  ])
    .map((text) => statusText(text) ?? '')
    .join(', ');
}

export const onset = ({ content }: Pick<SummaryEntry, 'content'>) =>
  firstDay(content, 'onsetDateTime', 'onsetPeriod', 'recordedDate');

/** Condition categories for social findings. */
const SOCIAL_CATEGORIES = ['sdoh', 'social-history'];
/**
 * ICD-10 codes for circumstances, not illnesses: education, work, housing,
 * family, law.
 */
const SOCIAL_ICD = /^Z(?:5[5-9]|6[0-5])/;
const CLINICAL_TAG = /\((?:disorder|morphologic abnormality)\)\s*$/;
/**
 * SNOMED CT tags that may denote circumstances; the name must match too, since
 * "Chronic pain (finding)" is clinical.
 */
const TAG =
  /\((?:finding|situation|person|social concept|occupation|event)\)\s*$/;
const CIRCUMSTANCES =
  /\b(?:employ(?:ed|ment)|unemploy\w*|labor force|retired|job|education|school|literacy|housing|homeless\w*|shelter|criminal|prison\w*|legal|armed forces|military|veteran|refugee|migrant|asylum|immigra\w*|transport\w*|social (?:contact|isolation|support|exclusion)|isolation|lives alone|income|poverty|financ\w*|food insecurity|insurance|violence|victim of|abuse by|risk activity|stress|medication review|review due|language|caregiver|carer)\b/i;

/**
 * Whether a Condition describes a person's circumstances rather than a
 * disorder. In doubt it is a disorder, so that none is overlooked.
 */
export function isSocial({ category, code }: Json): boolean {
  const codings = isJson(code) ? objectsOf(code.coding) : [];
  const names = [
    isJson(code) ? textOf(code.text) : undefined,
    ...codings.map(({ display }) => textOf(display)),
  ];
  if (names.some((name) => name !== undefined && CLINICAL_TAG.test(name)))
    return false;
  const categories = objectsOf(category).flatMap(codesOf);
  if (categories.some((each) => SOCIAL_CATEGORIES.includes(each))) return true;
  const icd = codings
    .filter(({ system }) => String(system).includes('icd-10'))
    .flatMap((coding) => textOf(coding.code) ?? []);
  if (icd.length > 0) return icd.every((each) => SOCIAL_ICD.test(each));
  const isConcern = categories.includes('health-concern');
  return names.some(
    (name) =>
      name !== undefined &&
      (isConcern || TAG.test(name)) &&
      CIRCUMSTANCES.test(name),
  );
}
