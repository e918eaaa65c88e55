import { nameText } from './datatypes.ts';
import {
  attribute,
  type CdaElement,
  childOf,
  childrenOf,
  select,
} from './element.ts';
import type { Json } from './json.ts';
import { resourceOf, type Scope } from './table.ts';
import type { ResourceTemplateName } from './template-types.ts';
import { type FhirTime, fhirTime } from './times.ts';

/**
 * C-CDA on FHIR, "Participations": a resource of its own for who or what took
 * part, and a reference with its name.
 */
function shared(
  name: ResourceTemplateName,
  node: CdaElement | undefined,
  scope: Scope,
): Json | undefined {
  const made = node && resourceOf(name, node, scope);
  return (
    made && {
      ...scope.add(made),
      display: typeof made.name === 'string' ? made.name : undefined,
    }
  );
}

export const organization = (of: CdaElement | undefined, scope: Scope) =>
  shared('Organization', of, scope);
/**
 * A place of service: a participant of type LOC, or the facility of an
 * encompassing encounter.
 */
export const location = (place: CdaElement | undefined, scope: Scope) =>
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
  scope: Scope,
): Json | undefined {
  if (role === undefined) return undefined;
  const first = (names: readonly string[]) =>
    names.map((name) => childOf(role, name)).find(Boolean);
  const own = organization(first(ORGANIZATIONS), scope);
  const display = nameText(childOf(first(PERSONS), 'name'));
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

export const performer = (of: CdaElement, scope: Scope): Json | undefined =>
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
  scope: Scope,
): { author?: Json; time?: FhirTime } {
  const authors = childrenOf(statement, 'author').map((author) => {
    const [time] = [
      ...select(author, 'time/low'),
      ...childrenOf(author, 'time'),
    ].flatMap((each) => fhirTime(attribute(each, 'value'), scope.offset) ?? []);
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

/** Devices that took part (product instances), with a reference to each. */
export function devices(statement: CdaElement, scope: Scope): Json[] {
  return select(
    statement,
    'participant[@typeCode=DEV|PRD]/participantRole',
  ).flatMap((role) => {
    const made = resourceOf('Device', role, scope);
    if (
      made === undefined ||
      (made.type ?? made.deviceName ?? made.udiCarrier) === undefined
    )
      return [];
    const display =
      (made.type as Json | undefined)?.text ??
      (made.deviceName as Json[] | undefined)?.[0]?.name;
    return [{ ...scope.add(made), display }];
  });
}
