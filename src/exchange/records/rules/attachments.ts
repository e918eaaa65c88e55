import { isJson, type Json, textOf } from '#record-summary/fhir';
import { elementTypesOf } from './r4/check-r4.ts';
import type { Identity } from './retirement.ts';

/** What becomes of an attachment; `element` is the name it stands under. */
export type ChangeAttachment = (attachment: Json, element: string) => Json;

/**
 * A copy of a resource with its attachments changed: of each element that R4
 * gives the type Attachment, also of contained resources, in the order of R4's
 * elements. Extensions are not looked into. Returns the same object where
 * nothing changes.
 */
export function withAttachments(
  resource: Json,
  change: ChangeAttachment,
): Json {
  const own = changedIn(
    resource,
    textOf(resource.resourceType) ?? '',
    change,
  ) as Json;
  if (!Array.isArray(own.contained)) return own;
  const contained = each(own.contained, (inner) =>
    isJson(inner) ? withAttachments(inner, change) : inner,
  );
  return contained === own.contained ? own : { ...own, contained };
}

/** Pictures of people: not collected, as the photo of a Patient is not. */
export const isPicture = (element: string): boolean => element === 'photo';

/** The attachments of a resource, without pictures of people. */
export function attachmentsIn(resource: Json): Json[] {
  const found: Json[] = [];
  withAttachments(resource, (attachment, element) => {
    if (!isPicture(element)) found.push(attachment);
    return attachment;
  });
  return found;
}

/** Whether resources of a type may have attachments of their own. */
export const mayHaveAttachments = (type: string): boolean =>
  placesOf(type).size > 0;

/**
 * What names a document at its source (`document.source_document_id`): the id of
 * its DocumentReference, or `Type/id` of another resource that has the file.
 * The functions `file_key`, `file_owner_type` and `file_owner_id` of the
 * database say the same.
 */
export const fileKeyOf = ({ resourceType, id }: Identity): string =>
  resourceType === 'DocumentReference' ? id : `${resourceType}/${id}`;

/** The resource that `fileKeyOf` has named. */
export function fileOwnerOf(key: string): Identity {
  const [resourceType = '', id] = key.split('/', 2);
  return id === undefined
    ? { resourceType: 'DocumentReference', id: key }
    : { resourceType, id };
}

/** The elements of a type that are, or may contain, attachments. */
type Places = ReadonlyMap<string, { type: string }>;

const KNOWN_PLACES = new Map<string, Places>();

function placesOf(type: string): Places {
  const known = KNOWN_PLACES.get(type);
  if (known !== undefined) return known;
  const places = new Map(
    [...elementTypesOf(type)].flatMap(([name, inner]) =>
      leadsToAttachment(inner, new Set())
        ? [[name, { type: inner }] as const]
        : [],
    ),
  );
  KNOWN_PLACES.set(type, places);
  return places;
}

const NOT_ENTERED: ReadonlySet<string> = new Set(['Extension', 'Resource']);

function leadsToAttachment(type: string, seen: Set<string>): boolean {
  if (type === 'Attachment') return true;
  if (NOT_ENTERED.has(type) || seen.has(type)) return false;
  seen.add(type);
  return [...elementTypesOf(type).values()].some((inner) =>
    leadsToAttachment(inner, seen),
  );
}

function changedIn(
  value: unknown,
  type: string,
  change: ChangeAttachment,
): unknown {
  const places = placesOf(type);
  if (places.size === 0 || !isJson(value)) return value;
  let copy = value;
  for (const [name, { type: inner }] of places) {
    const before = value[name];
    if (before === undefined) continue;
    const after = each(before, (one) =>
      inner !== 'Attachment'
        ? changedIn(one, inner, change)
        : isJson(one)
          ? change(one, name)
          : one,
    );
    if (after !== before) copy = { ...copy, [name]: after };
  }
  return copy;
}

/** Returns the same list where nothing changes. */
function each(value: unknown, change: (one: unknown) => unknown): unknown {
  if (!Array.isArray(value)) return change(value);
  const changed = value.map(change);
  return changed.every((one, index) => one === value[index]) ? value : changed;
}
