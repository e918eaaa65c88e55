import {
  clinicalTime,
  type Json,
  objectsOf,
  textOf,
} from '#record-summary/fhir';
import type { DocumentUrlsEvent } from '../../../contract/documents.ts';
import type { LinkMaker } from '../../platform/links/signed-link.ts';
import type { ListedDocument } from './document-store.ts';

/** Selects documents of a patient; all conditions must match. */
export interface DocumentFilter {
  /**
   * YYYY-MM-DD, inclusive; compared with the document's own date. Undated
   * documents always match.
   */
  dateFrom?: string;
  /** YYYY-MM-DD, inclusive. */
  dateTo?: string;
  /** Text to search in title, description, type and category, ignoring case. */
  content?: string;
  /** Returns only this many of the newest documents. Default: all. */
  count?: number;
}

/**
 * The documents that match the filter, newest first, undated last. Dates are
 * determined as in the consolidated record.
 */
export function selectDocuments(
  documents: readonly ListedDocument[],
  { dateFrom, dateTo, content, count }: DocumentFilter,
): ListedDocument[] {
  const wanted = content?.toLowerCase();
  return documents
    .map((document) => ({
      document,
      time: clinicalTime(document.reference ?? {}),
    }))
    .filter(({ time: { days } }) => {
      if (days === undefined) return true;
      const isBefore =
        dateFrom !== undefined && days.to !== 'infinity' && days.to < dateFrom;
      return !isBefore && (dateTo === undefined || days.from <= dateTo);
    })
    .filter(
      ({ document }) =>
        wanted === undefined || wordsOf(document).includes(wanted),
    )
    .sort(
      (left, right) =>
        compare(right.time.sortDate, left.time.sortDate) ||
        compare(right.document.id, left.document.id),
    )
    .slice(0, count)
    .map(({ document }) => document);
}

const compare = (left: string, right: string): number =>
  left < right ? -1 : left > right ? 1 : 0;

function wordsOf(document: ListedDocument): string {
  const reference = document.reference ?? {};
  const concepts = [
    ...objectsOf(reference.type),
    ...objectsOf(reference.category),
  ];
  return [
    titleOf(document),
    textOf(reference.description),
    ...concepts.flatMap((concept) => [
      textOf(concept.text),
      ...objectsOf(concept.coding).map(({ display }) => textOf(display)),
    ]),
  ]
    .filter((text) => text !== undefined)
    .join('\n')
    .toLowerCase();
}

/** The file's title at the source. */
export function titleOf({
  reference,
  contentType,
}: ListedDocument): string | undefined {
  const attachments = objectsOf(reference?.content).flatMap(({ attachment }) =>
    objectsOf(attachment),
  );
  const own =
    attachments.find((attachment) => attachment.contentType === contentType) ??
    attachments[0];
  return textOf(own?.title)?.trim() || undefined;
}

/**
 * A description for readers: the document's description, otherwise its title,
 * otherwise its type.
 */
export function descriptionOf(document: ListedDocument): string | undefined {
  const [type] = objectsOf(document.reference?.type);
  return (
    textOf(document.reference?.description)?.trim() ||
    titleOf(document) ||
    (type && conceptText(type)) ||
    undefined
  );
}

const conceptText = (concept: Json): string | undefined =>
  textOf(concept.text) ??
  objectsOf(concept.coding).flatMap(({ display }) => textOf(display) ?? [])[0];

/** docs/interface.md, "E14. Get document URL" */
export const DOWNLOAD_LINK_MS = 60_000;
/**
 * Longer, because the receiver of the webhook fetches many documents one after
 * another (decision 34).
 */
export const WEBHOOK_LINK_MS = 3_600_000;

/** A signed download URL. @param targetId id of a document or of a rendition */
export const documentUrl = (
  links: LinkMaker,
  accountId: string,
  targetId: string,
  lifetimeMs = DOWNLOAD_LINK_MS,
): string => links.url('document', { accountId, targetId }, lifetimeMs);

/** Adds a download URL to each document of the event. */
export function withDocumentUrls(
  links: LinkMaker,
  accountId: string,
  body: Record<string, unknown>,
): Record<string, unknown> {
  const { patients } = body as Pick<DocumentUrlsEvent, 'patients'>;
  return {
    ...body,
    patients: patients.map((patient) => ({
      ...patient,
      documents: patient.documents.map((document) => ({
        ...document,
        url: documentUrl(links, accountId, document.id, WEBHOOK_LINK_MS),
      })),
    })),
  };
}
