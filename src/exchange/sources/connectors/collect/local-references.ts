import { isRecord } from '../http/failures.ts';
import { addressOf, type ResolvedSourceConfig } from '../source-config.ts';
import type { ResponseEntry } from './fetched-part.ts';
import { isResourceId } from './subjects.ts';

/**
 * Rewrites references to `Type/id` where they can be resolved: the fullUrl of another entry (`urn:uuid:…` or absolute), or
 * a URL at one of the source's own origins. fullUrls are known only within one response, so this runs before its resources
 * are stored one by one. Resources without such references are returned unchanged.
 */
export function withLocalReferences<R extends Record<string, unknown>>(
  config: ResolvedSourceConfig,
  entries: readonly ResponseEntry[],
  resources: readonly R[],
): R[] {
  const named = new Map<string, string>();
  for (const { fullUrl, resource } of entries) {
    if (fullUrl === undefined || !isRecord(resource) || !isResourceId(resource.id)) continue;
    named.set(fullUrl, `${String(resource.resourceType)}/${resource.id}`);
  }
  const locate = (reference: string) => named.get(reference) ?? localReferenceOf(config, reference);
  return resources.map((resource) => located(resource, locate) as R);
}

/** The `Type/id` part of a URL at one of the source's own origins; undefined for any other reference. */
export function localReferenceOf(config: ResolvedSourceConfig, reference: string): string | undefined {
  const match = /^https?:\/\/[^?#]+\/([A-Z][A-Za-z]+\/[^/?#]+)(?:\/_history\/[^/?#]+)?$/.exec(reference);
  if (match?.[1] === undefined || !URL.canParse(reference)) return undefined;
  return config.allowedOrigins.has(addressOf(config, new URL(reference)).origin) ? match[1] : undefined;
}

/** Returns the same object when nothing in it changes. */
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
