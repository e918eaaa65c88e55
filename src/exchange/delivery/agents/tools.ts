import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import sanitizeHtml from 'sanitize-html';
import {
  deathOf,
  linkedResources,
  markedName,
  rowTexts,
  type SummaryPart,
} from '#record-summary';
import {
  conceptText,
  type LinkedResources,
  momentOf,
  NO_NAME,
  nameText,
  textOf,
} from '#record-summary/fhir';
import { networkQueryRequestSchema } from '../../../contract/network-query.ts';
import { lookupTable } from '../../../lib/lookup-table.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import {
  ExchangeError,
  InvalidRequestError,
  orNotFound,
} from '../../platform/errors.ts';
import { callerOf } from '../../platform/http/caller.ts';
import { leaveRequestShare } from '../../platform/http/plugins/request-share.ts';
import { runWrite, type WriteDeps } from '../../platform/http/write.ts';
import type { Permits } from '../../platform/limits/permits.ts';
import { startForPatient } from '../../queries/network-query/routes.ts';
import type { NetworkQueryService } from '../../queries/network-query/service.ts';
import { attachmentsIn } from '../../records/rules/attachments.ts';
import {
  type FoundDocument,
  findRenditionById,
} from '../documents/document-store.ts';
import { type DocumentRenditions, orGone } from '../documents/renditions.ts';
import { servedTypeOf } from '../documents/routes.ts';
import {
  type createSummaryReads,
  queryProgress,
} from '../embed/data-routes.ts';
import { parsePatientSearch } from '../fhir-api/patient-search.ts';
import { findBinary } from '../fhir-api/read-routes.ts';
import type { SearchPlace } from '../fhir-api/recorded-consents.ts';
import {
  checkSearch,
  type FhirDeps,
  mayRead,
  permittedTypes,
} from '../fhir-api/requests.ts';
import {
  parseSearch,
  type SearchPair,
} from '../fhir-api/rules/search-request.ts';
import { readServed, type ServedResource } from '../fhir-api/search-record.ts';
import {
  readMatchingPatients,
  readResourcePage,
  requirePatient,
} from '../fhir-api/search-routes.ts';
import {
  clipped,
  cut,
  type Line,
  printable,
  type Result,
  recordResult,
  stampOf,
} from './result.ts';

/**
 * What tools use: the services behind the FHIR API, documents, the embedded
 * page and network queries.
 */
export interface AgentDeps extends FhirDeps, WriteDeps {
  blobs: BlobStore;
  documentRenditions: Pick<DocumentRenditions, 'render'>;
  summaries: ReturnType<typeof createSummaryReads>;
  networkQueries: NetworkQueryService;
  permits: Permits;
}

/** One call of a tool, whose scopes are checked. */
export interface ToolCall extends AgentDeps {
  request: FastifyRequest;
  accountId: string;
  /** Aborted when the caller goes. */
  signal: AbortSignal;
  /** Tells the caller how far it is, if it asked to be told. */
  progress(step: number, message: string): Promise<void>;
}

/** Arguments by `tool-table.ts`; a tool reads those that are its own. */
export type Args = Readonly<Record<string, string | undefined>>;

const MORE =
  'More follow: call again with the same arguments and cursor = next_cursor.';
const pairsOf = (args: Args): SearchPair[] =>
  Object.entries(args).map(([name, value = '']) => [name, value]);

export async function findPatientForAgent(
  on: ToolCall,
  { cursor, ...given }: Args,
): Promise<Result> {
  const path = 'find_patient';
  const known =
    cursor === undefined
      ? undefined
      : await on.cursors.read<string>(path, cursor);
  const pairs =
    known?.pairs ??
    pairsOf(given).map(
      ([name, value]) => [name.replace('_', ''), value] as const,
    );
  if (pairs.length === 0)
    throw new InvalidRequestError([
      {
        path: 'name',
        message: 'or birth_date, gender or identifier is required',
      },
    ]);
  const { request: search, faults } = parsePatientSearch(pairs);
  checkSearch(on.request, { faults, ignored: [] });
  const { entries, next } = await readMatchingPatients(
    on,
    on.request,
    search,
    known?.place,
  );
  const patients = entries.map(({ resource, fullUrl: url }) => ({
    patient_id: resource.id,
    name: clipped(nameText(resource.name) ?? NO_NAME),
    url,
    birth_date: textOf(resource.birthDate),
    died: deathOf(resource),
    gender: textOf(resource.gender),
  }));
  const more = next && {
    next_cursor: await on.cursors.write({ path, pairs, place: next }),
    left_out: MORE,
  };
  return {
    head: `${patients.length} patients. ${more ? MORE : ''}`,
    structured: { is_untrusted: true, patients, ...(more || {}) },
  };
}

