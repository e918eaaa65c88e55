import { randomUUID } from 'node:crypto';
import {
  newMessageId,
  type PatientDiscoveryResponse,
  readEnvelope,
  readPatientDiscoveryResponse,
  type WantedAttribute,
} from '#ihe';
import {
  type DeferredQuestions,
  type SoughtPerson,
  SourceFailure,
  type TakenAnswer,
} from '../../connector.ts';
import type { Gateway } from '../gateway.ts';
import { failureOfFault } from '../ihe-failures.ts';
import { criteriaOf, furtherAttributes } from './describe-person.ts';
import {
  DISCOVERY,
  type FoundInCommunities,
  foundIn,
  sendDiscovery,
  wantedOf,
  wantsMore,
} from './discover-patient.ts';

/** A question that the gateway has taken, and answers later. */
export interface AcceptedQuestion {
  questionId: string;
}

/**
 * Finds the person at a gateway that answers later: takes an answer that has
 * come, or asks. One to an earlier query, which came after that had ended, is
 * taken only if it found somebody, because that still stands; whoever was not
 * found then may be known by now.
 * @throws SourceFailure
 */
export async function discoverDeferred(
  gateway: Gateway,
  person: SoughtPerson,
  deferred: DeferredQuestions | undefined,
  signal: AbortSignal,
): Promise<FoundInCommunities | AcceptedQuestion> {
  if (deferred === undefined)
    throw new SourceFailure(
      'refused',
      `${gateway.config.source} answers later, which this process cannot wait for`,
    );
  for (;;) {
    const taken = await deferred.take();
    if (taken === undefined)
      return ask(gateway, person, deferred, new Set(), signal);
    const answer = await answerIn(gateway, taken);
    const isFault = answer instanceof SourceFailure;
    if (!isFault && (taken.isOwn || answer.outcome === 'found'))
      return useAnswer(gateway, person, deferred, { taken, answer }, signal);
    await deferred.discard(taken.id);
    if (isFault && taken.isOwn) throw answer;
  }
}

async function useAnswer(
  gateway: Gateway,
  person: SoughtPerson,
  deferred: DeferredQuestions,
  { taken, answer }: { taken: TakenAnswer; answer: PatientDiscoveryResponse },
  signal: AbortSignal,
): Promise<FoundInCommunities | AcceptedQuestion> {
  if (answer.outcome === 'more-attributes-wanted') {
    const further = furtherAttributes(person, wantedOf(answer));
    await deferred.discard(taken.id);
    if (further.size === 0) throw wantsMore(gateway, answer);
    return ask(gateway, person, deferred, further, signal);
  }
  const found = await foundIn(gateway, person, answer).catch(
    async (error: unknown) => {
      // Asked again, the gateway may answer otherwise.
      await deferred.discard(taken.id);
      throw error;
    },
  );
  if (taken.isOwn) return found;
  const told =
    'an answer to an earlier query, which had come after its end, was used';
  const notice = found.notice === undefined ? told : `${found.notice}. ${told}`;
  return { ...found, notice };
}

/** What a gateway sent later: its answer, or a fault in place of one. */
async function answerIn(
  { config }: Gateway,
  { bytes }: TakenAnswer,
): Promise<PatientDiscoveryResponse | SourceFailure> {
  const { payload, fault } = await readEnvelope(bytes, undefined);
  if (fault !== undefined)
    return failureOfFault(config.source, DISCOVERY, fault, '');
  // It was read before it was stored.
  if (payload === undefined) throw new Error('a stored answer is empty');
  return readPatientDiscoveryResponse(payload);
}

async function ask(
  gateway: Gateway,
  person: SoughtPerson,
  deferred: DeferredQuestions,
  wanted: ReadonlySet<WantedAttribute>,
  signal: AbortSignal,
): Promise<FoundInCommunities | AcceptedQuestion> {
  const messageId = newMessageId();
  const discoveryId = randomUUID();
  const address = await deferred.note({ messageId, discoveryId });
  const isDeferred = gateway.settings.answers === 'deferred';
  const answer = await sendDiscovery(
    gateway,
    criteriaOf(person, wanted),
    {
      messageId,
      discoveryId,
      ...(isDeferred ? { respondTo: address } : { replyTo: address }),
    },
    signal,
  );
  if (answer === undefined || answer.outcome === 'acknowledged')
    return { questionId: discoveryId };
  // It has answered at once after all.
  return foundIn(gateway, person, answer);
}
