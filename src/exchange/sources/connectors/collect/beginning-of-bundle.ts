import { isRecord } from '../http/failures.ts';
import { endOfString } from '../http/source-json.ts';
import type { ResolvedSourceConfig } from '../source-config.ts';
import { nextLinkOf } from './bundle.ts';
import { localReferenceOf } from './local-references.ts';
import { isResourceId } from './subjects.ts';

/** What the beginning of a Bundle shows when the whole is too large to be read. */
interface BeginningOfBundle {
  /** Entries that begin within it. */
  entryCount: number;
  /** `Type/id` of the first entry. */
  name?: string;
  next?: string;
  total?: number;
}

const QUOTE = 0x22;
const NAME_BYTES_MAX = 4_000;

/** Reads what precedes the entries (the links, by the usual order of members) and counts the entries that begin. */
export function beginningOfBundle(config: ResolvedSourceConfig, bytes: Buffer): BeginningOfBundle {
  const starts = entryStarts(bytes);
  const first = starts.entries[0];
  const before = starts.entryKey === undefined ? {} : parsed(bytes.subarray(0, starts.entryKey));
  const links: unknown[] = Array.isArray(before.link) ? before.link : [];
  return {
    entryCount: starts.entries.length,
    name: first === undefined ? undefined : nameOf(config, bytes.subarray(first, first + NAME_BYTES_MAX)),
    next: links.map(nextLinkOf).find((url) => url !== undefined),
    total: typeof before.total === 'number' ? before.total : undefined,
  };
}

/** Where the member `entry` begins, and where each of its elements does. */
function entryStarts(bytes: Buffer): { entryKey?: number; entries: number[] } {
  const entries: number[] = [];
  let entryKey: number | undefined;
  let levels = 0;
  let isWithin = false;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = String.fromCharCode(bytes[index] ?? 0);
    if (bytes[index] === QUOTE) {
      const end = endOfString(bytes, index);
      if (levels === 1 && bytes.toString('latin1', index, end + 1) === '"entry"') entryKey ??= index;
      index = end;
    } else if (byte === '{' || byte === '[') {
      levels += 1;
      if (byte === '[' && levels === 2) isWithin = entryKey !== undefined && entries.length === 0;
      if (byte === '{' && levels === 3 && isWithin) entries.push(index);
    } else if (byte === '}' || byte === ']') {
      levels -= 1;
      if (levels === 1) isWithin = false;
    }
  }
  return { entryKey, entries };
}

/** Parses the members before the cut. */
function parsed(before: Buffer): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(`${before.toString('utf8').replace(/,\s*$/, '')}}`);
    return isRecord(json) ? json : {};
  } catch {
    return {};
  }
}

function nameOf(config: ResolvedSourceConfig, entry: Buffer): string | undefined {
  const text = entry.toString('utf8');
  const fullUrl = /^\{\s*"fullUrl"\s*:\s*"([^"\\]+)"/.exec(text)?.[1];
  const [, type, id] =
    /"resource"\s*:\s*\{\s*"resourceType"\s*:\s*"([A-Za-z]+)"\s*,\s*"id"\s*:\s*"([^"\\]+)"/.exec(text) ?? [];
  if (type !== undefined && isResourceId(id)) return `${type}/${id}`;
  const local = fullUrl === undefined ? undefined : localReferenceOf(config, fullUrl);
  return local !== undefined && isResourceId(local.split('/')[1]) ? local : undefined;
}
