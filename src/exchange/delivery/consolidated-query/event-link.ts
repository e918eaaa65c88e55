import type { ConsolidatedDataEvent } from '../../../contract/consolidated-query.ts';
import type { LinkMaker } from '../../platform/links/signed-link.ts';
import { consolidatedResultUrl } from './result-link.ts';

interface DocumentReference {
  content: { attachment: object }[];
}

/** Adds the result's URL to the DocumentReference in the event of a completed query. */
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
    bundle === undefined ? patient : { ...patient, bundle: { ...bundle, entry: bundle.entry?.map(withUrl) } },
  );
  return { ...body, patients: linked };

  function withUrl({ resource, ...entry }: Record<string, unknown>) {
    const reference = resource as DocumentReference;
    const content = reference.content.map(({ attachment }) => ({ attachment: { ...attachment, url } }));
    return { ...entry, resource: { ...reference, content } };
  }
}
