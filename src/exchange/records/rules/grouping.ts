import { sortTexts } from '#record-summary/fhir';
import { lookupTable } from '../../../lib/lookup-table.ts';
import { agrees, canTakeIn, EARLIER } from './assertions.ts';
import { consolidatedId, type DeliveryFacts } from './delivery-facts.ts';

/** The deliveries of one thing. */
export interface Group<F> {
  id: string;
  /**
   * Shared by all groups that share keys, directly or indirectly. Groups of
   * different families do not affect each other.
   */
  familyId: string;
  resourceType: string;
  /** The keys of all members, sorted. */
  keys: string[];
  /**
   * The leading one first, and those that a newer version has superseded last.
   */
  members: F[];
  /** How many of them stand. */
  standing: number;
}

/**
 * Unites deliveries that share a key, provided that no assertion of any of them
 * is lost. Keys form chains (A and B share an identifier, B and C their
 * content), and so does closeness of numbers. Therefore each delivery, in order
 * of rank, joins the groups with which it shares a key and whose members all
 * agree with it; an earlier version of a statement joins the group of the
 * newest one, where it no longer counts. The result depends only on the set of
 * deliveries, not on their order.
 */
export function groupByKeys<F extends Groupable>(
  patientId: string,
  deliveries: readonly F[],
): Group<F>[] {
  const byKey = new Map<string, Cluster<F>[]>();
  const clusters = new Set<Cluster<F>>();
  const register = (cluster: Cluster<F>, keys: Iterable<string>): void => {
    for (const key of keys) {
      // Versions of one statement are not the same by that.
      if (key.includes(' s:')) continue;
      const sharing = byKey.get(key);
      if (sharing === undefined) byKey.set(key, [cluster]);
      else if (!sharing.includes(cluster)) sharing.push(cluster);
    }
  };
  const sorted = deliveries.filter(({ keys }) => keys.length > 0).sort(byRank);
  const superseded = supersededBy(sorted);
  const homes = new Map<F, Cluster<F>>();
  for (const delivery of sorted) {
    if (superseded.has(delivery)) continue;
    const own = new Cluster(delivery);
    const near: Cluster<F>[] = [];
    for (const key of own.keys)
      for (const other of byKey.get(key) ?? []) near.push(other);
    let home = own;
    for (const other of uniqueByRank(near)) {
      // The cluster whose leader has the higher rank absorbs the other, unless
      // the other is the panel that contains it.
      const ranked = home === own ? [other, own] : [home, other];
      const [upper, lower] =
        [ranked, ranked.toReversed()].find(
          ([first, second], index) =>
            first !== undefined &&
            second !== undefined &&
            (index === 0 || first.isPanelOf(second)) &&
            first.accepts(second),
        ) ?? [];
      if (upper === undefined || lower === undefined) continue;
      upper.absorb(lower);
      clusters.delete(lower);
      for (const key of lower.keys)
        byKey.set(
          key,
          (byKey.get(key) ?? []).filter((each) => each !== lower),
        );
      register(upper, lower.keys);
      home = upper;
    }
    if (home === own) {
      clusters.add(own);
      register(own, own.keys);
    }
  }
  for (const cluster of clusters)
    for (const member of cluster.members) homes.set(member, cluster);
  for (const [older, newer] of superseded)
    homes.get(standing(newer, superseded))?.supersede(older);
  return named(patientId, [...clusters]);
}

function standing<F>(delivery: F, superseded: ReadonlyMap<F, F>): F {
  const newer = superseded.get(delivery);
  return newer === undefined ? delivery : standing(newer, superseded);
}

const uniqueByRank = <C extends { leader: { rank: string } }>(
  clusters: C[],
): C[] =>
  clusters.length < 2
    ? clusters
    : [...new Set(clusters)].sort((left, right) =>
        byRank(left.leader, right.leader),
      );

const byRank = (left: { rank: string }, right: { rank: string }): number =>
  left.rank < right.rank ? 1 : left.rank > right.rank ? -1 : 0;

