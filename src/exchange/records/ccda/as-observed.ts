import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import { fhirPeriod } from './fhir-times.ts';
import { statusOf } from './statements.ts';

const STATUSES: Readonly<Record<string, string>> = {
  active: 'preliminary',
  aborted: 'cancelled',
  cancelled: 'cancelled',
  held: 'registered',
  new: 'registered',
  suspended: 'registered',
};
const INTERPRETATION = 'http://terminology.hl7.org/CodeSystem/v3-ObservationInterpretation';

/** What an observation says besides its code and value: status, time, flags, reference ranges. */
export function asObserved({ effectiveDateTime, ...observation }: Json, statement: Json): Json {
  const period = fhirPeriod(statement.effectiveTime);
  const isMoment = effectiveDateTime !== undefined || period === undefined || period.start === period.end;
  return {
    ...observation,
    status: STATUSES[statusOf(statement) ?? ''] ?? 'final',
    ...(isMoment ? { effectiveDateTime: effectiveDateTime ?? period?.start } : { effectivePeriod: period }),
    interpretation: objectsOf(statement.interpretationCode).flatMap(interpretation),
    referenceRange: objectsOf(statement.referenceRange).flatMap(referenceRange),
  };
}

function interpretation(flag: Json): Json[] {
  const code = textOf(flag['@_code']);
  const display = textOf(flag['@_displayName']);
  return code === undefined && display === undefined
    ? []
    : [
        {
          coding: code === undefined ? undefined : [{ system: INTERPRETATION, code, display }],
          text: display,
        },
      ];
}

function referenceRange(range: Json): Json[] {
  const [observed] = objectsOf(range.observationRange);
  const value = objectsOf(observed?.value)[0];
  const words = isJson(observed?.text) ? textOf(observed.text['#text']) : textOf(observed?.text);
  const [low, high] = [quantity(value?.low), quantity(value?.high)];
  return low === undefined && high === undefined && words === undefined ? [] : [{ low, high, text: words }];
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)$/;

function quantity(node: unknown): Json | undefined {
  const [first] = objectsOf(node);
  const value = textOf(first?.['@_value']);
  if (value === undefined || !NUMBER.test(value)) return undefined;
  const unit = textOf(first?.['@_unit']);
  return { value: Number(value), unit, ...(unit && { system: 'http://unitsofmeasure.org', code: unit }) };
}
