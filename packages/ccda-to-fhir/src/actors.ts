import { nameInOneLine } from './datatypes.ts';
import {
  attribute,
  type CdaElement,
  childOf,
  childrenOf,
  elementsAt,
} from './element.ts';
import type { FhirJson } from './json.ts';
import { type DocumentScope, mapped, templateResource } from './table.ts';
import type { ResourceTemplateName } from './template-types.ts';
import { cdaTimeInFhir, type FhirTime } from './times.ts';

/**
 * C-CDA on FHIR, "Participations": a resource of its own for who or what took
 * part, and a reference with its name.
 */
function shared(
  name: ResourceTemplateName,
  node: CdaElement | undefined,
  scope: DocumentScope,
): FhirJson | undefined {
  const made = node && templateResource(name, node, scope);
  return (
    made && {
      ...scope.add(made),
      display: typeof made.name === 'string' ? made.name : undefined,
    }
  );
}

export const organization = (
  of: CdaElement | undefined,
  scope: DocumentScope,
) => shared('Organization', of, scope);
/**
 * A place of service: a participant of type LOC, or the facility of an
 * encompassing encounter.
 */
export const location = (place: CdaElement | undefined, scope: DocumentScope) =>
  shared('Location', place, scope);

const ORGANIZATIONS = [
  'representedOrganization',
  'scopingOrganization',
  'scopingEntity',
];
const PERSONS = ['assignedPerson', 'associatedPerson', 'playingEntity'];

/**
 * Who took part: a person as Practitioner, with an organization as
 * PractitionerRole, otherwise the organization. Undefined when neither has a
 * name.
 *
 * @param role `assignedAuthor`, `assignedEntity`, `associatedEntity` or
 *   `participantRole`
 */
export function actor(
  role: CdaElement | undefined,
  scope: DocumentScope,
): FhirJson | undefined {
  if (role === undefined) return undefined;
  const first = (names: readonly string[]) =>
    names.map((name) => childOf(role, name)).find(Boolean);
  const own = organization(first(ORGANIZATIONS), scope);
  const display = nameInOneLine(childOf(first(PERSONS), 'name'));
  const person =
    display === undefined ? undefined : shared('Practitioner', role, scope);
  if (person === undefined) return own;
  const practitioner = { ...person, display };
  if (own === undefined) return practitioner;
  return {
    ...scope.add({
      resourceType: 'PractitionerRole',
      practitioner,
      organization: own,
    }),
    display,
  };
}

export const performer = (
  of: CdaElement,
  scope: DocumentScope,
): FhirJson | undefined =>
  actor(
    childOf(of, of.name === 'author' ? 'assignedAuthor' : 'assignedEntity'),
    scope,
  );

/**
 * Who wrote a statement: the latest of several authors, and when the first
 * wrote it.
 */
export function authorship(
  statement: CdaElement,
  scope: DocumentScope,
): { author?: FhirJson; time?: FhirTime } {
  const authors = childrenOf(statement, 'author').map((author) => {
    const [time] = [
      ...elementsAt(author, 'time/low'),
      ...childrenOf(author, 'time'),
    ].flatMap(
      (each) => cdaTimeInFhir(attribute(each, 'value'), scope.offset) ?? [],
    );
    return { author, time };
  });
  const dated = authors
    .filter(({ time }) => time !== undefined)
    .sort((left, right) =>
      (left.time?.value ?? '') < (right.time?.value ?? '') ? -1 : 1,
    );
  const latest = (
    dated.length === authors.length ? dated : authors
  ).toReversed();
  const author = latest
    .map((each) => performer(each.author, scope))
    .find((found) => found !== undefined);
  return { author, time: dated[0]?.time };
}

/** A device with what the organizer of its unique identifier says of it. */
function deviceOf(
  statement: CdaElement,
  role: CdaElement,
  scope: DocumentScope,
): FhirJson | undefined {
  const made = templateResource('Device', role, scope);
  const number = identifierOfDevice(role);
  const [organizer] = elementsAt(
    statement,
    'entryRelationship/organizer[code=74711-3]',
  ).filter((each) => identifierOfDevice(each) === number);
  if (made === undefined || organizer === undefined) return made;
  return { ...made, ...mapped('DeviceFacts', organizer, scope) };
}

const identifierOfDevice = (of: CdaElement): string | undefined =>
  childrenOf(of, 'id')
    .filter((id) => attribute(id, 'root') === FDA)
    .map((id) => attribute(id, 'extension'))
    .find(Boolean);

/** FDA's namespace of unique device identifiers. */
export const FDA = '2.16.840.1.113883.3.3719';

/** Devices that took part (product instances), with a reference to each. */
export function devices(
  statement: CdaElement,
  scope: DocumentScope,
): FhirJson[] {
  return elementsAt(
    statement,
    'participant[@typeCode=DEV|PRD]/participantRole',
  ).flatMap((role) => {
    const made = deviceOf(statement, role, scope);
    if (
      made === undefined ||
      (made.type ?? made.deviceName ?? made.udiCarrier) === undefined
    )
      return [];
    const display =
      (made.type as FhirJson | undefined)?.text ??
      (made.deviceName as FhirJson[] | undefined)?.[0]?.name;
    return [{ ...scope.add(made), display }];
  });
}
