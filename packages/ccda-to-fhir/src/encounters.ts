import { concept } from './datatypes.ts';
import {
  attribute,
  type CdaElement,
  childOf,
  childrenOf,
  elementsAt,
  elementsIn,
  markRead,
  statusCode,
} from './element.ts';
import type { FhirJson } from './json.ts';
import { isPlanned } from './medications.ts';
import { type DocumentScope, idKey, templateResource } from './table.ts';
import { MAPS } from './value-maps.ts';

const ACT_CODE = 'http://terminology.hl7.org/CodeSystem/v3-ActCode';
const CLASSES = [
  'AMB',
  'EMER',
  'FLD',
  'HH',
  'IMP',
  'ACUTE',
  'NONAC',
  'OBSENC',
  'PRENC',
  'SS',
  'VR',
];
/**
 * Ranges of CPT codes that state where a visit took place (the guide,
 * Encounters).
 */
const CPT_CLASSES = [
  { from: 99202, to: 99215, code: 'AMB' },
  { from: 99221, to: 99239, code: 'IMP' },
  { from: 99281, to: 99288, code: 'EMER' },
];

/** @param conditions references to the diagnoses of the encounter */
export function encounter(
  node: CdaElement,
  scope: DocumentScope,
  conditions: readonly FhirJson[],
): FhirJson {
  const made = templateResource('Encounter', node, scope) ?? {};
  const types = (made.type ?? []) as FhirJson[];
  // The problem that is the reason, if the document has it; otherwise what the
  // reason says of it.
  const reasons = elementsAt(
    node,
    'entryRelationship[@typeCode=RSON]/observation',
  ).map((reason) => ({
    reason,
    known: childrenOf(reason, 'id').flatMap(
      (id) => scope.named.get(idKey(id)) ?? [],
    )[0],
  }));
  for (const { reason, known } of reasons)
    if (known !== undefined) markRead(reason);
  const reasonCode = reasons.flatMap(({ reason, known }) =>
    known === undefined ? (concept(childOf(reason, 'value'), scope) ?? []) : [],
  );
  return {
    ...made,
    status: encounterStatus(node),
    class: classOf(types),
    type: types.flatMap(withoutClass),
    reasonCode,
    reasonReference: reasons.flatMap(({ known }) => known ?? []),
    diagnosis: conditions.map((each) => ({ condition: each })),
  };
}

const codingsOf = ({ coding }: FhirJson): FhirJson[] =>
  (coding ?? []) as FhirJson[];
const isClass = ({ system, code }: FhirJson): boolean =>
  system === ACT_CODE && CLASSES.includes(String(code));

function classOf(types: readonly FhirJson[]): FhirJson {
  const codings = types.flatMap(codingsOf);
  const stated = codings.find(isClass);
  const cpt = Number(
    codings.find(({ system }) => system === 'http://www.ama-assn.org/go/cpt')
      ?.code,
  );
  const code = CPT_CLASSES.find(
    ({ from, to }) => cpt >= from && cpt <= to,
  )?.code;
  return (
    stated ??
    (code === undefined
      ? {
          system: 'http://terminology.hl7.org/CodeSystem/v3-NullFlavor',
          code: 'UNK',
        }
      : { system: ACT_CODE, code, display: MAPS.Display[code] })
  );
}

/** The class is no type; a concept that is nothing else disappears. */
function withoutClass(type: FhirJson): FhirJson[] {
  const coding = codingsOf(type).filter((each) => !isClass(each));
  return coding.length === 0 && codingsOf(type).length > 0
    ? []
    : [{ ...type, coding }];
}

/** By its time, otherwise by its status (the guide, Encounters). */
function encounterStatus(node: CdaElement): string {
  const own = statusCode(node) ?? '';
  const status = MAPS.EncounterStatus[own];
  if (status !== undefined && !['active', 'completed'].includes(own))
    return status;
  if (isPlanned(node)) return 'planned';
  const time = childOf(node, 'effectiveTime');
  const isOver =
    (attribute(time, 'value') ?? attribute(childOf(time, 'high'), 'value')) !==
    undefined;
  return isOver ? 'finished' : (status ?? 'unknown');
}

/**
 * The visit that the document is about, unless the body has it; its elements
 * have other names there than in an entry.
 */
export function headerEncounter(
  document: CdaElement,
  scope: DocumentScope,
): FhirJson | undefined {
  const [visit] = elementsAt(document, 'componentOf/encompassingEncounter');
  if (
    visit === undefined ||
    childrenOf(visit, 'id').some((id) => scope.named.has(idKey(id)))
  )
    return undefined;
  if (
    childOf(visit, 'effectiveTime') === undefined &&
    childOf(visit, 'code') === undefined
  )
    return undefined;
  const people = [
    ...childrenOf(visit, 'encounterParticipant'),
    ...childrenOf(visit, 'responsibleParty'),
  ];
  const place = elementsAt(visit, 'location/healthCareFacility').map(
    (facility) => ({
      name: 'participant',
      attributes: { typeCode: 'LOC' },
      content: [{ ...facility, name: 'participantRole' }],
    }),
  );
  const performers = people.map((each) => ({ ...each, name: 'performer' }));
  return encounter(
    { ...visit, content: [...elementsIn(visit), ...performers, ...place] },
    scope,
    [],
  );
}
