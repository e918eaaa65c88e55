import type { Json } from '../../rules/json.ts';
import { amountText } from '../../rules/words.ts';
import { concept } from './datatypes.ts';
import { attribute, type CdaElement, childOf, childrenOf, select } from './element.ts';
import { line } from './narrative.ts';
import { ABSENT, conceptOf, MAPS, resourceOf, type Scope, withName } from './table.ts';
import { statedTime } from './times.ts';

const ENDED = ['inactive', 'remission', 'resolved'];
/** Statuses of concerns that are over (the guide's ConditionClinicalStatus). */
const OVER = ['aborted', 'completed', 'suspended'];

/**
 * The clinical status (C-CDA on FHIR, Problems and Allergies): what the status observation says; without one, a concern that is over is
 * inactive. That an end is unknown (`high nullFlavor="UNK"`) ends nothing that its concern says is active: vendors write it
 * with what goes on.
 *
 * @param concern status of the act around the observation
 */
function clinicalStatus(stated: unknown, concern: string | undefined, hasEnd: boolean): string {
  if (hasEnd && !ENDED.includes(String(stated))) return 'resolved';
  return typeof stated === 'string' ? stated : OVER.includes(concern ?? '') ? 'inactive' : 'active';
}

/** @param category FHIR's category by the section or the act; the diagnosis of an encounter is not said to go on */
export function condition(node: CdaElement, scope: Scope, concern?: string, category?: string): Json {
  const made = resourceOf('Condition', node, scope) ?? {};
  const hasEnd = made.abatementDateTime !== undefined;
  const status = clinicalStatus(made.clinicalStatus, concern, hasEnd);
  const isStated = made.clinicalStatus !== undefined || hasEnd || category !== 'encounter-diagnosis';
  const { hasUnknownEnd } = statedTime(childOf(node, 'effectiveTime'), scope.offset);
  const { onsetAge, note, ...rest } = made;
  // FHIR has one onset; the age stays in words beside a date.
  const age = made.onsetDateTime === undefined ? undefined : (onsetAge as Json | undefined);
  const notes = age && [{ text: `Age at onset: ${amountText(age) ?? ''}` }];
  return {
    ...rest,
    ...(age === undefined ? { onsetAge } : {}),
    note: [...((note ?? []) as Json[]), ...(notes ?? [])],
    clinicalStatus: isStated ? conceptOf('condition-clinical', status) : undefined,
    category: category === undefined ? undefined : [conceptOf('condition-category', category)],
    code: made.code ?? ABSENT,
    ...(hasUnknownEnd && !hasEnd && ENDED.includes(status) ? { _abatementDateTime: ABSENT } : {}),
  };
}

/**
 * An allergy. The substance is where the document has it: as code, name or description of the participant, in the value or in the
 * words that the entry refers to. A severity of the allergy is one of each reaction that states none (the guide).
 */
export function allergy(node: CdaElement, scope: Scope, concern?: string): Json {
  const made = resourceOf('AllergyIntolerance', node, scope) ?? {};
  const severity = ['code=SEV', 'template=4.8']
    .flatMap((test) => select(node, `entryRelationship/observation[${test}]/value`))
    .flatMap(({ attributes }) => MAPS.Severity[attributes.code ?? ''] ?? [])[0];
  const status = clinicalStatus(made.clinicalStatus, concern, made.extension !== undefined);
  const reactions = made.reaction as Json[] | undefined;
  return {
    ...made,
    clinicalStatus: conceptOf('allergyintolerance-clinical', status),
    code: substance(node, scope) ?? ABSENT,
    reaction: reactions?.map((each) => ({ severity, ...each })),
  };
}

function substance(node: CdaElement, scope: Scope): Json | undefined {
  const participants = childrenOf(node, 'participant');
  const consumed = participants.find((each) => attribute(each, 'typeCode') === 'CSM') ?? participants[0];
  const [role] = childrenOf(consumed, 'participantRole');
  const entity = childOf(role, 'playingEntity');
  const value = childOf(node, 'value');
  const named = (element: CdaElement | undefined): Json | undefined => {
    const text = line(element, scope);
    // Words that only repeat the kind of allergy name no substance.
    return text === undefined || text.toLowerCase() === kind?.toLowerCase() ? undefined : { text };
  };
  const isKind = MAPS.NoneAtAll[attribute(value, 'code') ?? ''] !== undefined;
  const kind = isKind ? attribute(value, 'displayName') : undefined;
  const name = named(childOf(entity, 'name'));
  return (
    withName(withName(concept(childOf(entity, 'code'), scope), name), named(childOf(node, 'text'))) ??
    name ??
    named(childOf(entity, 'desc')) ??
    concept(childOf(role, 'code'), scope) ??
    (isKind ? named(childOf(value, 'originalText')) : concept(value, scope)) ??
    named(childOf(node, 'text')) ??
    (attribute(node, 'negationInd') === undefined ? undefined : concept(value, scope))
  );
}
