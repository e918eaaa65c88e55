import { Cluster, type Groupable } from './cluster.ts';
import { consolidatedId } from './delivery-facts.ts';

/** The deliveries of one thing. */
export interface Group<F> {
  id: string;
  /** Shared by all groups that share keys, directly or indirectly. Groups of different families do not affect each other. */
  familyId: string;
  resourceType: string;
  /** The keys of all members, sorted. */
  keys: string[];
  /** The leading one first. */
  members: F[];
}

/**
 * Unites deliveries that share a key, provided that no assertion of any of them is lost. Keys form chains (A and B share an
 * identifier, B and C their content), and so does closeness of numbers. Therefore each delivery, in order of rank, joins
 * the groups with which it shares a key and whose members all agree with it. The result depends only on the set of
 * deliveries, not on their order.
 */
export function groupByKeys<F extends Groupable>(patientId: string, deliveries: readonly F[]): Group<F>[] {
  const byKey = new Map<string, Set<Cluster<F>>>();
  const clusters = new Set<Cluster<F>>();
  const register = (cluster: Cluster<F>, keys: Iterable<string>): void => {
    for (const key of keys) byKey.set(key, (byKey.get(key) ?? new Set()).add(cluster));
  };
  for (const delivery of [...deliveries].sort(byRank)) {
    if (delivery.keys.length === 0) continue;
    const own = new Cluster(delivery);
    const near = new Set([...own.keys].flatMap((key) => [...(byKey.get(key) ?? [])]));
    let home = own;
    for (const other of [...near].sort((left, right) => byRank(left.leader, right.leader))) {
      // The cluster whose leader has the higher rank absorbs the other.
      const [upper, lower] = home === own ? [other, own] : [home, other];
      if (!upper.accepts(lower)) continue;
      upper.absorb(lower);
      clusters.delete(lower);
      for (const key of lower.keys) byKey.get(key)?.delete(lower);
      register(upper, lower.keys);
      home = upper;
    }
    if (home === own) {
      clusters.add(own);
      register(own, own.keys);
    }
  }
  return named(patientId, [...clusters]);
}

const byRank = (left: { rank: string }, right: { rank: string }): number =>
  left.rank < right.rank ? 1 : left.rank > right.rank ? -1 : 0;

function named<F extends Groupable>(patientId: string, clusters: readonly Cluster<F>[]): Group<F>[] {
  const familyOf = families(clusters);
  const firstOf = new Map<string, Cluster<F>>();
  for (const cluster of clusters) {
    const [key = ''] = cluster.sortedKeys();
    const known = firstOf.get(key);
    if (known === undefined || cluster.smallestName() < known.smallestName()) firstOf.set(key, cluster);
  }
  return clusters.map((cluster) => {
    const { resourceType } = cluster.leader;
    const [key = '', ...rest] = cluster.sortedKeys();
    // Groups may share their first key; all but one of them then add the name of a member.
    const name = firstOf.get(key) === cluster ? key : `${key} ${cluster.smallestName()}`;
    return {
      id: consolidatedId(patientId, resourceType, [withoutType(name)]),
      familyId: consolidatedId(patientId, resourceType, [withoutType(familyOf(key))]),
      resourceType,
      keys: [key, ...rest].map(withoutType),
      members: cluster.members.sort(byRank),
    };
  });
}

const withoutType = (key: string): string => key.slice(key.indexOf(' ') + 1);

/** Returns a function from a key to the smallest key connected to it (union-find). */
function families(clusters: readonly { keys: ReadonlySet<string> }[]): (key: string) => string {
  const parent = new Map<string, string>();
  const rootOf = (key: string): string => {
    let root = key;
    for (let next = parent.get(root); next !== undefined && next !== root; next = parent.get(root))
      root = next;
    // Path compression: later look-ups are short.
    for (let at = key; at !== root; ) {
      const next = parent.get(at) ?? root;
      parent.set(at, root);
      at = next;
    }
    return root;
  };
  for (const { keys } of clusters) {
    const [first = ''] = keys;
    for (const key of keys) {
      const [left, right] = [rootOf(first), rootOf(key)];
      parent.set(left < right ? right : left, left < right ? left : right);
    }
  }
  return rootOf;
}
