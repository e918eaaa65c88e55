import { type Json, objectsOf, textOf } from '../rules/json.ts';

/** A time that `prepareCcda` has prepared, as the converter writes it; `withoutTimeMarks` gives it its precision. */
export function fhirTime(value: string | undefined): string | undefined {
  const [, year, month, day, hour, minute, second, rest = ''] =
    /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})(.*)$/.exec(value ?? '') ?? [];
  return year && `${year}-${month}-${day}T${hour}:${minute}:${second}${rest}`;
}

/** The time of a statement as a period; a single time is its start and end. */
export function fhirPeriod(effectiveTime: unknown): { start?: string; end?: string } | undefined {
  const [time] = objectsOf(effectiveTime);
  const at = (name: string): string | undefined =>
    fhirTime(textOf((objectsOf(time?.[name])[0] as Json | undefined)?.['@_value']));
  const single = fhirTime(textOf(time?.['@_value'])) ?? at('center');
  const [start, end] = [at('low') ?? single, at('high') ?? single];
  return start === undefined && end === undefined ? undefined : { start, end };
}
