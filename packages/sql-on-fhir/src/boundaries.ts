import type { TypedValue } from '@medplum/core';
import { WrittenDecimal } from './written-decimal.ts';

/**
 * The least value that a value of limited precision may stand for (FHIRPath
 * 3.0, lowBoundary).
 */
export const lowBoundary = (type: string, value: unknown): TypedValue[] =>
  boundary(type, value, false);
/** The greatest one. */
export const highBoundary = (type: string, value: unknown): TypedValue[] =>
  boundary(type, value, true);

const DATE_TYPES = new Set(['dateTime', 'instant']);

function boundary(type: string, value: unknown, isHigh: boolean): TypedValue[] {
  if (typeof value === 'number' || value instanceof WrittenDecimal)
    return [decimalBoundary(value, isHigh)];
  if (typeof value !== 'string') return [];
  if (/^\d\d:\d\d/.test(value))
    return [{ type: 'time', value: timeTo(value, isHigh) }];
  const [, date = '', time, zone] =
    /^(\d{4}(?:-\d\d){0,2})(?:T([\d:.]+)(Z|[+-]\d\d:\d\d)?)?$/.exec(value) ??
    [];
  if (date === '') return [];
  const day = dayTo(date, isHigh);
  if (time === undefined && !DATE_TYPES.has(type))
    return [{ type: 'date', value: day }];
  const clock = timeTo(time ?? '', isHigh);
  return [
    {
      type: 'dateTime',
      value: `${day}T${clock}${zone ?? (isHigh ? '-12:00' : '+14:00')}`,
    },
  ];
}

/** Half a unit of the last written digit below or above. */
function decimalBoundary(
  value: number | WrittenDecimal,
  isHigh: boolean,
): TypedValue {
  const text = value instanceof WrittenDecimal ? value.text : String(value);
  const digits = /\.(\d+)/.exec(text)?.[1]?.length ?? 0;
  const half = 0.5 * 10 ** -digits;
  return {
    type: 'decimal',
    value: Number(
      (Number(value) + (isHigh ? half : -half)).toFixed(digits + 1),
    ),
  };
}

function dayTo(date: string, isHigh: boolean): string {
  const [year = '', month = isHigh ? '12' : '01', day] = date.split('-');
  const last = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return `${year}-${month}-${day ?? (isHigh ? String(last) : '01')}`;
}

function timeTo(time: string, isHigh: boolean): string {
  const whole = isHigh ? '23:59:59.999' : '00:00:00.000';
  return time + whole.slice(time.length);
}