function named<F extends Groupable>(
  patientId: string,
  clusters: readonly Cluster<F>[],
): Group<F>[] {
  const familyOf = families(clusters);
  const firstOf = new Map<string, Cluster<F>>();
  const sorted = clusters.map((cluster) => ({
    cluster,
    keys: cluster.sortedKeys(),
  }));
  for (const { cluster, keys } of sorted) {
    const [key = ''] = keys;
    const known = firstOf.get(key);
    if (known === undefined || cluster.smallestName() < known.smallestName())
      firstOf.set(key, cluster);
  }
  return sorted.map(({ cluster, keys }) => {
    const { resourceType } = cluster.leader;
    const [key = ''] = keys;
    const family = familyOf(key);
    // Groups may share their first key; all but one of them then add the name
    // of a member.
    const name =
      firstOf.get(key) === cluster ? key : `${key} ${cluster.smallestName()}`;
    const id = consolidatedId(patientId, resourceType, [withoutType(name)]);
    return {
      id,
      familyId:
        family === name
          ? id
          : consolidatedId(patientId, resourceType, [withoutType(family)]),
      resourceType,
      keys: keys.map(withoutType),
      members: [
        cluster.leader,
        ...cluster.members
          .filter((member) => member !== cluster.leader)
          .sort(byRank),
        ...cluster.superseded.sort(byRank),
      ],
      standing: cluster.members.length,
    };
  });
}

const withoutType = (key: string): string => key.slice(key.indexOf(' ') + 1);

/**
 * Returns a function from a key to the smallest key connected to it
 * (union-find).
 */
function families(
  clusters: readonly { keys: ReadonlySet<string> }[],
): (key: string) => string {
  const parent = new Map<string, string>();
  const rootOf = (key: string): string => {
    let root = key;
    for (
      let next = parent.get(root);
      next !== undefined && next !== root;
      next = parent.get(root)
    )
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
      const left = rootOf(first);
      const right = rootOf(key);
      parent.set(left < right ? right : left, left < right ? left : right);
    }
  }
  return rootOf;
}

/** The part of a delivery's facts that grouping needs. */
type Groupable = Pick<
  DeliveryFacts,
  'resourceType' | 'source' | 'sourceId' | 'keys' | 'rank' | 'assertions'
>;

/** A growing set of deliveries that describe the same thing. */
class Cluster<F extends Groupable> {
  readonly leader: F;
  readonly members: F[];
  /** Earlier versions, of which nothing counts any more. */
  readonly superseded: F[] = [];
  /**
   * Prefixed with the resource type, so that different types never share a key.
   */
  readonly keys: Set<string>;
  private united: Map<string, Set<string>> | undefined;
  private name: string;

  constructor(delivery: F) {
    this.leader = delivery;
    this.members = [delivery];
    this.keys = new Set(
      delivery.keys.map((key) => `${delivery.resourceType} ${key}`),
    );
    this.name = `${delivery.source} ${delivery.sourceId}`;
  }

  /**
   * The assertions of all members, by name. Most clusters are never compared
   * with another one.
   */
  private get assertions(): Map<string, Set<string>> {
    this.united ??= new Map(
      Object.entries(this.leader.assertions).map(([name, text]) => [
        name,
        new Set([text]),
      ]),
    );
    return this.united;
  }

  /**
   * Whether no assertion of the other cluster contradicts one of this cluster,
   * and the leader can take in all its members.
   */
  accepts(other: Cluster<F>): boolean {
    for (const [name, texts] of other.assertions) {
      // `canTakeIn` compares the status with the leader's only; elements with
      // parts are taken from the leader as a whole.
      if (
        name === 'status' ||
        name.startsWith('@') ||
        (name.startsWith('*') && name in this.leader.assertions)
      )
        continue;
      for (const text of texts)
        for (const known of this.assertions.get(name) ?? [])
          if (!agrees(name, known, text)) return false;
    }
    return other.members.every(({ assertions }) =>
      canTakeIn(this.leader.assertions, assertions),
    );
  }

