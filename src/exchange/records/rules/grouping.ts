import { Cluster, type Groupable } from './cluster.ts';
import { consolidatedId } from './delivery-facts.ts';
import { supersededBy } from './supersession.ts';

/** The deliveries of one thing. */
export interface Group<F> {
  id: string;
  /** Shared by all groups that share keys, directly or indirectly. Groups of different families do not affect each other. */
  familyId: string;
  resourceType: string;
  /** The keys of all members, sorted. */
  keys: string[];
  /** The leading one first, and those that a newer version has superseded last. */
  members: F[];
  /** How many of them stand. */
  standing: number;
}

/**
 * Unites deliveries that share a key, provided that no assertion of any of them is lost. Keys form chains (A and B share an
 * identifier, B and C their content), and so does closeness of numbers. Therefore each delivery, in order of rank, joins
 * the groups with which it shares a key and whose members all agree with it; an earlier version of a statement joins the group of the
 * newest one, where it no longer counts. The result depends only on the set of
 * deliveries, not on their order.
 */
export function groupByKeys<F extends Groupable>(patientId: string, deliveries: readonly F[]): Group<F>[] {
  const byKey = new Map<string, Set<Cluster<F>>>();
  const clusters = new Set<Cluster<F>>();
  const register = (cluster: Cluster<F>, keys: Iterable<string>): void => {
    for (const key of keys) {
      // Versions of one statement are not the same by that.
      if (key.includes(' s:')) continue;
      const sharing = byKey.get(key);
      if (sharing === undefined) byKey.set(key, new Set([cluster]));
      else sharing.add(cluster);
    }
  };
  const sorted = deliveries.filter(({ keys }) => keys.length > 0).sort(byRank);
  const superseded = supersededBy(sorted);
  const homes = new Map<F, Cluster<F>>();
  for (const delivery of sorted) {
    if (superseded.has(delivery)) continue;
    const own = new Cluster(delivery);
    const near = new Set<Cluster<F>>();
    for (const key of own.keys) for (const other of byKey.get(key) ?? []) near.add(other);
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
  for (const cluster of clusters) for (const member of cluster.members) homes.set(member, cluster);
  for (const [older, newer] of superseded) homes.get(standing(newer, superseded))?.supersede(older);
  return named(patientId, [...clusters]);
}

function standing<F>(delivery: F, superseded: ReadonlyMap<F, F>): F {
  const newer = superseded.get(delivery);
  return newer === undefined ? delivery : standing(newer, superseded);
}

const byRank = (left: { rank: string }, right: { rank: string }): number =>
  left.rank < right.rank ? 1 : left.rank > right.rank ? -1 : 0;

function named<F extends Groupable>(patientId: string, clusters: readonly Cluster<F>[]): Group<F>[] {
  const familyOf = families(clusters);
  const firstOf = new Map<string, Cluster<F>>();
  const sorted = clusters.map((cluster) => ({ cluster, keys: cluster.sortedKeys() }));
  for (const { cluster, keys } of sorted) {
    const [key = ''] = keys;
    const known = firstOf.get(key);
    if (known === undefined || cluster.smallestName() < known.smallestName()) firstOf.set(key, cluster);
  }
  return sorted.map(({ cluster, keys }) => {
    const { resourceType } = cluster.leader;
    const [key = ''] = keys;
    const family = familyOf(key);
    // Groups may share their first key; all but one of them then add the name of a member.
    const name = firstOf.get(key) === cluster ? key : `${key} ${cluster.smallestName()}`;
    const id = consolidatedId(patientId, resourceType, [withoutType(name)]);
    return {
      id,
      familyId: family === name ? id : consolidatedId(patientId, resourceType, [withoutType(family)]),
      resourceType,
      keys: keys.map(withoutType),
      members: [...cluster.members.sort(byRank), ...cluster.superseded.sort(byRank)],
      standing: cluster.members.length,
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
