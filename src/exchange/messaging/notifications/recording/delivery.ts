import { createHash } from 'node:crypto';
import type { Bundle, DocumentReference, FhirResource } from 'fhir/r4.js';
import type { CollectedResource } from '../../../records/deliveries/delivery-store.ts';
import { messageNamespaceOf } from '../../../records/rules/namespaces.ts';
import { mediaTypeOf } from '../../../sources/connectors/collect/attachments.ts';
import { named } from '../../../sources/connectors/namespaced-connector.ts';

/** A file that a DocumentReference of a message contains. */
export interface ReportedFile {
  /** Id of its DocumentReference, in the subject's namespace. */
  sourceDocumentId: string;
  contentType: string;
  bytes: Buffer;
}

export interface Delivery {
  resources: FhirResource[];
  files: ReportedFile[];
}

/** The person's Patient id in what a subject's messages report. */
export const personIdOf = (subjectId: string): string => `${messageNamespaceOf(subjectId)}person`;

/** What is reported of a subject, with ids of its own namespace, and its files apart from the resources. */
export function deliveryOf(subjectId: string, reported: readonly FhirResource[]): Delivery {
  const namespace = messageNamespaceOf(subjectId);
  const files: ReportedFile[] = [];
  const resources = reported.map((resource) => {
    const own = named(namespace, resource);
    return own.resourceType === 'DocumentReference' ? withoutFiles(own, files) : own;
  });
  return { resources, files };
}

/** As with messages between providers, the resource names size and hash of a file that is a document. */
function withoutFiles(reference: DocumentReference, files: ReportedFile[]): DocumentReference {
  const contents: typeof reference.content = Array.isArray(reference.content) ? reference.content : [];
  return {
    ...reference,
    content: contents.map((content) => {
      const { data, ...attachment } = content.attachment ?? {};
      if (typeof data !== 'string') return content;
      const bytes = Buffer.from(data, 'base64');
      const contentType = mediaTypeOf(attachment.contentType);
      files.push({ sourceDocumentId: reference.id ?? '', contentType, bytes });
      const hash = createHash('sha1').update(bytes).digest('base64');
      return { ...content, attachment: { ...attachment, contentType, size: bytes.length, hash } };
    }),
  };
}

/** The stored answer behind the resources, as a page of a source is behind those of a query. */
export const bundleOf = (resources: readonly FhirResource[]): Bundle => ({
  resourceType: 'Bundle',
  type: 'collection',
  entry: resources.map((resource) => ({ resource })),
});

/** @param fileName of the document that contains them, which becomes their `meta.source` */
export const collected = (resources: readonly FhirResource[], fileName: string): CollectedResource[] =>
  resources.map((resource) => ({
    resourceType: resource.resourceType,
    sourceId: resource.id ?? '',
    sha256: createHash('sha256').update(JSON.stringify(resource)).digest('hex'),
    json: JSON.stringify({ ...resource, meta: { ...resource.meta, source: fileName } }),
    // Messages are ordered before they are delivered; the last delivery counts.
    revision: '',
  }));
