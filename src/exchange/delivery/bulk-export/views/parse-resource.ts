import { isJson, type Json } from '#record-summary/fhir';
import { WrittenDecimal } from '#sql-on-fhir';
import { parseFhirJson, writtenIn } from '../../../../lib/written-decimals.ts';

/** Parses a resource, with its decimals as they are written (decision 166). */
export const parseResource = (text: string): Json =>
  withDecimals(parseFhirJson(text)) as Json;

function withDecimals(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDecimals);
  if (!isJson(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const written = name.startsWith('_') ? writtenIn(member) : undefined;
    if (written === undefined) copy[name] ??= withDecimals(member);
    else copy[name.slice(1)] = new WrittenDecimal(written);
  }
  return copy;
}
