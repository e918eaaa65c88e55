import type {
  ConsolidatedDataEvent,
  ConversionType,
} from '../../../contract/consolidated-query.ts';
import {
  CONSOLIDATED_LINK_HOURS,
  type LinkMaker,
} from '../../platform/links/signed-link.ts';

interface DocumentReference {
  content: { attachment: object }[];
}

/**
 * Adds the result's URL to the DocumentReference in the event of a completed
 * query.
 */
export function withConsolidatedResult(
  links: LinkMaker,
  accountId: string,
  body: Record<string, unknown>,
): Record<string, unknown> {
  const { meta, patients } = body as ConsolidatedDataEvent;
  const { requestId } = meta;
  if (requestId === undefined) return body;
  const url = consolidatedResultUrl(links, { accountId, requestId });
  const linked = patients.map(({ bundle, ...patient }) =>
    bundle === undefined
      ? patient
      : {
          ...patient,
          bundle: { ...bundle, entry: bundle.entry?.map(withUrl) },
        },
  );
  return { ...body, patients: linked };

  function withUrl({ resource, ...entry }: Record<string, unknown>) {
    const reference = resource as DocumentReference;
    const content = reference.content.map(({ attachment }) => ({
      attachment: { ...attachment, url },
    }));
    return { ...entry, resource: { ...reference, content } };
  }
}

/** Content type and file extension of a result, by conversion type. */
export const RESULT_FORMATS: Readonly<
  Record<ConversionType, { contentType: string; extension: string }>
> = {
  json: { contentType: 'application/fhir+json', extension: 'json' },
  html: { contentType: 'text/html; charset=utf-8', extension: 'html' },
  pdf: { contentType: 'application/pdf', extension: 'pdf' },
};

/** A signed URL of the result of a completed consolidated query. */
export const consolidatedResultUrl = (
  links: LinkMaker,
  { accountId, requestId }: { accountId: string; requestId: string },
): string =>
  links.url(
    'consolidated-result',
    { accountId, targetId: requestId },
    CONSOLIDATED_LINK_HOURS * 3_600_000,
  );
