import type { DocumentDto } from '../../contract/documents.ts';
import { isJson, type Json, objectsOf, textOf } from '../records/rules/json.ts';
import { descriptionOf } from './describe-document.ts';
import type { ListedDocument } from './document-store.ts';

export function documentDto(document: ListedDocument): DocumentDto {
  const { id, fileName, contentType, sizeBytes, source, collectedAt, reference } = document;
  return {
    id,
    fileName,
    description: descriptionOf(document),
    status: textOf(reference?.status) ?? 'current',
    indexed: textOf(reference?.date) ?? collectedAt.toISOString(),
    mimeType: contentType,
    size: sizeBytes,
    type: isJson(reference?.type) ? reference.type : undefined,
    source,
  };
}

/** What its source says of it, without what leads to other resources of the source. */
const TOLD = ['status', 'docStatus', 'type', 'category', 'date', 'securityLabel'] as const;

/** One file as a FHIR R4 DocumentReference of ours; its attachment's title is the name that E14 takes. */
export function documentReference(document: ListedDocument) {
  const { id, patientId, fileName, contentType, sizeBytes, collectedAt } = document;
  const reference: Json = document.reference ?? {};
  const told = Object.fromEntries(
    TOLD.flatMap((name) => (reference[name] === undefined ? [] : [[name, reference[name]]])),
  );
  const authors = objectsOf(reference.author).flatMap(nameOnly);
  const [custodian] = objectsOf(reference.custodian).flatMap(nameOnly);
  const context =
    isJson(reference.context) && isJson(reference.context.period) ? reference.context.period : undefined;
  const format = objectsOf(reference.content).find(
    ({ attachment }) => isJson(attachment) && attachment.contentType === contentType,
  )?.format;
  return {
    status: 'current',
    ...told,
    resourceType: 'DocumentReference' as const,
    id,
    meta: { lastUpdated: collectedAt.toISOString(), source: metaSource(reference) ?? fileName },
    subject: { reference: `Patient/${patientId}` },
    description: descriptionOf(document),
    ...(authors.length > 0 && { author: authors }),
    ...(custodian && { custodian }),
    ...(context && { context: { period: context } }),
    content: [
      {
        attachment: { contentType, size: sizeBytes, title: fileName },
        ...(isJson(format) && { format }),
      },
    ],
  };
}

const nameOnly = ({ display }: Json): { display: string }[] => {
  const name = textOf(display);
  return name === undefined ? [] : [{ display: name }];
};

const metaSource = ({ meta }: Json): string | undefined => (isJson(meta) ? textOf(meta.source) : undefined);
