import type { ConsolidatedResource } from '../read-consolidated.ts';
import type { Json } from '../rules/json.ts';
import { sourceName, unique } from './words.ts';

/** A consolidated resource as the sections use it. */
export interface SummaryEntry {
  content: Json;
  /** The sources that delivered it: `HIE, Laboratory`. */
  origin: string;
}

export const entryOf = ({ content, origins }: ConsolidatedResource): SummaryEntry => ({
  content: content as unknown as Json,
  origin: unique(
    origins.map(({ source, isConverted }) => `${sourceName(source)}${isConverted ? ' (document)' : ''}`),
  ).join(', '),
});
