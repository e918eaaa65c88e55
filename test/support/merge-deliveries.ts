import { type Json, meaningOf } from '#record-summary/fhir';
import {
  type Delivery,
  type DeliveryFacts,
  deliveryFacts,
  revisionOf,
} from '../../src/exchange/records/rules/delivery-facts.ts';
import {
  foldGroup,
  type Member,
} from '../../src/exchange/records/rules/fold.ts';
import {
  foldPatient,
  type Person,
} from '../../src/exchange/records/rules/fold-patient.ts';
import {
  type Group,
  groupByKeys,
} from '../../src/exchange/records/rules/grouping.ts';
import type { Resolve } from '../../src/exchange/records/rules/references.ts';

/** A delivery with the file name of the document that contained it. */
export interface Delivered extends Delivery {
  fileName: string;
}

export interface MergedRecord {
  /** The Patient first, then by type and id. */
  resources: Json[];
  excluded: DeliveryFacts[];
  /** Earlier versions of statements; nothing of them counts. */
  superseded: DeliveryFacts[];
}

/**
 * Merges a person's whole record in memory; `merge-batch.ts` reaches the same
 * result in the database, batch by batch. Neither the order of the deliveries
 * nor duplicates change the result.
 *
 * @param patientIds the person's Patient ids at each source
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
    const { medicationId } = deliveryFacts(delivery, whom);
    const medication = latest.get(
      nameOf(source, 'Medication', medicationId ?? ''),
    )?.content;
    return {
      ...deliveryFacts(delivery, {
        ...whom,
        medication: meaningOf(medication?.code),
      }),
      delivery,
      content,
    };
  });
  const groups = groupByKeys(person.patientId, facts);
  const idOf = new Map(
    groups.flatMap(({ id, members }) =>
      members.map(
        (member) =>
          [
            nameOf(member.source, member.resourceType, member.sourceId),
            id,
          ] as const,
      ),
    ),
  );
  const resolve: Resolve = (source, { type, id }) =>
    type === 'Patient' && patientIds.get(source)?.has(id)
      ? person.patientId
      : idOf.get(nameOf(source, type, id));
  const members = (
    group: Group<{ delivery: Delivered }> | undefined,
  ): Member[] =>
    group?.members.slice(0, group.standing).map(({ delivery }) => delivery) ??
    [];
  const patient = foldPatient(
    person,
    members(groups.find(({ id }) => id === person.patientId)),
    resolve,
  );
  const others = groups
    .filter(({ id }) => id !== person.patientId)
    .sort((left, right) => (orderOf(left) < orderOf(right) ? -1 : 1))
    .map((group) =>
      foldGroup(group.id, members(group), person.patientId, resolve),
    );
  return {
    resources: [patient, ...others],
    excluded: facts.filter(({ exclusion }) => exclusion !== undefined),
    superseded: groups.flatMap((group) => group.members.slice(group.standing)),
  };
}

/**
 * The newest version of each resource of a source; without a revision, the one
 * with the greater hash.
 */
function latestDeliveries(
  deliveries: readonly Delivered[],
): Map<string, Delivered> {
  const latest = new Map<string, Delivered>();
  for (const delivery of deliveries) {
    const name = nameOf(
      delivery.source,
      delivery.resourceType,
      delivery.sourceId,
    );
    const known = latest.get(name);
    if (known === undefined || isNewer(delivery, known))
      latest.set(name, delivery);
  }
  return latest;
}

const isNewer = (left: Delivered, right: Delivered): boolean =>
  `${revisionOf(left.content)} ${left.sha256}` >
  `${revisionOf(right.content)} ${right.sha256}`;

const nameOf = (source: string, type: string, id: string): string =>
  `${source} ${type}/${id}`;
const orderOf = ({
  resourceType,
  id,
}: {
  resourceType: string;
  id: string;
}): string => `${resourceType}/${id}`;