  /** Whether it has several values, and one of them is the other's only one. */
  isPanelOf(other: Cluster<F>): boolean {
    const own = valuesIn(this.leader);
    const theirs = valuesIn(other.leader);
    const [value = ''] = theirs;
    return theirs.length === 1 && own.length > 1 && own.includes(value);
  }

  absorb(other: Cluster<F>): void {
    this.members.push(...other.members);
    for (const key of other.keys) this.keys.add(key);
    for (const [name, texts] of other.assertions) {
      const known = this.assertions.get(name);
      if (known === undefined) this.assertions.set(name, texts);
      else for (const text of texts) known.add(text);
    }
    if (other.name < this.name) this.name = other.name;
  }

  /** Adds an earlier version of its statement. */
  supersede(older: F): void {
    this.superseded.push(older);
    for (const key of older.keys) this.keys.add(`${older.resourceType} ${key}`);
  }

  /**
   * The first of its members' names in text order; it does not depend on which
   * member leads.
   */
  smallestName(): string {
    return this.name;
  }

  sortedKeys(): string[] {
    return sortTexts([...this.keys]);
  }
}

/** The names of the values that a delivery states. */
const valuesIn = ({ assertions }: Groupable): string[] =>
  Object.keys(assertions).filter((name) => /^value /.test(name));

/**
 * Lists that a source keeps up to date: its newest document has the state of
 * each entry.
 */
const KEPT_LISTS: ReadonlySet<string> = new Set([
  'AllergyIntolerance',
  'Condition',
  'MedicationRequest',
  'MedicationStatement',
]);
const REPORTED: ReadonlySet<string> = new Set([
  'DiagnosticReport',
  'Observation',
]);

interface Link<F> {
  /** By an identifier, otherwise by the content that distinguishes it. */
  isById: boolean;
  deliveries: Set<F>;
}

/**
 * The deliveries whose statement a newer version has changed, each with that
 * version. Two deliveries are versions of one statement if they share a `s:`
 * key (`sameness.ts`): an identifier and what it identifies, or the content of
 * an entry that a source retracts or keeps in a list. One that a standing
 * version agrees with is not superseded, and neither is one of which two could
 * be the newer version, or that could be the older version of two. The result
 * depends only on the set of deliveries.
 *
 * @param deliveries in order of rank, the highest first
 */
function supersededBy<F extends Groupable>(
  deliveries: readonly F[],
): ReadonlyMap<F, F> {
  const result = new Map<F, F>();
  const linksOf = linksBetween(deliveries);
  const decided = new Set<F>();
  const newestOf = (delivery: F): F => {
    decide(delivery);
    const newer = result.get(delivery);
    return newer === undefined ? delivery : newestOf(newer);
  };
  const decide = (older: F): void => {
    if (decided.has(older)) return;
    decided.add(older);
    const links = linksOf(older);
    if (links.length === 0) return;
    const rivals = new Set<F>();
    for (const { isById, deliveries: linked } of links) {
      const own = [...linked].filter((each) => corrects(each, older, isById));
      // One document that has the statement twice does not say which of them
      // has changed.
      const isTwice =
        own.length > 0 &&
        [...linked].some((each) => isOtherInDocument(each, older));
      if (!isTwice) for (const each of own) rivals.add(each);
      const isConfirmed = [...linked].some(
        (each) =>
          each.rank > older.rank &&
          isSameSource(each, older) &&
          !isRetraction(each) &&
          !contradicts(each, older) &&
          canTakeIn(each.assertions, older.assertions) &&
          newestOf(each) === each,
      );
      if (isConfirmed) return;
    }
    const newest = [...new Set([...rivals].map(newestOf))].sort(
      (left, right) => (left.rank < right.rank ? 1 : -1),
    );
    const [first] = newest.filter(isRetraction).concat(newest);
    if (first === undefined) return;
    const isClear =
      isRetraction(first) ||
      newest.every(
        (each) =>
          each === first || !isSameVersion(each, first) || agree(each, first),
      );
    if (isClear && newestOf(first) !== older)
      result.set(older, newestOf(first));
  };
  for (const delivery of deliveries) decide(delivery);
  return result;
}

