import type { DocumentUrlsEvent } from '../../../contract/documents.ts';
import type { LinkMaker } from '../../platform/links/signed-link.ts';

/** docs/interface.md, "E14. Get document URL" */
export const DOWNLOAD_LINK_MS = 60_000;
/** Longer, because the receiver of the webhook fetches many documents one after another (decision 34). */
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
