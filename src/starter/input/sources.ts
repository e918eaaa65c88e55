import { InvalidArgumentError } from 'commander';
import { SOURCE_TYPES, type SourceType, sourceTypeSchema } from '../../contract/primitives.ts';
import { UsageError } from '../errors.ts';

/** `hie,pharmacy,lab` or some of them. Throws InvalidArgumentError. */
export function parseSources(text: string): SourceType[] {
  const names = text.split(/[\s,]+/).filter(Boolean);
  const unknown = names.filter((name) => !sourceTypeSchema.safeParse(name).success);
  if (unknown.length > 0 || names.length === 0)
    throw new InvalidArgumentError(
      `${unknown.length > 0 ? `unknown: ${unknown.join(', ')}; ` : ''}give some of ${SOURCE_TYPES.join(',')}.`,
    );
  return SOURCE_TYPES.filter((type) => names.includes(type));
}

/** One source. Throws InvalidArgumentError. */
export function parseSource(text: string): SourceType {
  const [source, ...others] = parseSources(text);
  if (source === undefined || others.length > 0)
    throw new InvalidArgumentError(`give one of ${SOURCE_TYPES.join(', ')}.`);
  return source;
}

/** The `sources` member of a query. Throws UsageError. */
export function requestedSources({ sources, realtime }: { sources: SourceType[]; realtime?: boolean }) {
  if (realtime === true && !sources.includes('pharmacy'))
    throw new UsageError('--realtime is for the pharmacy source, which --sources leaves out.');
  return {
    ...(sources.includes('hie') ? { hie: { enabled: true } } : {}),
    ...(sources.includes('pharmacy')
      ? { pharmacy: { enabled: true, ...(realtime === true ? { realtime } : {}) } }
      : {}),
    ...(sources.includes('lab') ? { lab: { enabled: true } } : {}),
  };
}
