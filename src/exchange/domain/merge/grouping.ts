import { consolidatedId, type Facts } from './facts.ts';

/** Deliveries of one thing. */
export interface Group<F> {
  id: string;
  resourceType: string;
  /** All keys of its members, sorted. */
  keys: string[];
  /** The leading one first. */
  members: F[];
}

/** Unites what shares a key, and what that shares a key with. The result depends on the set alone, not on its order. */
export function groupByKeys<F extends Pick<Facts, 'resourceType' | 'keys' | 'rank'>>(
  patientId: string,
  deliveries: readonly F[],
): Group<F>[] {
  const parent = new Map<string, string>();
  const rootOf = (key: string): string => {
    let root = key;
    for (let next = parent.get(root); next !== undefined && next !== root; next = parent.get(root))
      root = next;
    // Later walks are short.
    for (let at = key; at !== root; ) {
      const next = parent.get(at) ?? root;
      parent.set(at, root);
      at = next;
    }
    return root;
  };
  const named = deliveries.map((delivery) => ({
    delivery,
    keys: delivery.keys.map((key) => `${delivery.resourceType} ${key}`),
  }));
  for (const { keys } of named) {
    for (const key of keys) parent.set(rootOf(key), rootOf(keys[0] ?? key));
  }
  const byRoot = new Map<string, F[]>();
  for (const { delivery, keys } of named) {
    if (keys[0] === undefined) continue;
    const root = rootOf(keys[0]);
    const members = byRoot.get(root);
    if (members === undefined) byRoot.set(root, [delivery]);
    else members.push(delivery);
  }
  return [...byRoot.values()].map((members) => groupOf(patientId, members));
}

function groupOf<F extends Pick<Facts, 'resourceType' | 'keys' | 'rank'>>(
  patientId: string,
  members: F[],
): Group<F> {
  const resourceType = members[0]?.resourceType ?? '';
  const keys = [...new Set(members.flatMap((member) => member.keys))].sort();
  return {
    id: consolidatedId(patientId, resourceType, keys),
    resourceType,
    keys,
    members: members.sort((left, right) => (left.rank < right.rank ? 1 : left.rank > right.rank ? -1 : 0)),
  };
}