/** Lines of a summary that one result has: all of a usual page one. */
const SUMMARY_MAX = 150;

export async function patientSummary(
  on: ToolCall,
  { patient_id: patientId = '' }: Args,
): Promise<Result> {
  const { accountId, request } = on;
  await requirePatient(on, accountId, patientId);
  await on.records.merge(accountId, patientId);
  const all: Line[] = [];
  const filter = { types: permittedTypes(request, undefined) };
  for await (const part of on.summaries({ accountId, patientId }, filter)) {
    all.push(...linesOfPart(part, patientId));
    if (part.kind === 'overview') break;
  }
  const lines = all.slice(0, SUMMARY_MAX);
  const wanted = lines.flatMap(({ of }) => of.slice(0, 1));
  const served = await on.store.asAccount(accountId, (tx) =>
    readServed(tx, patientId, wanted),
  );
  await on.audit.write(request, [patientId]);
  const left = all.length - lines.length;
  return recordResult(on, { accountId, patientId }, lines, served, {
    ...(left > 0 && {
      left_out: `${left} further lines: use search_results and search_medications.`,
    }),
  });
}

/** The lines of a summary's head and overview. */
export function linesOfPart(
  part: SummaryPart | { kind: 'total' },
  id: string,
): Line[] {
  if (part.kind === 'head') {
    const says = [
      part.head.patient.name,
      ...part.head.facts.map(({ label, value }) => `${label}: ${value}`),
    ].join('; ');
    const isAlert = part.head.facts.some(({ tone }) => tone === 'alert');
    return [
      {
        section: 'Patient',
        says,
        of: [{ resourceType: 'Patient', id }],
        ...(isAlert && { is_alert: true }),
      },
    ];
  }
  if (part.kind !== 'overview') return [];
  // The last block is the completeness, which every result has.
  return part.blocks
    .slice(0, -1)
    .flatMap(({ title: section, items, notes, rest }) => [
      ...items.map(({ text, detail, tone, of }) => ({
        section,
        says: [text, detail].filter(Boolean).join('; '),
        of,
        ...(tone === 'alert' && { is_alert: true }),
      })),
      ...notes.concat(rest ?? []).map(({ text, tone, of = [] }) => ({
        section,
        says: text,
        of,
        ...(tone === 'alert' && { is_alert: true }),
      })),
    ]);
}

/**
 * Where the next page begins: in which of the types, and after which place of
 * it.
 */
interface AgentPlace {
  at: number;
  after?: SearchPlace;
}
/**
 * Lines of one result, and pages that one call looks at until it has enough
 * that contain the word.
 */
const LINES_MAX = 20;
const PAGES_MAX = 6;

/**
 * A tool that searches types one after the other. @param dates the types, with
 * the parameter of their date
 */
export const searchTool =
  (name: string, dates: Readonly<Record<string, string>>) =>
  async (on: ToolCall, { cursor, ...args }: Args): Promise<Result> => {
    const { accountId, request } = on;
    const { patient_id: patientId = '' } = args;
    const types = Object.keys(dates).filter((type) => mayRead(request, type));
    await requirePatient(on, accountId, patientId);
    const path = `${name}/${patientId}`;
    const known =
      cursor === undefined
        ? undefined
        : await on.cursors.read<AgentPlace>(path, cursor);
    if (known === undefined) await on.records.merge(accountId, patientId);
    const pairs = known?.pairs ?? pairsOf(args);
    const word =
      pairs.find(([key]) => key === 'containing')?.[1].toLowerCase() ?? '';
    const lines: Line[] = [];
    const resources: ServedResource[] = [];
    let next: AgentPlace | undefined = known?.place ?? { at: 0 };
    for (
      let page = 0;
      next !== undefined && page < PAGES_MAX && lines.length < LINES_MAX;
      page++
    ) {
      const { at, after }: AgentPlace = next;
      const type = types[at] ?? '';
      const asked = searchOf(
        type,
        dates[type] ?? '',
        pairs,
        LINES_MAX - lines.length,
      );
      checkSearch(request, { faults: asked.faults, ignored: [] });
      const read = await readResourcePage(
        on,
        request,
        type,
        { ...asked.request, patientId },
        after,
      );
      resources.push(...read.page.matches);
      const { resources: included } = read.included;
      const linked = await linkedAmong([...read.page.matches, ...included]);
      const found = await Promise.all(
        read.page.matches.map((each) => lineOf(each, included, linked)),
      );
      lines.push(
        ...found.filter(({ says }) => says.toLowerCase().includes(word)),
      );
      if (read.page.next !== undefined) next = { at, after: read.page.next };
      else next = at + 1 < types.length ? { at: at + 1 } : undefined;
    }
    const hidden = Object.keys(dates).filter((type) => !types.includes(type));
    const denied =
      hidden.length > 0 && `Your token does not permit ${hidden.join(', ')}.`;
    const left = [next && MORE, denied].filter(Boolean).join(' ');
    return recordResult(on, { accountId, patientId }, lines, resources, {
      ...(left !== '' && { left_out: left }),
      ...(next && {
        next_cursor: await on.cursors.write({ path, pairs, place: next }),
      }),
    });
  };

