import { agrees, canTakeIn, EARLIER } from './assertions.ts';
import type { Groupable } from './cluster.ts';

/** Lists that a source keeps up to date: its newest document has the state of each entry. */
const KEPT_LISTS: ReadonlySet<string> = new Set([
  'AllergyIntolerance',
  'Condition',
  'MedicationRequest',
  'MedicationStatement',
]);
const REPORTED: ReadonlySet<string> = new Set(['DiagnosticReport', 'Observation']);

interface Link<F> {
  /** By an identifier, otherwise by the content that distinguishes it. */
  isById: boolean;
  deliveries: Set<F>;
}

/**
 * The deliveries whose statement a newer version has changed, each with that version. Two deliveries are versions of one statement if
 * they share a `s:` key (`sameness.ts`): an identifier and what it identifies, or the content of an entry that a source retracts or
 * keeps in a list. One that a standing version agrees with is not superseded, and neither is one of which two could be the newer
 * version, or that could be the older version of two. The result depends only on the set of deliveries.
 *
 * @param deliveries in order of rank, the highest first
 */
export function supersededBy<F extends Groupable>(deliveries: readonly F[]): ReadonlyMap<F, F> {
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
      // One document that has the statement twice does not say which of them has changed.
      const isTwice = own.length > 0 && [...linked].some((each) => isOtherInDocument(each, older));
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
    const newest = [...new Set([...rivals].map(newestOf))].sort((left, right) =>
      left.rank < right.rank ? 1 : -1,
    );
    const [first] = newest.filter(isRetraction).concat(newest);
    if (first === undefined) return;
    const isClear =
      isRetraction(first) ||
      newest.every((each) => each === first || !isSameVersion(each, first) || agree(each, first));
    if (isClear && newestOf(first) !== older) result.set(older, newestOf(first));
  };
  for (const delivery of deliveries) decide(delivery);
  return result;
}

/** The links of each delivery to others; nothing for one that can be no other version of any. */
function linksBetween<F extends Groupable>(deliveries: readonly F[]): (delivery: F) => readonly Link<F>[] {
  const links = new Map<string, Link<F>>();
  for (const { resourceType, keys } of deliveries)
    for (const key of keys)
      if (key.startsWith('s:'))
        links.set(`${resourceType} ${key}`, { isById: !key.startsWith('s:c:'), deliveries: new Set() });
  const own = new Map<F, Set<Link<F>>>();
  if (links.size > 0)
    for (const delivery of deliveries)
      for (const key of delivery.keys) {
        const isContent = key.startsWith('c:');
        if (!isContent && !key.startsWith('s:')) continue;
        const link = links.get(`${delivery.resourceType} ${isContent ? 's:' : ''}${key}`);
        if (link === undefined) continue;
        link.deliveries.add(delivery);
        const known = own.get(delivery);
        if (known === undefined) own.set(delivery, new Set([link]));
        else known.add(link);
      }
  return (delivery) => [...(own.get(delivery) ?? [])].filter(({ deliveries: linked }) => linked.size > 1);
}

/** Whether the first delivery is a newer version of the second, and contradicts it. */
function corrects(newer: Groupable, older: Groupable, isById: boolean): boolean {
  if (newer === older || isRetraction(older)) return false;
  const [one, other] = [versionOf(newer), versionOf(older)];
  const isOne = isSameSource(newer, older);
  if (isRetraction(newer)) {
    if (!isOne || !one.isNative || other.isNative) return false;
    return isById || (!isLater(other.at, one.at) && canTakeIn(newer.assertions, withoutStatus(older)));
  }
  if (!contradicts(newer, older)) return false;
  const [time = '', former = ''] = [newer.assertions.time, older.assertions.time];
  if (!KEPT_LISTS.has(newer.resourceType) && !agrees('time', time, former)) return false;
  if (one.isNative && other.isNative)
    return isById && REPORTED.has(newer.resourceType) && isCorrection(newer, older);
  const isLinked =
    isById || (KEPT_LISTS.has(newer.resourceType) && !(isNumbered(newer) && isNumbered(older)));
  if (!isOne || !isLinked || other.isNative) return false;
  // What a source answers is its present state, unless it has not changed since an earlier time than the document's.
  return one.isNative ? !isLater(other.at, one.at) : isLater(one.at, other.at);
}

/** Whether two versions differ in what both state, or in what their keys say: their time, value, or that it is negated. */
function contradicts(newer: Groupable, older: Groupable): boolean {
  const isOther = Object.entries(older.assertions).some(([name, text]) => {
    const known = newer.assertions[name];
    if (known === undefined || /^[@*=]/.test(name) || agrees(name, known, text)) return false;
    return !(name === 'status' && EARLIER[known]?.includes(text));
  });
  return isOther || !newer.keys.some((key) => !key.startsWith('s:') && older.keys.includes(key));
}

/** Whether the newer of two results under one number is marked as corrected, or was issued later by the same source. */
function isCorrection(newer: Groupable, older: Groupable): boolean {
  const [status = '', former = ''] = [newer.assertions.status, older.assertions.status];
  const [issued = '', before = ''] = [newer.assertions['@issued'], older.assertions['@issued']];
  const isOne = isSameSource(newer, older);
  if (isOne && isLater(before, issued)) return false;
  if (EARLIER[status]?.includes(former)) return status !== 'final' || isOne;
  return isOne && status === former && isLater(issued, before);
}

/** What a delivery is a version of: the rank begins with whether its source wrote it and with when (`delivery-facts.ts`). */
function versionOf({ rank, sourceId }: Groupable): { isNative: boolean; at: string; document: string } {
  const isNative = rank.startsWith('1');
  const document = isNative ? '' : sourceId.slice(0, sourceId.lastIndexOf('.'));
  return { isNative, at: rank.slice(2, 26).trim(), document };
}

const isRetraction = ({ assertions }: Groupable): boolean => assertions['@retracted'] !== undefined;
const isSameSource = (left: Groupable, right: Groupable): boolean => left.source === right.source;
const isNumbered = ({ keys }: Groupable): boolean => keys.some((key) => key.startsWith('i:'));
const agree = (left: Groupable, right: Groupable): boolean =>
  canTakeIn(left.assertions, right.assertions) || canTakeIn(right.assertions, left.assertions);
/** Whether two deliveries are of one state of a source: of one document, or of what it answers. */
const isSameVersion = (left: Groupable, right: Groupable): boolean =>
  isSameSource(left, right) && versionOf(left).document === versionOf(right).document;
const isOtherInDocument = (left: Groupable, right: Groupable): boolean =>
  left !== right && !versionOf(left).isNative && isSameVersion(left, right) && !agree(left, right);

const withoutStatus = ({ assertions }: Groupable): Groupable['assertions'] => {
  const { status: _status, state: _state, lifecycle: _lifecycle, ...rest } = assertions;
  return rest;
};

/** Whether a time is later than another one, compared with the lesser precision. */
function isLater(time: string, than: string): boolean {
  const length = Math.min(time.length, than.length, 19);
  return length > 0 && time.slice(0, length) > than.slice(0, length);
}
