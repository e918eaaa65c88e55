/**
 * The elements that paths name: of CDA, of C-CDA's extensions (`sdtc`) and of
 * its narrative.
 */
type CdaName =
  | 'act'
  | 'addr'
  | 'administrationUnitCode'
  | 'administrativeGenderCode'
  | 'approachSiteCode'
  | 'assignedAuthor'
  | 'assignedAuthoringDevice'
  | 'assignedCustodian'
  | 'assignedPerson'
  | 'associatedEntity'
  | 'associatedPerson'
  | 'author'
  | 'birthTime'
  | 'birthplace'
  | 'center'
  | 'code'
  | 'component'
  | 'componentOf'
  | 'consumable'
  | 'criterion'
  | 'custodian'
  | 'deceasedInd'
  | 'deceasedTime'
  | 'desc'
  | 'dischargeDispositionCode'
  | 'documentationOf'
  | 'doseQuantity'
  | 'effectiveTime'
  | 'encompassingEncounter'
  | 'entryRelationship'
  | 'ethnicGroupCode'
  | 'externalDocument'
  | 'functionCode'
  | 'guardian'
  | 'guardianPerson'
  | 'healthCareFacility'
  | 'high'
  | 'id'
  | 'interpretationCode'
  | 'languageCode'
  | 'languageCommunication'
  | 'location'
  | 'lotNumberText'
  | 'low'
  | 'manufacturedMaterial'
  | 'manufacturedProduct'
  | 'manufacturerModelName'
  | 'manufacturerOrganization'
  | 'maritalStatusCode'
  | 'methodCode'
  | 'name'
  | 'nonXMLBody'
  | 'observation'
  | 'observationRange'
  | 'organizer'
  | 'originalText'
  | 'participant'
  | 'participantRole'
  | 'patient'
  | 'patientRole'
  | 'performer'
  | 'place'
  | 'playingDevice'
  | 'playingEntity'
  | 'precondition'
  | 'preferenceInd'
  | 'priorityCode'
  | 'procedure'
  | 'product'
  | 'providerOrganization'
  | 'quantity'
  | 'raceCode'
  | 'recordTarget'
  | 'referenceRange'
  | 'relatedSubject'
  | 'religiousAffiliationCode'
  | 'repeatNumber'
  | 'representedCustodianOrganization'
  | 'representedOrganization'
  | 'routeCode'
  | 'scopingEntity'
  | 'section'
  | 'sequenceNumber'
  | 'serviceEvent'
  | 'serviceProviderOrganization'
  | 'softwareName'
  | 'specimen'
  | 'specimenPlayingEntity'
  | 'specimenRole'
  | 'standardIndustryClassCode'
  | 'structuredBody'
  | 'subject'
  | 'substanceAdministration'
  | 'supply'
  | 'targetSiteCode'
  | 'tbody'
  | 'telecom'
  | 'text'
  | 'thead'
  | 'time'
  | 'title'
  | 'tr'
  | 'translation'
  | 'value';

type Condition =
  | `@${'moodCode' | 'typeCode'}=${string}`
  | `code=${string}`
  | `template=${string}`;

type CheckedStep<Step extends string> =
  Step extends `${infer Name}[${infer Test}]`
    ? Name extends CdaName
      ? Test extends Condition
        ? Step
        : never
      : never
    : Step extends CdaName
      ? Step
      : never;

/** A path itself, or `never` when it names what CDA does not have. */
export type CheckedPath<Path extends string> =
  Path extends `${infer First}/${infer Rest}`
    ? `${CheckedStep<First>}/${CheckedPath<Rest>}`
    : CheckedStep<Path>;

export interface PathStep {
  name: string;
  /**
   * `@typeCode=MFST`: an attribute; `code=SEV`: the code of the child;
   * `template=4.9`.
   */
  test?: readonly [name: string, values: readonly string[]];
}

/** A path with its steps; one name, or `.` for the element itself, is a path. */
export type CdaPath = '.' | CdaName | readonly PathStep[];

/**
 * The steps of a path: names of children divided by `/`, each with an optional
 * condition (`entryRelationship[@typeCode=MFST]`,
 * `observation[code=33999-4|33999]`, `act[template=4.80]`).
 */
export const path = <Path extends string>(
  text: Path & CheckedPath<Path>,
): readonly PathStep[] => stepsOf(text);

const STEPS = new Map<string, readonly PathStep[]>();

export function stepsOf(text: string): readonly PathStep[] {
  const known = STEPS.get(text);
  if (known !== undefined) return known;
  const steps = text === '.' ? [] : text.split('/').map(stepOf);
  STEPS.set(text, steps);
  return steps;
}

function stepOf(step: string): PathStep {
  const [, name = step, key, values = ''] =
    /^(\w+)(?:\[(@?\w+)=([^\]]+)\])?$/.exec(step) ?? [];
  return {
    name,
    test: key === undefined ? undefined : [key, values.split('|')],
  };
}