/** What lines of a type need of other resources. */
const INCLUDED: Readonly<Record<string, readonly string[]>> = lookupTable({
  MedicationAdministration: ['medication'],
  MedicationDispense: ['medication'],
  MedicationRequest: ['medication'],
  MedicationStatement: ['medication'],
  Observation: ['specimen', 'derived-from'],
});

/** What the resources of one page say of the Observations among them. */
const linkedAmong = (
  resources: readonly ServedResource[],
): Promise<LinkedResources> =>
  linkedResources({
    async *read(types) {
      for (const each of resources)
        if (types.includes(each.resourceType)) yield each;
    },
  });

/** The FHIR search of one type. */
function searchOf(
  type: string,
  date: string,
  pairs: readonly SearchPair[],
  count: number,
) {
  const names: Readonly<Record<string, string>> = {
    code: 'code=',
    from: `${date}=ge`,
    to: `${date}=le`,
  };
  const given = pairs.flatMap(([key, value]): SearchPair[] => {
    const [name = '', prefix = ''] = names[key]?.split('=') ?? [];
    return name === '' ? [] : [[name, `${prefix}${value}`]];
  });
  const include = (INCLUDED[type] ?? []).map(
    (name): SearchPair => ['_include', `${type}:${name}`],
  );
  return parseSearch(type, [['_count', String(count)], ...include, ...given]);
}

async function lineOf(
  match: ServedResource,
  included: readonly ServedResource[],
  linked: LinkedResources,
): Promise<Line> {
  const medications = new Map(
    included.map(({ id, json }) => [id, markedName(json) ?? '']),
  );
  const texts = await rowTexts(match, {
    medications,
    people: new Map(),
    conditions: new Map(),
    reports: new Map(),
    linked,
  });
  const { resourceType, id, json } = match;
  const files = attachmentsIn(json).flatMap(
    ({ url }) => /^Binary\/(.+)/.exec(textOf(url) ?? '')?.slice(1) ?? [],
  );
  return {
    section: resourceType,
    date: momentOf(json),
    of: [{ resourceType, id }],
    says:
      texts.join(' | ') || conceptText(json.code) || 'Nothing that can be read',
    ...(files.length > 0 && { note_ids: files.slice(0, 3) }),
  };
}

/**
 * A part of a document's text in one result, and the largest document: an agent
 * would need a hundred calls for a larger one.
 */
const PART_BYTES = 24_000;
const NOTE_BYTES_MAX = 2_000_000;

export async function readNote(
  on: ToolCall,
  { note_id: id = '', offset = '0' }: Args,
): Promise<Result> {
  const document = await findBinary(on, on.request, id);
  const { source, contentType, patientId } = document;
  const whole = printable(await textOfDocument(on, document));
  const part = cut(whole.slice(Number(offset)), PART_BYTES);
  const next = Number(offset) + part.length;
  const left_out = `The rest: call again with offset = ${next}.`;
  const url = `${on.base}/Binary/${id}`;
  const completeness = await stampOf(on, {
    accountId: on.accountId,
    patientId: patientId ?? '',
  });
  return {
    head: `Characters ${offset} to ${next} of ${whole.length} of document ${url}, patient ${patientId}. ${completeness.says}`,
    structured: {
      note_id: id,
      patient_id: patientId,
      source,
      content_type: contentType,
      url,
      is_untrusted: true,
      untrusted_text: part,
      offset: Number(offset),
      total_chars: whole.length,
      completeness,
      ...(next < whole.length && { next_offset: next, left_out }),
    },
    words: part,
  };
}

/**
 * The plain text of a document: of text and html as it is, of C-CDA as our
 * rendition shows it. @throws ExchangeError 422
 */
