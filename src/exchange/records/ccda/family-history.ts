import { mapCcdaCodeToCodeableConcept } from '@medplum/ccda';
import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import { isNegated } from './statements.ts';

const AGE_AT_ONSET = '445518008';
const UCUM = 'http://unitsofmeasure.org';

/** What a family history organizer says about one relative; undefined without a relationship or a condition. */
export function familyMemberHistory(organizer: Json): Json | undefined {
  const relative = objectsOf(objectsOf(organizer.subject)[0]?.relatedSubject)[0];
  const relationship = concept(relative?.code);
  const observations = objectsOf(organizer.component).flatMap(({ observation }) => objectsOf(observation));
  const condition = observations.flatMap((observation) => {
    const code = isNegated(observation) ? undefined : concept(objectsOf(observation.value)[0]);
    return code === undefined ? [] : [{ code, onsetAge: ageAtOnset(observation) }];
  });
  if (relationship === undefined || condition.length === 0) return undefined;
  return {
    resourceType: 'FamilyMemberHistory',
    id: textOf(objectsOf(organizer.id)[0]?.['@_root']),
    status: 'completed',
    // The converter's notation for the patient; tidyResources inserts the person's id.
    patient: { reference: 'Patient/header' },
    relationship,
    condition,
  };
}

function concept(code: unknown): Json | undefined {
  const [node] = objectsOf(code);
  if (node === undefined) return undefined;
  const found = mapCcdaCodeToCodeableConcept(node) as unknown as Json | undefined;
  const hasCode = objectsOf(found?.coding).some((coding) => textOf(coding.code) !== undefined);
  return hasCode || textOf(found?.text) !== undefined ? found : undefined;
}

function ageAtOnset(observation: Json): Json | undefined {
  const age = objectsOf(observation.entryRelationship)
    .flatMap((relationship) => objectsOf(relationship.observation))
    .find(({ code }) => isJson(code) && code['@_code'] === AGE_AT_ONSET);
  const [value] = objectsOf(age?.value);
  const years = Number(textOf(value?.['@_value']) ?? Number.NaN);
  return Number.isFinite(years) && value?.['@_unit'] === 'a'
    ? { value: years, unit: 'a', system: UCUM, code: 'a' }
    : undefined;
}
