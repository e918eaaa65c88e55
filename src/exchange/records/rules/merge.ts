import { meaningOf } from './codes.ts';
import { type Delivery, type Facts, factsOf, revisionOf } from './facts.ts';
import { foldGroup, type Member } from './fold.ts';
import { foldPatient, type Person } from './fold-patient.ts';
import { type Group, groupByKeys } from './grouping.ts';
import type { Json } from './json.ts';
import type { Resolve } from './rewritten.ts';

/** A delivery and the document that it came in. */
export interface Delivered extends Delivery {
  fileName: string;
}

export interface MergedRecord {
  /** The Patient first, then by type and id. */
  resources: Json[];
  excluded: Facts[];
}

/**
 * The whole record of a person at once: what the store brings about piece by piece (`store/record-merge.ts`), in
 * memory. Its order, doubles and split into batches change nothing.
 *
 * @param patientIds the person's ids at each source
 */
export function mergeDeliveries(
  person: Person,
  deliveries: readonly Delivered[],
  patientIds: ReadonlyMap<string, ReadonlySet<string>>,
): MergedRecord {
  const latest = latestDeliveries(deliveries);
  const facts = [...latest.values()].map((delivery) => {
    const { source, content } = delivery;
    const whom = { patientIds: patientIds.get(source) };
    const { medicationId } = factsOf(delivery, whom);
    const medication = latest.get(nameOf(source, 'Medication', medicationId ?? ''))?.content;
    return { ...factsOf(delivery, { ...whom, medication: meaningOf(medication?.code) }), delivery, content };
  });
  const groups = groupByKeys(person.patientId, facts);
  const idOf = new Map(
    groups.flatMap(({ id, members }) =>
      members.map((member) => [nameOf(member.source, member.resourceType, member.sourceId), id] as const),
    ),
  );
  const resolve: Resolve = (source, { type, id }) =>
    type === 'Patient' && patientIds.get(source)?.has(id)
      ? person.patientId
      : idOf.get(nameOf(source, type, id));
  const members = (group: Group<{ delivery: Delivered }> | undefined): Member[] =>
    group?.members.map(({ delivery }) => delivery) ?? [];
  const patient = foldPatient(person, members(groups.find(({ id }) => id === person.patientId)), resolve);
  const others = groups
    .filter(({ id }) => id !== person.patientId)
    .sort((left, right) => (orderOf(left) < orderOf(right) ? -1 : 1))
    .map((group) => foldGroup(group.id, members(group), person.patientId, resolve));
  return { resources: [patient, ...others], excluded: facts.filter(({ aside }) => aside !== undefined) };
}

/** Of several versions of one resource of a source the newest; where it does not say which, the greater hash. */
function latestDeliveries(deliveries: readonly Delivered[]): Map<string, Delivered> {
  const latest = new Map<string, Delivered>();
  for (const delivery of deliveries) {
    const name = nameOf(delivery.source, delivery.resourceType, delivery.sourceId);
    const known = latest.get(name);
    if (known === undefined || isNewer(delivery, known)) latest.set(name, delivery);
  }
  return latest;
}

const isNewer = (left: Delivered, right: Delivered): boolean =>
  `${revisionOf(left.content)} ${left.sha256}` > `${revisionOf(right.content)} ${right.sha256}`;

const nameOf = (source: string, type: string, id: string): string => `${source} ${type}/${id}`;
const orderOf = ({ resourceType, id }: { resourceType: string; id: string }): string =>
  `${resourceType}/${id}`;
