import type { FhirResource } from 'fhir/r4.js';
import { fileKeyOf, fileOwnerOf } from '../../records/rules/attachments.ts';
import { isInNamespace } from '../../records/rules/ids.ts';
import type {
  ChangesQuestion,
  SourceConnector,
  SourcePage,
} from './connector.ts';
import { isRecord } from './http/failures.ts';

/**
 * A connector whose ids all begin with a namespace. Two servers of one kind may
 * use the same ids for different resources; within the exchange an id must name
 * one resource of a source. The stored responses keep the ids of the server.
 */
export function namespaced(
  connector: SourceConnector,
  namespace: string,
): SourceConnector {
  if (namespace === '') return connector;
  const { changes } = connector;
  return {
    ...connector,
    ...(changes === undefined
      ? {}
      : {
          changes: {
            ...changes,
            count: (patientIds, types, signal) =>
              changes.count(patientIds.map(plainIn(namespace)), types, signal),
          },
        }),
    async begin(patient, options, signal) {
      const { changes, storedDocuments } = options;
      const asked = {
        ...options,
        ...(changes === undefined
          ? {}
          : { changes: ofServer(namespace, changes) }),
        ...(storedDocuments === undefined
          ? {}
          : { storedDocuments: documentsIn(namespace, storedDocuments) }),
      };
      const begun = await connector.begin(patient, asked, signal);
      if (begun.kind === 'unknown-patient') return begun;
      const patientIds = begun.patientIds?.map((id) => `${namespace}${id}`);
      return begun.kind === 'ready'
        ? { ...begun, patientIds, pages: pagesIn(namespace, begun.pages) }
        : { ...begun, patientIds };
    },
    async poll(...args) {
      const polled = await connector.poll(...args);
      return polled.kind === 'ready'
        ? { ...polled, pages: pagesIn(namespace, polled.pages) }
        : polled;
    },
    resume: (cursor, signal) =>
      pagesIn(namespace, connector.resume(cursor, signal)),
    checkMissing({ missing, patientIds, present, isOver }, signal) {
      const plain = plainIn(namespace);
      return connector.checkMissing(
        {
          isOver,
          missing: missing.map(({ resourceType, id }) => ({
            resourceType,
            id: plain(id),
          })),
          patientIds: patientIds.map(plain),
          present: new Map([...present].map(([type, id]) => [type, plain(id)])),
        },
        signal,
      );
    },
  };
}

const plainIn =
  (namespace: string) =>
  (id: string): string =>
    isInNamespace(namespace, id) ? id.slice(namespace.length) : id;

/** The documents of the server, by its own ids. */
const documentsIn = (
  namespace: string,
  stored: ReadonlyMap<string, Date>,
): ReadonlyMap<string, Date> =>
  new Map(
    [...stored].flatMap(([key, at]) => {
      const { resourceType, id } = fileOwnerOf(key);
      return isInNamespace(namespace, id)
        ? [[fileKeyOf({ resourceType, id: id.slice(namespace.length) }), at]]
        : [];
    }),
  );

/** The question with the ids of the server. */
function ofServer(
  namespace: string,
  question: ChangesQuestion,
): ChangesQuestion {
  const plain = plainIn(namespace);
  return {
    ...question,
    patientIds: question.patientIds.map(plain),
    newest: question.newest.map((each) => ({ ...each, id: plain(each.id) })),
    supporting: question.supporting.map((each) => ({
      ...each,
      id: plain(each.id),
    })),
  };
}

async function* pagesIn(
  namespace: string,
  pages: AsyncIterable<SourcePage>,
): AsyncGenerator<SourcePage> {
  const name = (id: string) => `${namespace}${id}`;
  const nameFile = (key: string) => {
    const { resourceType, id } = fileOwnerOf(key);
    return fileKeyOf({ resourceType, id: name(id) });
  };
  for await (const page of pages) {
    yield {
      ...page,
      resources: page.resources.map((resource) => named(namespace, resource)),
      patientIds: page.patientIds.map(name),
      attachments: page.attachments.map((attachment) => ({
        ...attachment,
        sourceDocumentId: nameFile(attachment.sourceDocumentId),
      })),
      ...(page.largeAttachment === undefined
        ? {}
        : {
            largeAttachment: {
              ...page.largeAttachment,
              sourceDocumentId: nameFile(page.largeAttachment.sourceDocumentId),
            },
          }),
      retracted: page.retracted.map((retraction) => ({
        ...retraction,
        id: name(retraction.id),
        patientIds: retraction.patientIds.map((id) =>
          id === undefined ? undefined : name(id),
        ),
      })),
    };
  }
}

/**
 * A copy of a resource with its id and its local references (`Type/id`) in a
 * namespace.
 */
export function named(namespace: string, resource: FhirResource): FhirResource {
  const { id } = resource;
  const copy = withRenamedReferences(resource, (reference) =>
    reference.replace(LOCAL, `$1${namespace}`),
  ) as FhirResource;
  return id === undefined ? copy : { ...copy, id: `${namespace}${id}` };
}

/** A reference to what a message reported has its namespace already. */
const LOCAL =
  /^([A-Z][A-Za-z]+\/)(?!m-[0-9a-f]{12}~)(?=[^/?#]+(?:\/_history\/[^/]+)?$)/;

/** A copy in which references have other names. */
export function withRenamedReferences(
  value: unknown,
  rename: (reference: string) => string,
): unknown {
  if (Array.isArray(value))
    return value.map((item) => withRenamedReferences(item, rename));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [
      key,
      key === 'reference' && typeof part === 'string'
        ? rename(part)
        : withRenamedReferences(part, rename),
    ]),
  );
}
