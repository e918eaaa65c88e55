import { messageTime } from '#hl7v2-to-fhir';
import { parseFhirJson } from '../../../../lib/written-decimals.ts';
import { isDay } from '../inbound.ts';
import type { Read, ReadBundle, ReadResource, ReadType } from './schemas.ts';

/** The resources of a Bundle, by type and by reference. */
export class BundleContents {
  readonly #entries: { fullUrl?: string; resource: ReadResource }[];

  constructor(bundle: ReadBundle) {
    this.#entries = bundle.entry.flatMap(({ fullUrl, resource }) =>
      resource === undefined ? [] : [{ fullUrl, resource }],
    );
  }

  all<T extends ReadType>(type: T): Read<T>[] {
    return this.#entries.flatMap(({ resource }) =>
      resource.resourceType === type ? [resource as Read<T>] : [],
    );
  }

  /**
   * The resource of a reference, by full URL or by `Type/id` at the end of the
   * reference, before any version.
   */
  resolve<T extends ReadType>(
    type: T,
    reference: string | undefined,
  ): Read<T> | undefined {
    if (reference === undefined) return undefined;
    const local = reference
      .replace(/\/_history\/[^/]*$/, '')
      .split('/')
      .slice(-2)
      .join('/');
    const entry = this.#entries.find(
      ({ fullUrl, resource }) =>
        resource.resourceType === type &&
        (fullUrl === reference ||
          (resource.id !== undefined && `${type}/${resource.id}` === local)),
    );
    return entry?.resource as Read<T> | undefined;
  }

  /** The first of these types to which the focus of a MessageHeader refers. */
  focus(types: readonly ReadType[]): ReadType | undefined {
    const references = this.all('MessageHeader').flatMap(
      ({ focus = [] }) => focus,
    );
    return types.find((type) =>
      references.some(
        ({ reference }) => this.resolve(type, reference) !== undefined,
      ),
    );
  }
}

/**
 * Throws when the bytes are not JSON in UTF-8; a byte order mark is accepted.
 */
export const jsonOf = (bytes: Buffer): unknown =>
  parseFhirJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));

/**
 * A FHIR date or time as ISO 8601 in UTC; a date without a time is midnight
 * UTC. Undefined for anything else.
 */
export function toInstant(value: string | undefined): string | undefined {
  // Date.parse accepts 31 February and returns a day in March.
  if (value === undefined || !isDay(value.slice(0, 10))) return undefined;
  return messageTime(Date.parse(value));
}

/**
 * The sender's id of a resource, the same for all its versions: `Type/id`,
 * otherwise its first identifier.
 */
export const sentResourceName = ({
  resourceType,
  id,
  identifier,
}: Pick<ReadResource, 'resourceType' | 'id' | 'identifier'>) => {
  const [first] = (identifier ?? []).filter(({ value }) => value !== undefined);
  if (id !== undefined) return `${resourceType}/${id}`;
  return first && `${resourceType}?${first.system ?? ''}|${first.value}`;
};
