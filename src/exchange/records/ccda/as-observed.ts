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

const MEANINGS: Readonly<Record<string, string>> = {
  A: 'Abnormal',
  AA: 'Critically abnormal',
  H: 'High',
  HH: 'Critically high',
  L: 'Low',
  LL: 'Critically low',
};

/** What a range is for: a document may give one for each flag (`N`, `L`, `HH`, …) that a value in it gets. */
function rangeType(flag: Json): Json {
  const code = textOf(flag['@_code']);
  const system = 'http://terminology.hl7.org/CodeSystem/referencerange-meaning';
  const [meaning] = interpretation(flag);
  return code === 'N'
    ? { coding: [{ system, code: 'normal', display: 'Normal Range' }], text: 'Normal' }
    : { ...meaning, text: MEANINGS[code ?? ''] ?? meaning?.text ?? code };
}

function referenceRange(range: Json): Json[] {
  const [observed] = objectsOf(range.observationRange);
  const value = objectsOf(observed?.value)[0];
  const words = isJson(observed?.text) ? textOf(observed.text['#text']) : textOf(observed?.text);
  const [low, high] = [quantity(value?.low), quantity(value?.high)];
  const [flag] = objectsOf(observed?.interpretationCode);
  return low === undefined && high === undefined && words === undefined
    ? []
    : [{ low, high, type: flag && rangeType(flag), text: words }];
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)$/;

function quantity(node: unknown): Json | undefined {
  const [first] = objectsOf(node);
  const value = textOf(first?.['@_value']);
  if (value === undefined || !NUMBER.test(value)) return undefined;
  const unit = textOf(first?.['@_unit']);
  return { value: Number(value), unit, ...(unit && { system: 'http://unitsofmeasure.org', code: unit }) };
}
