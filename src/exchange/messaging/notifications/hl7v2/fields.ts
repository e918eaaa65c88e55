import { UnreadableMessageError } from '../inbound.ts';
import type { ComponentReader, Hl7Segment } from './message.ts';

/**
 * A visit or account number (CX) with its assigning authority, because two authorities may use the same numbers. The sending
 * facility stands for an authority that is not named.
 */
export function visitNumber(segment: Hl7Segment, field: number): string | undefined {
  const [read] = segment.repetitions(field);
  return read && withAuthority(read, `@${segment.origin.facility}`);
}

/** The person's record number: the medical record number (MR), otherwise the internal one (PI), otherwise the first. */
export function recordNumber(segment: Hl7Segment, field: number): string | undefined {
  const all = segment.repetitions(field);
  const read = all.find((each) => each(5) === 'MR') ?? all.find((each) => each(5) === 'PI') ?? all[0];
  return read && withAuthority(read);
}

function withAuthority(read: ComponentReader, otherwise = ''): string | undefined {
  const value = read(1);
  return value === undefined ? undefined : `${value}^${read(4) ?? otherwise}`;
}

/**
 * The number of an order, report, document or dispense (EI), with the namespace that assigned it. The sending application and
 * facility stand for a namespace that is not named: two laboratories behind one sender may use the same numbers.
 */
export function orderNumber(segment: Hl7Segment | undefined, field: number): string | undefined {
  const value = segment?.value(field);
  if (segment === undefined || value === undefined) return undefined;
  const { application, facility } = segment.origin;
  return `${value}^${segment.value(field, 2) ?? segment.value(field, 3) ?? `@${application}|${facility}`}`;
}

/** Throws UnreadableMessageError if the value is missing. */
export function required<T>(value: T | undefined, place: string, what: string): T {
  if (value === undefined)
    throw new UnreadableMessageError('invalid', `${place} is required: ${what}`, place);
  return value;
}
