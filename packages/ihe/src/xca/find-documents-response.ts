import {
  type DocumentEntry,
  readDocumentEntry,
} from '../ebxml/document-entry.ts';
import {
  isRegistryElement,
  registryChildren,
} from '../ebxml/registry-elements.ts';
import {
  RESPONSE_STATUSES,
  type RegistryStatus,
} from '../ebxml/registry-names.ts';
import {
  type RegistryFault,
  type RegistryOutcome,
  readRegistryOutcome,
  registryErrors,
  writeRegistryErrors,
} from '../ebxml/registry-response.ts';
import {
  type DocumentMetadata,
  writeDocumentEntry,
  writeDocumentReference,
} from '../ebxml/write-document-entry.ts';
import { type IheErrorMeaning, weightiestMeaning } from '../errors.ts';
import { messageElement } from '../message-element.ts';
import { EBXML_QUERY, EBXML_RIM, EBXML_RS } from '../namespaces.ts';
import { type XmlFragment, xml } from '../xml/write-xml.ts';
import type { XmlElement } from '../xml/xml-element.ts';

/**
 * What a response of ITI-38 or ITI-39 comes to.
 *
 * - `complete`: all is there, which may be nothing at all;
 * - `incomplete`: something is there, and the response says that not all is;
 * - `failed`: nothing is there, and that is no statement about the patient.
 */
export type CrossGatewayOutcome =
  | { outcome: 'complete' }
  | { outcome: 'incomplete' }
  | { outcome: 'failed'; meaning: IheErrorMeaning };

/** What was odd about a response that could be read nevertheless. */
export type RegistryRemark =
  /** The body is not the response of this transaction. */
  | 'unknown-message'
  /** The status is missing, or none of IHE's. */
  | 'unknown-status'
  /** `Success` beside errors. */
  | 'success-with-errors'
  /** `Failure` beside documents. */
  | 'failure-with-documents'
  /** Documents are named without their metadata, which was not asked for. */
  | 'references-only';

/** An answer of ITI-38. */
export type FindDocumentsResponse = RegistryOutcome &
  CrossGatewayOutcome & {
    /** In the order of the response. */
    entries: DocumentEntry[];

    remarks: RegistryRemark[];
  };

/**
 * Reads ITI-38's answer, AdhocQueryResponse.
 *
 * @param payload the element in the SOAP body. Another one has failed.
 */
export function readFindDocumentsResponse(
  payload: XmlElement,
): FindDocumentsResponse {
  const isMessage = (element: XmlElement) =>
    isRegistryElement(element, 'AdhocQueryResponse');
  const body = messageElement(payload, isMessage);
  const outcome = readRegistryOutcome(body);
  const lists = registryChildren(body, 'RegistryObjectList');
  const entries = lists
    .flatMap((list) => registryChildren(list, 'ExtrinsicObject'))
    .map(readDocumentEntry);
  const hasReferences = lists.some(
    (list) => registryChildren(list, 'ObjectRef').length > 0,
  );

  const conclusion = concludeRegistryAnswer(
    outcome,
    entries.length,
    isMessage(body),
  );
  const remarks = registryRemarks(outcome, entries.length, isMessage(body));

  if (!hasReferences) return { ...outcome, ...conclusion, entries, remarks };

  return {
    ...outcome,
    ...(conclusion.outcome === 'complete' ? GAP : conclusion),
    entries,
    remarks: [...remarks, 'references-only'],
  };
}

const GAP = { outcome: 'incomplete' } as const;

/**
 * What a response comes to: only a status of `Success` without an error means
 * that nothing is missing.
 */
export function concludeRegistryAnswer(
  response: RegistryOutcome,
  documents: number,
  isResponse: boolean,
): CrossGatewayOutcome {
  const errors = registryErrors(response.problems);

  if (isResponse && response.status === 'Success' && errors.length === 0) {
    return { outcome: 'complete' };
  }
  if (documents > 0) return { outcome: 'incomplete' };

  return { outcome: 'failed', meaning: weightiestMeaning(errors) ?? 'failed' };
}

export function registryRemarks(
  response: RegistryOutcome,
  documents: number,
  isResponse: boolean,
): RegistryRemark[] {
  if (!isResponse) return ['unknown-message'];

  const { status, problems } = response;
  const hasErrors = registryErrors(problems).length > 0;
  const remarks: RegistryRemark[] = [];

  if (status === undefined) remarks.push('unknown-status');
  if (status === 'Success' && hasErrors) remarks.push('success-with-errors');
  if (status === 'Failure' && documents > 0) {
    remarks.push('failure-with-documents');
  }

  return remarks;
}

/**
 * Writes ITI-38's answer, AdhocQueryResponse. With `referencesOnly`, for a
 * question whose return type is ObjectRef, entries are named and not described.
 */
export function buildFindDocumentsResponse(answer: {
  status: RegistryStatus;
  entries: readonly DocumentMetadata[];
  referencesOnly?: boolean | undefined;
  faults?: readonly RegistryFault[] | undefined;
}): XmlFragment {
  const write = answer.referencesOnly
    ? writeDocumentReference
    : writeDocumentEntry;

  return xml`
    <query:AdhocQueryResponse
      xmlns:query="${EBXML_QUERY}"
      xmlns:rim="${EBXML_RIM}"
      xmlns:rs="${EBXML_RS}"
      status="${RESPONSE_STATUSES[answer.status]}">
      ${writeRegistryErrors(answer.faults ?? [])}
      <rim:RegistryObjectList>${answer.entries.map(write)}</rim:RegistryObjectList>
    </query:AdhocQueryResponse>
  `;
}
