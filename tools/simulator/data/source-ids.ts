import { v5 as uuidV5 } from 'uuid';
import type { SourceName } from '../protocol.ts';

const NAMESPACE = 'a4f0d8f6-6f0c-5d3b-9b0e-3c1f4e2d7a10';

/** A source's own id for a resource of the samples: always the same, and different at each source. */
export function idAtSource(source: SourceName, originalId: string): string {
  return uuidV5(`${source}:${originalId}`, NAMESPACE);
}
