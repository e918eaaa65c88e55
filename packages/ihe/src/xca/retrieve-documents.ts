import {
  isRegistryElement,
  registryChild,
  registryChildren,
} from '../ebxml/registry-elements.ts';
import { comparableId, withoutUrn, withUrnOid } from '../identifiers.ts';
import { messageElement } from '../message-element.ts';
import { XDSB } from '../namespaces.ts';
import { type XmlFragment, xml } from '../xml/write-xml.ts';
import { type XmlElement, xmlText } from '../xml/xml-element.ts';

/** A document as ITI-39 names it: each id as ITI-38 had it. */
export interface DocumentReferenceIds {
  uniqueId: string;
  repository: string;

  /** With or without `urn:oid:`; undefined if the entry named none. */
  homeCommunity: string | undefined;
}

/** Writes ITI-39's question, RetrieveDocumentSetRequest. */
export function buildRetrieve(
  documents: readonly DocumentReferenceIds[],
): XmlFragment {
  return xml`
    <xdsb:RetrieveDocumentSetRequest xmlns:xdsb="${XDSB}">
      ${documents.map(
        (document) => xml`
          <xdsb:DocumentRequest>
            ${writeHomeCommunity(document.homeCommunity)}
            <xdsb:RepositoryUniqueId>${withoutUrn(document.repository)}</xdsb:RepositoryUniqueId>
            <xdsb:DocumentUniqueId>${document.uniqueId}</xdsb:DocumentUniqueId>
          </xdsb:DocumentRequest>
        `,
      )}
    </xdsb:RetrieveDocumentSetRequest>
  `;
}

export function writeHomeCommunity(
  homeCommunity: string | undefined,
): XmlFragment | undefined {
  return homeCommunity === undefined
    ? undefined
    : xml`<xdsb:HomeCommunityId>${withUrnOid(homeCommunity)}</xdsb:HomeCommunityId>`;
}

/** One document that ITI-39 asks for, as a responding gateway reads it. */
export interface RequestedDocument {
  /** All as written. */
  uniqueId: string | undefined;
  repository: string | undefined;
  homeCommunity: string | undefined;
}

/**
 * Reads RetrieveDocumentSetRequest.
 *
 * @param payload the element in the SOAP body
 */
export function readRetrieve(payload: XmlElement): RequestedDocument[] {
  const request = messageElement(payload, (element) =>
    isRegistryElement(element, 'RetrieveDocumentSetRequest'),
  );

  return registryChildren(request, 'DocumentRequest').map(readDocumentIds);
}

/** The three ids of a document, in a question or an answer. */
export function readDocumentIds(element: XmlElement): RequestedDocument {
  return {
    uniqueId: xmlText(registryChild(element, 'DocumentUniqueId')),
    repository: xmlText(registryChild(element, 'RepositoryUniqueId')),
    homeCommunity: xmlText(registryChild(element, 'HomeCommunityId')),
  };
}

/** Whether both name one document, however their ids are spelt. */
export function isSameDocument(
  left: RequestedDocument,
  right: RequestedDocument,
): boolean {
  return documentKey(left) === documentKey(right);
}

/** What is the same for one document, however its three ids are spelt. */
export function documentKey(document: RequestedDocument): string {
  return JSON.stringify([
    comparableOf(document.homeCommunity),
    comparableOf(document.repository),
    comparableOf(document.uniqueId),
  ]);
}

/**
 * What is the same for one document of a repository, whatever community is
 * named: gateways leave that out of what they hand out, or name their own.
 */
export function repositoryKey(document: RequestedDocument): string {
  return documentKey({ ...document, homeCommunity: undefined });
}

function comparableOf(id: string | undefined): string {
  return comparableId(id ?? '');
}
