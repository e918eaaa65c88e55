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

/** Elements copied from the source's DocumentReference; without those that refer to other resources of the source. */
const COPIED_ELEMENTS = ['status', 'docStatus', 'type', 'category', 'date', 'securityLabel'] as const;

/** A file as our own FHIR R4 DocumentReference; the attachment's title is the file name that E14 accepts. */
export function documentReference(document: ListedDocument) {
  const { id, patientId, fileName, contentType, sizeBytes, collectedAt } = document;
  const reference: Json = document.reference ?? {};
  const copied = Object.fromEntries(
    COPIED_ELEMENTS.flatMap((name) => (reference[name] === undefined ? [] : [[name, reference[name]]])),
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
    ...copied,
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
