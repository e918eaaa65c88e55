import { createHash } from 'node:crypto';
import type { ReportedResource, ReportedSubject } from '#hl7v2-to-fhir';
import { textOf } from '#record-summary/fhir';
import { withAttachments } from '../../../records/rules/attachments.ts';
import { withRenamedReferences } from '../../../sources/connectors/namespaced-connector.ts';
import type { InboundContent } from '../inbound.ts';
import { readFhirBundle } from './bundle.ts';
import { jsonOf, sentResourceName } from './contents.ts';

/**
 * Resources left out: the sender's envelope, its Patient, which ours replaces,
 * and files, which the resources that name them contain.
 */
const LEFT_OUT = new Set(['MessageHeader', 'Patient', 'Provenance', 'Binary']);
const NEED_SUBJECT = new Set([
  'Encounter',
  'MedicationDispense',
  'MedicationRequest',
  'DiagnosticReport',
  'Observation',
]);

type Json = Record<string, unknown>;
type Resource = { resourceType: string; id?: string } & Json;
type Entry = { fullUrl?: string; resource: Resource };
type Identified = ReportedResource & {
  sourceIds: readonly (string | undefined)[];
};

/**
 * The clinical resources of a sender's Bundle, by subject. Throws
 * UnreadableMessageError.
 */
export function reportedInBundle(bytes: Buffer): ReportedSubject[] {
  const { content, person } = readFhirBundle(bytes);
  if (content.kind === 'merge' || content.kind === 'person') return [];
  const { entry = [] } = jsonOf(bytes) as { entry?: Partial<Entry>[] };
  const entries = entry.filter(
    (each): each is Entry =>
      each.resource !== undefined && each.resource !== null,
  );
  const resources = identified(entries, person.id);
  const subjects = subjectsOf(content);
  return subjects.map((sourceId, index) => ({
    kind: content.kind,
    sourceId,
    resources:
      subjects.length === 1
        ? resources
        : belonging(resources, sourceId, subjects, index === 0),
  }));
}

const subjectsOf = (
  content: Exclude<InboundContent, { kind: 'merge' | 'person' }>,
): string[] =>
  content.kind === 'encounter'
    ? [content.sourceId]
    : [...new Set(content.items.map(({ sourceId }) => sourceId))];

/** The resources with an id each, and with references that use these ids. */
function identified(
  entries: readonly Entry[],
  personId: string | undefined,
): Identified[] {
  const patients = entries.filter(
    ({ resource }) => resource.resourceType === 'Patient',
  );
  const person =
    patients.length === 1
      ? patients[0]
      : patients.find(({ resource }) => resource.id === personId);
  const files = new Map<string, Entry>();
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  const named = entries.flatMap((entry) => {
    const { fullUrl, resource } = entry;
    const type = resource.resourceType;
    const nth = (counts.get(type) ?? 0) + 1;
    counts.set(type, nth);
    const local = [fullUrl, resource.id && `${type}/${resource.id}`].filter(
      (name) => name !== undefined && name !== '',
    );
    const { id, isAnonymous } = idOf(resource, nth);
    const name = entry === person ? 'Patient/person' : `${type}/${id}`;
    for (const each of local) names.set(String(each), name);
    if (type === 'Binary')
      for (const each of local) files.set(String(each), entry);
    return LEFT_OUT.has(type) ? [] : [{ resource, id, isAnonymous }];
  });
  return named.map(({ resource, id, isAnonymous }) => {
    const sourceIds = [specimenOf(resource), senderIdOf(resource)];
    const local = withRenamedReferences(
      withFiles(resource, files),
      (name) => names.get(name) ?? name,
    ) as Json;
    const isNamed = local.subject !== undefined && hasName(person);
    const subject =
      NEED_SUBJECT.has(resource.resourceType) && !isNamed
        ? { subject: { reference: 'Patient/person' } }
        : {};
    return {
      resource: { ...local, ...subject, id } as Identified['resource'],
      isAnonymous,
      sourceIds,
    };
  });
}

/**
 * Whether a reference can name the Patient. If not, and it is the only one,
 * everything is about this Patient.
 */
const hasName = (person: Entry | undefined): boolean =>
  person === undefined ||
  person.fullUrl !== undefined ||
  person.resource.id !== undefined;

const specimenOf = ({ resourceType, specimen }: Json): string | undefined =>
  resourceType === 'Observation'
    ? (specimen as { reference?: string } | undefined)?.reference
    : undefined;

const senderIdOf = (resource: Resource): string | undefined =>
  sentResourceName(resource as Parameters<typeof sentResourceName>[0]);

/** FHIR's pattern of ids. */
const ID = /^[A-Za-z0-9.-]{1,64}$/;

function idOf(
  resource: Resource,
  nth: number,
): { id: string; isAnonymous?: boolean } {
  if (typeof resource.id === 'string' && ID.test(resource.id))
    return { id: resource.id };
  const { id: _, ...withoutId } = resource;
  const name = senderIdOf({
    ...withoutId,
    resourceType: resource.resourceType,
  });
  if (name !== undefined)
    return {
      id: `i-${createHash('sha256').update(name).digest('hex').slice(0, 40)}`,
    };
  return { id: `n${nth}`, isAnonymous: true };
}

/** A resource with the data of the Binary resources that its attachments name. */
function withFiles(
  resource: Resource,
  files: ReadonlyMap<string, Entry>,
): unknown {
  if (files.size === 0) return resource;
  return withAttachments(resource, (attachment) => {
    const file = files.get(textOf(attachment.url) ?? '')?.resource as
      | { data?: string; contentType?: string }
      | undefined;
    if (file?.data === undefined) return attachment;
    const { url: _, ...rest } = attachment;
    return { contentType: file.contentType, ...rest, data: file.data };
  });
}

/**
 * The resources of one of several subjects: those it refers to, directly or
 * over others. The first also gets those to which no subject refers.
 */
function belonging(
  resources: readonly Identified[],
  sourceId: string,
  subjects: readonly string[],
  isFirst: boolean,
): Identified[] {
  const byName = new Map(
    resources.map((each) => [
      `${each.resource.resourceType}/${each.resource.id}`,
      each,
    ]),
  );
  const reachedFrom = (subject: string): Set<Identified> => {
    const reached = new Set<Identified>();
    const open = resources.filter(({ sourceIds }) =>
      sourceIds.includes(subject),
    );
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (reached.has(next)) continue;
      reached.add(next);
      for (const name of JSON.stringify(next.resource).matchAll(
        /"reference":"([^"]+)"/g,
      )) {
        const target = byName.get(name[1] ?? '');
        if (target !== undefined) open.push(target);
      }
    }
    return reached;
  };
  const own = reachedFrom(sourceId);
  const others = new Set(
    isFirst
      ? subjects.flatMap((subject) => [...reachedFrom(subject)])
      : resources,
  );
  return resources.filter((each) => own.has(each) || !others.has(each));
}
