import { isRecord } from '../http/failures.ts';
import type { ResolvedSourceConfig } from '../source-config.ts';
import type { Entry } from './entry.ts';
import { isResourceId } from './subjects.ts';

/**
 * Writes references as `Type/id` where the answer or the address tells what they mean: `urn:uuid:…` and absolute
 * ones that are the fullUrl of an entry, and addresses at the source's own origins. Only the answer knows that, so
 * it is done before its resources part. Resources without such references stay as they are.
 */
export function withLocalReferences<R extends Record<string, unknown>>(
  config: ResolvedSourceConfig,
  entries: readonly Entry[],
  resources: readonly R[],
): R[] {
  const named = new Map<string, string>();
  for (const { fullUrl, resource } of entries) {
    if (fullUrl === undefined || !isRecord(resource) || !isResourceId(resource.id)) continue;
    named.set(fullUrl, `${String(resource.resourceType)}/${resource.id}`);
  }
  const locate = (reference: string) => named.get(reference) ?? localPart(config, reference);
  return resources.map((resource) => located(resource, locate) as R);
}

/** `Type/id` of an address at one of the source's own origins. */
export function localPart({ allowedOrigins }: ResolvedSourceConfig, reference: string): string | undefined {
  const match = /^https?:\/\/[^?#]+\/([A-Z][A-Za-z]+\/[^/?#]+)(?:\/_history\/[^/?#]+)?$/.exec(reference);
  if (match?.[1] === undefined || !URL.canParse(reference)) return undefined;
  return allowedOrigins.has(new URL(reference).origin) ? match[1] : undefined;
}

/** The same object when nothing in it is to be changed. */
function located(value: unknown, locate: (reference: string) => string | undefined): unknown {
  if (Array.isArray(value)) {
    const items: unknown[] = value.map((item) => located(item, locate));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isRecord(value)) return value;
  let copy = value;
  for (const [name, part] of Object.entries(value)) {
    const isReference = name === 'reference' && typeof part === 'string';
    const changed = isReference ? (locate(part) ?? part) : located(part, locate);
    if (changed !== part) copy = { ...copy, [name]: changed };
  }
  return copy;
}
