import { InvalidArgumentError } from 'commander';
import { SOURCE_TYPES, type SourceType, sourceTypeSchema } from '../../contract/primitives.ts';
import { UsageError } from '../errors.ts';

/** Parses a list such as `hie,pharmacy`. Throws InvalidArgumentError. */
export function parseSources(text: string): SourceType[] {
  const names = text.split(/[\s,]+/).filter(Boolean);
  const unknown = names.filter((name) => !sourceTypeSchema.safeParse(name).success);
  if (unknown.length > 0 || names.length === 0)
    throw new InvalidArgumentError(
      `${unknown.length > 0 ? `Unknown source: ${unknown.join(', ')}. ` : ''}Expected one or more of ${SOURCE_TYPES.join(',')}.`,
    );
  return SOURCE_TYPES.filter((type) => names.includes(type));
}

/** Parses the name of one source. Throws InvalidArgumentError. */
export function parseSource(text: string): SourceType {
  const source = SOURCE_TYPES.find((type) => type === text.trim());
  if (source === undefined) throw new InvalidArgumentError(`Expected one of ${SOURCE_TYPES.join(', ')}.`);
  return source;
}

/** Builds the `sources` member of "E2. Start network query". Throws UsageError. */
export function requestedSources({ sources, realtime }: { sources: SourceType[]; realtime?: boolean }) {
  if (realtime === true && !sources.includes('pharmacy'))
    throw new UsageError('--realtime applies to the pharmacy source; add pharmacy to --sources.');
  return {
    ...(sources.includes('hie') ? { hie: { enabled: true } } : {}),
    ...(sources.includes('pharmacy')
      ? { pharmacy: { enabled: true, ...(realtime === true ? { realtime } : {}) } }
      : {}),
    ...(sources.includes('lab') ? { lab: { enabled: true } } : {}),
  };
}
