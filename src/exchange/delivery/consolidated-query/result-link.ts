import type { ConversionType } from '../../../contract/consolidated-query.ts';
import { CONSOLIDATED_LINK_HOURS, type LinkMaker } from '../../platform/links/signed-link.ts';

/** Content type and file extension of a result, by conversion type. */
export const RESULT_FORMATS: Readonly<Record<ConversionType, { contentType: string; extension: string }>> = {
  json: { contentType: 'application/fhir+json', extension: 'json' },
  html: { contentType: 'text/html; charset=utf-8', extension: 'html' },
  pdf: { contentType: 'application/pdf', extension: 'pdf' },
};

/** A signed URL of the result of a completed consolidated query. */
export const consolidatedResultUrl = (
  links: LinkMaker,
  { accountId, requestId }: { accountId: string; requestId: string },
): string =>
  links.url('consolidated-result', { accountId, targetId: requestId }, CONSOLIDATED_LINK_HOURS * 3_600_000);
