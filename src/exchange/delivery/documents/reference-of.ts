import { type Json, objectsOf, textOf } from '#record-summary/fhir';
import { lookupTable } from '../../../lib/lookup-table.ts';
import { attachmentsIn } from '../../records/rules/attachments.ts';

/**
 * What describes a file, in the words of a DocumentReference: the resource
 * itself, or what another type of resource says of the file that it has.
 */
export function referenceOf(resource: Json): Json {
  if (resource.resourceType === 'DocumentReference') return resource;
  const status = textOf(resource.status) ?? '';
  const at = first(resource, TIMES);
  const period = first(resource, PERIODS) ?? (at && { start: at, end: at });
  return {
    resourceType: 'DocumentReference',
    id: resource.id,
    meta: resource.meta,
    status: status === 'entered-in-error' ? status : 'current',
    ...said('docStatus', DOC_STATUS[status]),
    type: first(resource, KINDS) ?? { text: wordsOf(resource.resourceType) },
    ...said('category', listOf(resource.category)),
    ...said('date', instantIn(resource.issued, at)),
    ...said('author', listOf(first(resource, AUTHORS))),
    ...said('context', period && { period }),
    content: attachmentsIn(resource).map((attachment) => ({ attachment })),
  };
}

/** What the resource is, in the elements of each type. */
const KINDS = ['code', 'type', 'topic', 'scope'];
const TIMES = [
  'effectiveDateTime',
  'createdDateTime',
  'sent',
  'dateTime',
  'authored',
  'created',
];
const PERIODS = ['effectivePeriod', 'createdPeriod', 'billablePeriod'];
const AUTHORS = ['performer', 'operator', 'sender', 'author', 'organization'];

/** By the status of a resource: that of its document (R4, CompositionStatus). */
const DOC_STATUS: Readonly<Record<string, string>> = lookupTable({
  registered: 'preliminary',
  partial: 'preliminary',
  preliminary: 'preliminary',
  final: 'final',
  amended: 'amended',
  corrected: 'amended',
  appended: 'amended',
  'entered-in-error': 'entered-in-error',
});

const first = (resource: Json, names: readonly string[]): unknown =>
  names.map((name) => resource[name]).find((value) => value !== undefined);

const said = (name: string, value: unknown): Json =>
  value === undefined ? {} : { [name]: value };

const listOf = (value: unknown): readonly Json[] | undefined => {
  const list = objectsOf(value);
  return list.length === 0 ? undefined : list;
};

/** A DocumentReference's date has a time of day with its offset. */
const instantIn = (...times: unknown[]): string | undefined =>
  times
    .map(textOf)
    .find((time) => time !== undefined && /T.*(?:Z|[+-]\d\d:\d\d)$/.test(time));

/** `Diagnostic report` for DiagnosticReport. */
const wordsOf = (type: unknown): string =>
  (textOf(type) ?? '').replaceAll(
    /(?<=[a-z])[A-Z]/g,
    (letter) => ` ${letter.toLowerCase()}`,
  );
