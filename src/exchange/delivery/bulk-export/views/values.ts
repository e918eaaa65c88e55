import type { TypedValue } from '@medplum/core';
import { z } from 'zod';
import { parseFhirJson, writtenIn } from '../../../../lib/written-decimals.ts';
import { InvalidRequestError } from '../../../platform/errors.ts';
import { isJson, type Json } from '../../../records/rules/json.ts';

/**
 * A decimal that is written with more digits than its number has: 5.00. In
 * everything else it is a number.
 */
export class WrittenDecimal extends Number {
  readonly text: string;

  constructor(text: string) {
    super(text);
    this.text = text;
  }
}

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

/**
 * A definition is wrong, or does not fit the records. The message says what to
 * change, and contains nothing of a record.
 */
export class ViewError extends InvalidRequestError {
  constructor(message: string) {
    super([{ path: '', message }]);
  }
}

const FAULTS_MAX = 20;

/** What a schema refuses, the first ones each with its place, in one line. */
export function faultsOf({ issues }: z.ZodError): string {
  const faults = issues
    .slice(0, FAULTS_MAX)
    .map(({ path, message }) => `${z.core.toDotPath(path)}: ${message}`);
  const rest = issues.length - FAULTS_MAX;
  return [...faults, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
}