async function textOfDocument(
  on: ToolCall,
  document: FoundDocument,
): Promise<string> {
  const type = servedTypeOf(document);
  const isText = /^text\/(?:plain|html)/.test(type);
  if (
    document.sizeBytes > NOTE_BYTES_MAX ||
    (!isText && !/xml|octet-stream/.test(type))
  )
    throw new ExchangeError(
      422,
      'Only text, html and C-CDA of up to 2 MB can be read here; open its url instead',
    );
  const read = (ref: string) => orGone(on.blobs.read(ref));
  if (isText) {
    const text = (await read(document.blobRef)).toString(
      /8859-1|1252/.test(type) ? 'latin1' : 'utf8',
    );
    return type.startsWith('text/html') ? plainText(text) : text;
  }
  const id = await on.documentRenditions.render(on.accountId, document, 'html');
  const found = await on.store.asAccount(on.accountId, (tx) =>
    findRenditionById(tx, id),
  );
  return plainText(
    (await read(orNotFound('Document', found).rendition.blobRef)).toString(),
  );
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
};

/** The text of html: a line for each block, a bar between cells. */
function plainText(html: string): string {
  const separated = html
    .replaceAll(/<\/(?:p|div|tr|li|h\d|dd|section|title)>|<br\b/gi, '\n$&')
    .replaceAll(/<\/(?:t[dh]|dt)>/gi, ' | $&');
  return sanitizeHtml(separated, { allowedTags: [], allowedAttributes: {} })
    .replaceAll(/&(?:amp|lt|gt|quot);/g, (entity) => ENTITIES[entity] ?? '')
    .replaceAll(/[^\S\n]+/g, ' ')
    .replaceAll(/\s*\n\s*/g, '\n')
    .trim();
}

export const queryStatus = (on: ToolCall, args: Args): Promise<Result> =>
  follow(on, args.request_id ?? '', Number(args.wait_seconds));

export async function startQueryForAgent(
  on: ToolCall,
  args: Args,
): Promise<Result> {
  const { request, networkQueries } = on;
  const asked = networkQueryRequestSchema.parse({
    sources: args.sources?.split(','),
  });
  const query = {
    caller: callerOf(request),
    request: asked,
    purposeOfUse: 'treatment' as const,
  };
  const { targetId = '' } = await runWrite(
    on,
    'startNetworkQuery',
    request,
    (tx) => startForPatient(tx, networkQueries, args.patient_id ?? '', query),
  );
  return follow(on, targetId, Number(args.wait_seconds));
}

/**
 * How often the query is looked at; after as many looks the caller is told
 * again, because clients give up what is silent for a minute.
 */
const POLL_MS = 1_000;
const TELL_AGAIN = 10;
/** The last entries of a timeline are shown. */
const ENTRIES_MAX = 120;

/**
 * Follows a query until it has ended, the time is over or the caller goes, and
 * says how far it is.
 */
async function follow(
  on: ToolCall,
  requestId: string,
  seconds: number,
): Promise<Result> {
  const { accountId, request, networkQueries } = on;
  const read = () =>
    on.store.asAccount(accountId, async (tx) => {
      const query = orNotFound(
        'Network query',
        await networkQueries.readQuery(tx, requestId),
      );
      const timeline = await networkQueries.readTimeline(tx, requestId);
      return { patientId: query.patientId, timeline, ...queryProgress(query) };
    });
  let now = await read();
  if (seconds > 0 && now.status === 'running') {
    const permit = on.permits.take(accountId, callerOf(request).actor);
    leaveRequestShare(request);
    const signal = AbortSignal.any([on.signal, permit.signal]);
    const endsAt = Date.now() + seconds * 1_000;
    let told = '';
    try {
      for (
        let step = 0;
        now.status === 'running' && Date.now() < endsAt && !signal.aborted;
        step++
      ) {
        const said = now.sources.map(
          (each) =>
            `${each.source} ${each.status}, ${each.resources} resources`,
        );
        if (said.join('; ') !== told || step % TELL_AGAIN === 0)
          await on.progress(step, said.join('; '));
        told = said.join('; ');
        await sleep(Math.min(POLL_MS, endsAt - Date.now()), undefined, {
          signal,
        }).catch(() => undefined);
        now = await read();
      }
    } finally {
      permit.leave();
    }
  }
  const { patientId, status, sources, timeline } = now;
  await on.audit.write(request, [patientId], requestId);
  const older = timeline.length - ENTRIES_MAX;
  const left = [
    status === 'running' &&
      `It still runs: call query_status with request_id ${requestId}.`,
    older > 0 && `The first ${older} entries of the timeline are left out.`,
  ].filter(Boolean);
  const completeness = await stampOf(on, { accountId, patientId });
  return {
    head: `Query ${requestId}: ${status}. ${left.join(' ')} ${completeness.says}`,
    structured: {
      request_id: requestId,
      patient_id: patientId,
      has_ended: status !== 'running',
      status,
      sources,
      timeline: timeline.slice(-ENTRIES_MAX),
      completeness,
      ...(left.length > 0 && { left_out: left.join(' ') }),
    },
  };
}
