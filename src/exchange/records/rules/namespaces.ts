/** Outside of FHIR's ids, so that an id of a server never looks like one of a namespace. */
const MARK = '~';

/** The namespace of a connection: short, because an id has at most 128 characters. */
export const namespaceOf = (connectionId: string): string => `c-${connectionId.slice(-8)}${MARK}`;

/** The namespace of what messages report about one encounter, fill or result. No query's answer is compared with it. */
export const messageNamespaceOf = (subjectId: string): string => `m-${subjectId.slice(-12)}${MARK}`;

/** Ids of what messages reported; also a regular expression of PostgreSQL. */
export const OF_MESSAGE = '^m-[0-9a-f]{12}~';
const OF_ANY = new RegExp(`^c-[0-9a-f]{8}~|${OF_MESSAGE}`);
const ofMessage = new RegExp(OF_MESSAGE);

/** Whether a message reported the resource with this id. */
export const isOfMessage = (id: string): boolean => ofMessage.test(id);

/** Whether an id belongs to a namespace; an id of no other namespace belongs to the empty one. */
export const isIn = (namespace: string, id: string): boolean =>
  namespace === '' ? !OF_ANY.test(id) : id.startsWith(namespace);
