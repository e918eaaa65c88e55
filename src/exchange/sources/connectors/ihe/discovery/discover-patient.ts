import { randomUUID } from 'node:crypto';
import {
  attachmentsInMemory,
  buildPatientDiscovery,
  DISCOVERY_ACTIONS,
  type DiscoveryCriteria,
  type PatientDiscoveryResponse,
  readPatientDiscoveryResponse,
  type WantedAttribute,
  withoutUrn,
} from '#ihe';
import { describesAnother } from '#person-matching';
import { type SoughtPerson, SourceFailure } from '../../connector.ts';
import { badResponse } from '../../http/failures.ts';
import { callGateway, type Gateway } from '../gateway.ts';
import { failureOfCodes } from '../ihe-failures.ts';
import { chooseMatches } from './choose-matches.ts';
import {
  type CommunityPatient,
  communityMatchOf,
} from './community-patient.ts';
import { criteriaOf, furtherAttributes } from './describe-person.ts';

export const DISCOVERY = 'patient discovery (ITI-55)';

export interface FoundInCommunities {
  /** Empty when the gateway does not know the person. */
  patients: CommunityPatient[];
  /** The home community that answered, if it says so. */
  answering?: string;
  /** For the timeline. */
  notice?: string;
}

/**
 * Finds the person at the communities behind a gateway. If it wants to know
 * more before it answers, it is asked again with what we have. Only an answer
 * that says so in every part means that nobody was found.
 * @throws SourceFailure
 */
export async function discoverPatient(
  gateway: Gateway,
  person: SoughtPerson,
  signal: AbortSignal,
): Promise<FoundInCommunities> {
  const first = await ask(gateway, criteriaOf(person, new Set()), signal);
  if (first.outcome !== 'more-attributes-wanted')
    return foundIn(gateway, person, first);
  const further = furtherAttributes(person, wantedOf(first));
  if (further.size === 0) throw wantsMore(gateway, first);
  const second = await ask(gateway, criteriaOf(person, further), signal);
  return foundIn(gateway, person, second);
}

async function ask(
  gateway: Gateway,
  criteria: DiscoveryCriteria,
  signal: AbortSignal,
): Promise<PatientDiscoveryResponse> {
  const answer = await sendDiscovery(gateway, criteria, {}, signal);
  if (answer === undefined)
    throw badResponse(gateway.config.source, `did not answer ${DISCOVERY}`);
  return answer;
}

/** How a question is told, and where its answer goes if that comes later. */
export interface DiscoveryAddress {
  messageId?: string;
  discoveryId?: string;
  /** XCPD's deferred answer. */
  respondTo?: string;
  /** The asynchronous answer of WS-Addressing. */
  replyTo?: string;
}

/**
 * Sends a question. Undefined when the gateway has taken it and said nothing
 * (HTTP 202).
 */
export async function sendDiscovery(
  gateway: Gateway,
  criteria: DiscoveryCriteria,
  { messageId, discoveryId, respondTo, replyTo }: DiscoveryAddress,
  signal: AbortSignal,
): Promise<PatientDiscoveryResponse | undefined> {
  const { config, settings, now } = gateway;
  const answer = await callGateway(gateway, {
    transaction: 'ITI-55',
    label: DISCOVERY,
    url: gateway.discoveryUrl,
    action:
      respondTo === undefined
        ? DISCOVERY_ACTIONS.question
        : DISCOVERY_ACTIONS.deferredQuestion,
    messageId,
    replyTo,
    body: buildPatientDiscovery({
      messageId: { root: randomUUID(), extension: undefined },
      queryId: { root: discoveryId ?? randomUUID(), extension: undefined },
      respondTo,
      sentAt: new Date(now()),
      sender: gatewayIdentity(settings.ownHomeCommunity),
      receiver: gatewayIdentity(settings.homeCommunity),
      processing: 'P',
      criteria,
    }),
    store: attachmentsInMemory,
    limits: { bytes: config.pageBytesMax },
    signal,
  });
  return answer && readPatientDiscoveryResponse(answer.payload);
}

const gatewayIdentity = (homeCommunity: string) => ({
  deviceId: withoutUrn(homeCommunity),
  homeCommunity: withoutUrn(homeCommunity),
});

/** The person in an answer, by our own rule. */
export async function foundIn(
  gateway: Gateway,
  person: SoughtPerson,
  answer: PatientDiscoveryResponse,
): Promise<FoundInCommunities> {
  const { config, settings } = gateway;
  switch (answer.outcome) {
    case 'nobody':
      return { patients: [], answering: answer.senderCommunity };
    case 'more-attributes-wanted':
      throw wantsMore(gateway, answer);
    case 'acknowledged':
      throw new SourceFailure(
        'denied',
        `${config.source} will answer ${DISCOVERY} later: set --answers deferred for this connection`,
      );
    case 'failed': {
      const codes = answer.problems.map(({ code }) => code);
      throw failureOfCodes(config.source, DISCOVERY, answer.meaning, codes);
    }
    case 'found':
      return chooseFound(
        gateway,
        person,
        answer,
        answer.senderCommunity ?? settings.homeCommunity,
      );
  }
}

async function chooseFound(
  { config }: Gateway,
  person: SoughtPerson,
  { patients }: PatientDiscoveryResponse,
  answering: string,
): Promise<FoundInCommunities> {
  const matches = patients.flatMap(
    (each) => communityMatchOf(each, answering) ?? [],
  );
  const chosen = await chooseMatches(person, matches);
  await person.review?.note(chosen.held);
  const isOther = ({ patient }: (typeof matches)[number]) =>
    !person.review?.decided.has(patient.id) &&
    describesAnother(person, patient);
  if (
    chosen.accepted.length === 0 &&
    chosen.held.length === 0 &&
    matches.some(isOther)
  )
    throw new SourceFailure(
      'refused',
      `${config.source} answered ${DISCOVERY} with another patient as the match: nothing was collected; compare our description of the patient with the source, then query it again`,
    );
  const nameless = patients.length - matches.length;
  const notices = [
    ...(chosen.heldBack === undefined ? [] : [chosen.heldBack]),
    ...(nameless === 0
      ? []
      : [
          'A match without a usable id was left out: it cannot be asked for documents',
        ]),
  ];
  return {
    patients: chosen.accepted.map(({ community }) => community),
    answering,
    ...(notices.length === 0 ? {} : { notice: notices.join('. ') }),
  };
}

export const wantedOf = ({
  wanted,
}: PatientDiscoveryResponse): WantedAttribute[] =>
  wanted.flatMap(({ attribute }) => attribute ?? []);

/** The words for what a community may want to know. */
const WANTED_WORDS = {
  address: 'an address',
  telecom: 'a phone number or mail address',
  gender: 'the gender',
  ssn: 'the social security number',
  'birth-place-name': 'the place of birth',
  'birth-place-address': 'the place of birth',
  'mothers-maiden-name': "the mother's maiden name",
} as const satisfies Record<WantedAttribute, string>;

export function wantsMore(
  { config }: Gateway,
  answer: PatientDiscoveryResponse,
): SourceFailure {
  const words = [
    ...new Set(wantedOf(answer).map((attribute) => WANTED_WORDS[attribute])),
  ];
  const what = words.length === 0 ? 'something else' : words.join(' and ');
  return new SourceFailure(
    'refused',
    `${config.source} wants to know ${what} before it says whether it knows the patient, which the patient's data do not have; add it, then query again`,
  );
}