/**
 * The links of each delivery to others; nothing for one that can be no other
 * version of any.
 */
function linksBetween<F extends Groupable>(
  deliveries: readonly F[],
): (delivery: F) => readonly Link<F>[] {
  const links = new Map<string, Link<F>>();
  for (const { resourceType, keys } of deliveries)
    for (const key of keys)
      if (key.startsWith('s:'))
        links.set(`${resourceType} ${key}`, {
          isById: !key.startsWith('s:c:'),
          deliveries: new Set(),
        });
  const own = new Map<F, Set<Link<F>>>();
  if (links.size > 0)
    for (const delivery of deliveries)
      for (const key of delivery.keys) {
        const isContent = key.startsWith('c:');
        if (!isContent && !key.startsWith('s:')) continue;
        const link = links.get(
          `${delivery.resourceType} ${isContent ? 's:' : ''}${key}`,
        );
        if (link === undefined) continue;
        link.deliveries.add(delivery);
        const known = own.get(delivery);
        if (known === undefined) own.set(delivery, new Set([link]));
        else known.add(link);
      }
  return (delivery) =>
    [...(own.get(delivery) ?? [])].filter(
      ({ deliveries: linked }) => linked.size > 1,
    );
}

/**
 * Whether the first delivery is a newer version of the second, and contradicts
 * it.
 */
function corrects(
  newer: Groupable,
  older: Groupable,
  isById: boolean,
): boolean {
  if (newer === older || isRetraction(older)) return false;
  const one = versionOf(newer);
  const other = versionOf(older);
  const isOne = isSameSource(newer, older);
  if (isRetraction(newer)) {
    if (!isOne || !one.isNative || other.isNative) return false;
    return (
      isById ||
      (!isLater(other.at, one.at) &&
        canTakeIn(newer.assertions, withoutStatus(older)))
    );
  }
  if (!contradicts(newer, older)) return false;
  const isEntry = isById && KEPT_LISTS.has(newer.resourceType);
  if (!isEntry && isOtherThing(newer, older)) return false;
  const time = newer.assertions.time ?? '';
  const former = older.assertions.time ?? '';
  if (!KEPT_LISTS.has(newer.resourceType) && !agrees('time', time, former))
    return false;
  if (one.isNative && (other.isNative || !isOne))
    return (
      isById &&
      (REPORTED.has(newer.resourceType)
        ? isCorrection(newer, older)
        : isNextState(newer, older))
    );
  const isLinked =
    isById ||
    (KEPT_LISTS.has(newer.resourceType) &&
      !(isNumbered(newer) && isNumbered(older)));
  if (!isOne || !isLinked || other.isNative) return false;
  // What a source answers is its present state, unless it has not changed since
  // an earlier time than the document's.
  return one.isNative ? !isLater(other.at, one.at) : isLater(one.at, other.at);
}

/** Assertions that make two things of one code, which may share a number. */
const DISTINGUISHING = ['+method', '+place/side', '+specimen', 'side'];

const isOtherThing = (left: Groupable, right: Groupable): boolean =>
  DISTINGUISHING.some((name) => {
    const one = left.assertions[name];
    const other = right.assertions[name];
    return one !== undefined && other !== undefined && one !== other;
  });

/**
 * Whether two versions differ in what both state, or in what their keys say:
 * their time, value, or that it is negated.
 */
function contradicts(newer: Groupable, older: Groupable): boolean {
  for (const name in older.assertions) {
    const known = newer.assertions[name];
    const text = older.assertions[name] ?? '';
    if (known === undefined || /^[@*=]/.test(name) || agrees(name, known, text))
      continue;
    if (!(name === 'status' && EARLIER[known]?.includes(text))) return true;
  }
  return !newer.keys.some(
    (key) => !key.startsWith('s:') && older.keys.includes(key),
  );
}

