import {
  type DocumentContent,
  type DocumentToWrite,
  readDocumentContent,
  writeDocumentContent,
} from '../ebxml/document-content.ts';
import {
  isRegistryElement,
  registryChild,
  registryChildren,
} from '../ebxml/registry-elements.ts';
import type { RegistryStatus } from '../ebxml/registry-names.ts';
import {
  buildRegistryResponse,
  type RegistryFault,
  type RegistryOutcome,
  readRegistryOutcome,
} from '../ebxml/registry-response.ts';
import { groupedBy } from '../grouped-by.ts';
import { messageElement } from '../message-element.ts';
import { XDSB } from '../namespaces.ts';
import { type XmlFragment, xml } from '../xml/write-xml.ts';
import { type XmlElement, xmlText } from '../xml/xml-element.ts';
import {
  type CrossGatewayOutcome,
  concludeRegistryAnswer,
  type RegistryRemark,
  registryRemarks,
} from './find-documents-response.ts';
import {
  type DocumentReferenceIds,
  documentKey,
  type RequestedDocument,
  readDocumentIds,
  repositoryKey,
  writeHomeCommunity,
} from './retrieve-documents.ts';

/** A document in an answer of ITI-39. Ids and type as written. */
export interface RetrievedDocument extends RequestedDocument {
  /** Of a document made on demand: what it is called from now on. */
  newUniqueId: string | undefined;
  newRepository: string | undefined;

  /** May be wrong or missing: the bytes decide. */
  mimeType: string | undefined;

  content: DocumentContent;
}

/** An answer of ITI-39. */
export type RetrieveResponse = RegistryOutcome &
  CrossGatewayOutcome & {
    /** In the order of the response. */
    documents: RetrievedDocument[];

    remarks: RegistryRemark[];
  };

/**
 * Reads ITI-39's answer, RetrieveDocumentSetResponse. What it comes to counts
 * the documents that have content, or say in which attachment it is: whether
 * that attachment arrived is for whoever reads the parts.
 *
 * @param payload the element in the SOAP body. Another one has failed.
 */
export function readRetrieveResponse(payload: XmlElement): RetrieveResponse {
  const isMessage = (element: XmlElement) =>
    isRegistryElement(element, 'RetrieveDocumentSetResponse');
  const body = messageElement(payload, isMessage);
  const response = registryChild(body, 'RegistryResponse');
  const documents = registryChildren(body, 'DocumentResponse').map(
    readRetrievedDocument,
  );
  const present = documents.filter(({ content }) => content.in !== 'nowhere');

  // Some forget the RegistryResponse; then no status says that all is there.
  const outcome = readRegistryOutcome(response ?? body);
  const conclusion = concludeRegistryAnswer(
    outcome,
    present.length,
    isMessage(body),
  );
  const isGap =
    conclusion.outcome === 'complete' && present.length < documents.length;

  return {
    ...outcome,
    ...(isGap ? gapOf(present.length) : conclusion),
    documents,
    remarks: registryRemarks(outcome, present.length, isMessage(body)),
  };
}

function gapOf(present: number): CrossGatewayOutcome {
  return present > 0
    ? { outcome: 'incomplete' }
    : { outcome: 'failed', meaning: 'document-missing' };
}

function readRetrievedDocument(response: XmlElement): RetrievedDocument {
  return {
    ...readDocumentIds(response),
    newUniqueId: xmlText(registryChild(response, 'NewDocumentUniqueId')),
    newRepository: xmlText(registryChild(response, 'NewRepositoryUniqueId')),
    mimeType: xmlText(registryChild(response, 'mimeType')),
    content: readDocumentContent(registryChild(response, 'Document')),
  };
}

/** What an answer holds of what was asked for. */
export interface RetrievalAccount<Asked extends RequestedDocument> {
  received: { asked: Asked; document: RetrievedDocument }[];

  /** Asked for, and not there: a gap, though no error may name it. */
  missing: Asked[];

  /** Never asked for: not to be filed. */
  unasked: RetrievedDocument[];
}

/**
 * Counts an answer of ITI-39 against what was asked. A document that names
 * another community than asked, or none, counts as the one of its id and
 * repository if no other was asked for by all three.
 */
export function accountForRetrieval<Asked extends RequestedDocument>(
  asked: readonly Asked[],
  documents: readonly RetrievedDocument[],
): RetrievalAccount<Asked> {
  const account: RetrievalAccount<Asked> = {
    received: [],
    missing: [],
    unasked: [],
  };
  const unasked = new Set(documents);
  const matched = new Map<Asked, RetrievedDocument>();

  for (const keyOf of [documentKey, repositoryKey]) {
    // Reversed, so that the first of several is taken from the end.
    const rest = groupedBy([...unasked].toReversed(), keyOf);

    for (const each of asked) {
      if (matched.has(each)) continue;

      const document = rest.get(keyOf(each))?.pop();

      if (document === undefined) continue;

      matched.set(each, document);
      unasked.delete(document);
    }
  }

  for (const each of asked) {
    const document = matched.get(each);
    const isThere = document !== undefined && document.content.in !== 'nowhere';

    if (isThere) account.received.push({ asked: each, document });
    else account.missing.push(each);
  }

  for (const document of unasked) account.unasked.push(document);

  return account;
}

/** A document that a responding gateway hands out. */
export interface DocumentToRetrieve extends DocumentReferenceIds {
  newUniqueId?: string | undefined;
  newRepository?: string | undefined;
  mimeType: string;
  content: DocumentToWrite;
}

/** Writes ITI-39's answer, RetrieveDocumentSetResponse. */
export function buildRetrieveResponse(answer: {
  status: RegistryStatus;
  documents: readonly DocumentToRetrieve[];
  faults?: readonly RegistryFault[] | undefined;
}): XmlFragment {
  return xml`
    <xdsb:RetrieveDocumentSetResponse xmlns:xdsb="${XDSB}">
      ${buildRegistryResponse(answer.status, answer.faults)}
      ${answer.documents.map(writeDocumentResponse)}
    </xdsb:RetrieveDocumentSetResponse>
  `;
}

function writeDocumentResponse(document: DocumentToRetrieve): XmlFragment {
  const { newRepository, newUniqueId } = document;

  return xml`
    <xdsb:DocumentResponse>
      ${writeHomeCommunity(document.homeCommunity)}
      <xdsb:RepositoryUniqueId>${document.repository}</xdsb:RepositoryUniqueId>
      <xdsb:DocumentUniqueId>${document.uniqueId}</xdsb:DocumentUniqueId>
      ${newRepository && xml`<xdsb:NewRepositoryUniqueId>${newRepository}</xdsb:NewRepositoryUniqueId>`}
      ${newUniqueId && xml`<xdsb:NewDocumentUniqueId>${newUniqueId}</xdsb:NewDocumentUniqueId>`}
      <xdsb:mimeType>${document.mimeType}</xdsb:mimeType>
      <xdsb:Document>${writeDocumentContent(document.content)}</xdsb:Document>
    </xdsb:DocumentResponse>
  `;
}
