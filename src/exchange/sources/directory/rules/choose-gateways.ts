/*
 * Which gateways of a network are asked for a patient: pure, so that the choice
 * can be shown before it is made.
 */

/** A gateway as the directory has it. */
export interface GatewayCandidate {
  /** Of its entry in the directory. */
  id: string;
  name: string | null;
  homeCommunity: string | null;
  active: boolean;
  discoveryUrl: string | null;
  queryUrl: string | null;
  retrieveUrl: string | null;
  /**
   * From the nearest of the patient's addresses to the nearest of the places
   * that it answers for; null: no such place has a position.
   */
  miles: number | null;
  /** It answers for a place without a position in a state of the patient. */
  isUnplacedInState: boolean;
  isBelowLocator: boolean;
}

/** Why a gateway is asked, in the order in which they are. */
export const GATEWAY_REASONS = ['locator', 'known', 'near', 'state'] as const;
export type GatewayReason = (typeof GATEWAY_REASONS)[number];

/** A gateway that is asked: all that is needed for it. */
export interface ChosenGateway {
  homeCommunity: string;
  name: string;
  because: GatewayReason;
  miles?: number | undefined;
  discoveryUrl: string;
  queryUrl: string;
  retrieveUrl: string;
}

/** Why a gateway is not asked. */
export const LEFT_OUT_REASONS = [
  'inactive',
  'incomplete',
  'ourselves',
  'excluded',
  'below a record locator',
  'known not to have the patient',
  'too far',
  'over the maximum',
] as const;
export type LeftOutReason = (typeof LEFT_OUT_REASONS)[number];

export interface GatewayChoice {
  /** In the order in which they are asked. */
  chosen: ChosenGateway[];
  /** How many gateways were left out, by reason. */
  leftOut: Record<LeftOutReason, number>;
}

/** What decides, besides the directory. OIDs have no `urn:oid:`. */
export interface ChoiceRules {
  ownHomeCommunity: string;
  recordLocators: readonly string[];
  /** Empty: all. */
  onlyCommunities: readonly string[];
  neverCommunities: readonly string[];
  withinMiles: number;
  gatewaysMax: number;
}

/** What earlier queries of the patient have shown, by home community. */
export interface PatientAtGateways {
  /** Those that had the patient. */
  found: ReadonlySet<string>;
  /** Those that did not, so recently that they are not asked again. */
  nobody: ReadonlySet<string>;
}

export const NOTHING_SHOWN: PatientAtGateways = {
  found: new Set(),
  nobody: new Set(),
};

/**
 * Chooses: record locators first, and none of their members; then the gateways
 * that had the patient before; then those within the distance of any of the
 * patient's addresses, the nearest first; then those in a state of the patient
 * whose place is not known. Each home community is asked once.
 */
export function chooseGateways(
  candidates: readonly GatewayCandidate[],
  rules: ChoiceRules,
  shown: PatientAtGateways = NOTHING_SHOWN,
): GatewayChoice {
  const leftOut = Object.fromEntries(
    LEFT_OUT_REASONS.map((reason) => [reason, 0]),
  ) as Record<LeftOutReason, number>;
  const wanted = new Map<string, ChosenGateway>();

  for (const candidate of candidates) {
    const judged = judge(candidate, rules, shown);
    if (typeof judged === 'string') leftOut[judged] += 1;
    else {
      const { homeCommunity } = judged;
      const other = wanted.get(homeCommunity);
      if (other === undefined || inOrder(judged, other) < 0)
        wanted.set(homeCommunity, judged);
    }
  }

  const ordered = [...wanted.values()].sort(inOrder);
  leftOut['over the maximum'] = Math.max(0, ordered.length - rules.gatewaysMax);
  return { chosen: ordered.slice(0, rules.gatewaysMax), leftOut };
}

function judge(
  candidate: GatewayCandidate,
  rules: ChoiceRules,
  shown: PatientAtGateways,
): ChosenGateway | LeftOutReason {
  const { homeCommunity, discoveryUrl, queryUrl, retrieveUrl } = candidate;
  if (!candidate.active) return 'inactive';
  if (
    homeCommunity === null ||
    discoveryUrl === null ||
    queryUrl === null ||
    retrieveUrl === null
  )
    return 'incomplete';
  if (homeCommunity === rules.ownHomeCommunity) return 'ourselves';
  if (isExcluded(homeCommunity, rules)) return 'excluded';

  const miles = candidate.miles ?? undefined;
  const reason = reasonFor({ ...candidate, homeCommunity }, rules, shown);
  if (!isReason(reason)) return reason;
  return {
    homeCommunity,
    name: candidate.name ?? homeCommunity,
    because: reason,
    ...(miles === undefined ? {} : { miles: Math.round(miles * 10) / 10 }),
    discoveryUrl,
    queryUrl,
    retrieveUrl,
  };
}

const isReason = (
  reason: GatewayReason | LeftOutReason,
): reason is GatewayReason => GATEWAY_REASONS.some((each) => each === reason);

const isExcluded = (
  homeCommunity: string,
  { onlyCommunities, neverCommunities }: ChoiceRules,
): boolean =>
  neverCommunities.includes(homeCommunity) ||
  (onlyCommunities.length > 0 && !onlyCommunities.includes(homeCommunity));

function reasonFor(
  {
    homeCommunity,
    isBelowLocator,
    miles,
    isUnplacedInState,
  }: GatewayCandidate & { homeCommunity: string },
  { recordLocators, withinMiles }: ChoiceRules,
  { found, nobody }: PatientAtGateways,
): GatewayReason | LeftOutReason {
  if (recordLocators.includes(homeCommunity)) return 'locator';
  if (isBelowLocator) return 'below a record locator';
  if (found.has(homeCommunity)) return 'known';
  if (nobody.has(homeCommunity)) return 'known not to have the patient';
  if (miles !== null && miles <= withinMiles) return 'near';
  return isUnplacedInState ? 'state' : 'too far';
}

/** By reason, then the nearest first; always the same for the same directory. */
function inOrder(one: ChosenGateway, other: ChosenGateway): number {
  const byReason =
    GATEWAY_REASONS.indexOf(one.because) -
    GATEWAY_REASONS.indexOf(other.because);
  const farMiles = Number.MAX_SAFE_INTEGER;
  const byDistance = (one.miles ?? farMiles) - (other.miles ?? farMiles);
  return (
    byReason || byDistance || (one.homeCommunity < other.homeCommunity ? -1 : 1)
  );
}
