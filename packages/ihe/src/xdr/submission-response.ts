import { isRegistryElement } from '../ebxml/registry-elements.ts';
import {
  type RegistryOutcome,
  readRegistryOutcome,
  registryErrors,
} from '../ebxml/registry-response.ts';
import { type IheErrorMeaning, weightiestMeaning } from '../errors.ts';
import { messageElement } from '../message-element.ts';
import type { XmlElement } from '../xml/xml-element.ts';

/**
 * An answer of ITI-41. `accepted` means that the other side took the documents,
 * not that anybody read them.
 */
export type SubmissionResponse = RegistryOutcome &
  ({ outcome: 'accepted' } | { outcome: 'failed'; meaning: IheErrorMeaning });

/**
 * Reads ITI-41's answer, RegistryResponse.
 *
 * @param payload the element in the SOAP body. Another one has failed.
 */
export function readSubmissionResponse(
  payload: XmlElement,
): SubmissionResponse {
  const isMessage = (element: XmlElement) =>
    isRegistryElement(element, 'RegistryResponse');
  const body = messageElement(payload, isMessage);
  const answer = readRegistryOutcome(body);
  const errors = registryErrors(answer.problems);

  if (isMessage(body) && answer.status === 'Success' && errors.length === 0) {
    return { ...answer, outcome: 'accepted' };
  }

  return {
    ...answer,
    outcome: 'failed',
    meaning: weightiestMeaning(errors) ?? 'failed',
  };
}