/**
 * Whether the newer of two results under one number is marked as corrected, or
 * was issued later by the same source.
 */
function isCorrection(newer: Groupable, older: Groupable): boolean {
  const status = newer.assertions.status ?? '';
  const former = older.assertions.status ?? '';
  const issued = newer.assertions['@issued'] ?? '';
  const before = older.assertions['@issued'] ?? '';
  const isOne = isSameSource(newer, older);
  if (isOne && isLater(before, issued)) return false;
  if (EARLIER[status]?.includes(former))
    return status !== 'final' || isOne || !isLater(before, issued);
  return isOne && status === former && isLater(issued, before);
}

/** Statuses that end what had these before, by type. */
const ENDING: Readonly<
  Record<string, Readonly<Record<string, readonly string[]>>>
> = lookupTable({
  Encounter: {
    finished: ['planned', 'arrived', 'triaged', 'in-progress', 'onleave'],
  },
  MedicationRequest: {
    cancelled: ['active', 'draft', 'on-hold'],
    completed: ['active', 'draft', 'on-hold'],
    stopped: ['active', 'draft', 'on-hold'],
  },
  MedicationStatement: {
    completed: ['active', 'intended', 'on-hold'],
    stopped: ['active', 'intended', 'on-hold'],
  },
});

/**
 * Whether one of two sources says under one number that what the other one still
 * states has ended, and says nothing else that differs. Not if the other one
 * has changed it since.
 */
function isNextState(newer: Groupable, older: Groupable): boolean {
  const status = newer.assertions.status ?? '';
  const former = older.assertions.status ?? '';
  if (ENDING[newer.resourceType]?.[status]?.includes(former) !== true)
    return false;
  const { end: _end, ...ended } = newer.assertions;
  return (
    !isLater(versionOf(older).at, versionOf(newer).at) &&
    canTakeIn(ended, withoutOwn(older))
  );
}

/** Its assertions without the status and the hash of its whole content. */
const withoutOwn = (of: Groupable): Groupable['assertions'] =>
  Object.fromEntries(
    Object.entries(withoutStatus(of)).filter(([name]) => !name.startsWith('=')),
  );

/**
 * What a delivery is a version of: the rank begins with whether its source
 * wrote it and with when (`delivery-facts.ts`).
 */
function versionOf({ rank, sourceId }: Groupable): {
  isNative: boolean;
  at: string;
  document: string;
} {
  const isNative = rank.startsWith('1');
  const document = isNative ? '' : sourceId.slice(0, sourceId.lastIndexOf('.'));
  return { isNative, at: rank.slice(2, 26).trim(), document };
}

const isRetraction = ({ assertions }: Groupable): boolean =>
  assertions['@retracted'] !== undefined;
const isSameSource = (left: Groupable, right: Groupable): boolean =>
  left.source === right.source;
const isNumbered = ({ keys }: Groupable): boolean =>
  keys.some((key) => key.startsWith('i:'));
const agree = (left: Groupable, right: Groupable): boolean =>
  canTakeIn(left.assertions, right.assertions) ||
  canTakeIn(right.assertions, left.assertions);
/**
 * Whether two deliveries are of one state of a source: of one document, or of
 * what it answers.
 */
const isSameVersion = (left: Groupable, right: Groupable): boolean =>
  isSameSource(left, right) &&
  versionOf(left).document === versionOf(right).document;
const isOtherInDocument = (left: Groupable, right: Groupable): boolean =>
  left !== right &&
  !versionOf(left).isNative &&
  isSameVersion(left, right) &&
  !agree(left, right);

const withoutStatus = ({ assertions }: Groupable): Groupable['assertions'] => {
  const {
    status: _status,
    state: _state,
    lifecycle: _lifecycle,
    ...rest
  } = assertions;
  return rest;
};

/**
 * Whether a time is later than another one, compared with the lesser precision.
 */
function isLater(time: string, than: string): boolean {
  const length = Math.min(time.length, than.length, 19);
  return length > 0 && time.slice(0, length) > than.slice(0, length);
}
