import { sql } from 'kysely';
import type { RecordStanding } from '#record-summary';
import { type Json, momentText } from '#record-summary/fhir';
import { CANCEL_REASONS } from '../../../contract/network-query-workflow.ts';
import {
  type RecordSource,
  SOURCE_TYPES,
  type SourceType,
} from '../../../contract/primitives.ts';
import { counted } from '../../../lib/counted.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import { broughtBy, listedDocuments } from '../deliveries/delivery-store.ts';
import { OF_MESSAGE } from '../rules/ids.ts';
import { sourceName } from './source-names.ts';

const ASKED_SOURCES = sqlFile('asked-sources.sql', import.meta.url);
const KEPT_BY_SOURCE = sqlFile('kept-by-source.sql', import.meta.url);
const UNREAD_DOCUMENTS = sqlFile('unread-documents.sql', import.meta.url);

const LIST = new Intl.ListFormat('en-GB');
const namesOf = (sources: readonly SourceCompleteness[]): string =>
  LIST.format(sources.map(({ source }) => sourceName(source)));

/**
 * Why a record is incomplete, in one sentence; undefined when every queried
 * source delivered everything.
 */
export function incompleteness(
  standing: RecordCompleteness | undefined,
): string | undefined {
  if (standing === undefined) return undefined;
  const { sources, unread, withheld = 0 } = standing;
  const inState = (...states: SourceCompleteness['state'][]) =>
    sources.filter(({ state }) => states.includes(state));
  const isFirst = ({ lastCompleted }: SourceCompleteness) =>
    lastCompleted === undefined;
  const failed = inState('failed');
  const cancelled = inState('cancelled').filter(isFirst);
  const running = inState('running', 'waiting').filter(isFirst);
  const omitting = sources.filter(({ omissions }) => omissions.length > 0);
  const silent = omitting.flatMap(silentText);
  const reasons = [
    ...failed.map(
      (source) =>
        `the last request to ${namesOf([source])} failed${onDay(source.lastAttempted)}, ${isFirst(source) ? 'and none before was complete' : `the last complete response is${onDay(source.lastCompleted)?.replace(' on', ' of')}`}`,
    ),
    cancelled.length > 0 &&
      `the request to ${namesOf(cancelled)} was cancelled before it was answered`,
    running.length > 0 &&
      `${namesOf(running)} ${running.length === 1 ? 'is' : 'are'} still being queried${running.length === 1 && running[0]?.lastAttempted ? ` since ${timeText(running[0].lastAttempted)}` : ''}${inBrackets(running.flatMap(awaitedText))}`,
    omitting.length > 0 &&
      `${namesOf(omitting)} could not deliver everything${inBrackets(silent)}`,
    unread.length > 0 &&
      `${counted(unread.length, 'document')} could not be read in full`,
    withheld > 0 &&
      `a policy on sensitive data withholds ${counted(withheld, 'resource')}`,
    inState('never-asked').length ===
      sources.filter(({ state }) => state !== undefined).length &&
      'no source has been queried yet',
  ].filter((reason) => reason !== false);
  return reasons.length === 0
    ? undefined
    : `This record is incomplete: ${reasons.join('; ')}.`;
}

const inBrackets = (texts: readonly string[]): string =>
  texts.length === 0 ? '' : ` (${texts.join('; ')})`;

/** Which organizations have not answered a query that still runs. */
const awaitedText = ({
  organizations,
}: SourceCompleteness): readonly string[] =>
  organizations === undefined || organizations.waiting === 0
    ? []
    : [
        `${partOf(organizations, organizations.waiting)} ${organizations.waiting === 1 ? 'has' : 'have'} not answered yet`,
      ];

/** Which organizations failed to answer the last query, once it has ended. */
const silentText = ({
  state,
  organizations,
}: SourceCompleteness): readonly string[] =>
  state !== 'completed' ||
  organizations === undefined ||
  organizations.failed === 0
    ? []
    : [`${partOf(organizations, organizations.failed)} failed to answer`];

const partOf = ({ asked }: AskedOrganizations, part: number): string =>
  `${part.toLocaleString('en-US')} of ${counted(asked, 'organization')}`;

/**
 * How the organizations of a network answered: `1,000 organizations were asked:
 * 30 had records, 900 did not know the patient, 50 failed to answer, 20 have not
 * answered yet`.
 */
function organizationsText(
  organizations: AskedOrganizations,
  lastAttempted: Date | undefined,
): string {
  const { askedAt, asked, found, nobody, failed, waiting } = organizations;
  const isOfLast =
    lastAttempted !== undefined &&
    timeText(askedAt) === timeText(lastAttempted);
  const when = isOfLast ? '' : ` ${timeText(askedAt)}`;
  const answers = [
    [found, 'had records'],
    [nobody, 'did not know the patient'],
    [failed, 'failed to answer'],
    [waiting, waiting === 1 ? 'has not answered yet' : 'have not answered yet'],
  ] as const;
  const said = answers
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count.toLocaleString('en-US')} ${what}`);
  const were = asked === 1 ? 'was' : 'were';
  return `${counted(asked, 'organization')} ${were} asked${when}: ${said.join(', ')}`;
}

const onDay = (at: Date | undefined): string =>
  at === undefined ? '' : ` on ${timeText(at)}`;

/**
 * One line per source (when it was queried, what it delivered) and per document
 * that could not be read.
 */
export function completenessLines({
  sources,
  unread,
}: RecordCompleteness): string[] {
  return [...sources.map(sourceLine), ...unreadLines(unread)];
}

/** The same for who reads a summary. */
export const standingForReaders = (
  standing: RecordCompleteness,
): RecordStanding => ({
  alert: incompleteness(standing),
  sourceLines: completenessLines(standing),
  withheld: standing.withheld,
});

const timeText = (at: Date): string =>
  momentText(`${at.toISOString().slice(0, 16)}Z`) ?? '';

function sourceLine(standing: SourceCompleteness): string {
  const {
    source,
    state,
    lastAttempted,
    lastCompleted,
    reason,
    resources,
    documents,
    omissions,
  } = standing;
  const { fromDocuments, messages, changes, organizations } = standing;
  const name = sourceName(source);
  const read =
    fromDocuments === 0
      ? ''
      : ` (${fromDocuments} of them read from documents)`;
  const all = `${counted(resources, 'resource')}${read} and ${counted(documents, 'document')}`;
  const asked =
    changes === undefined
      ? []
      : [
          `asked for what changed since ${timeText(changes.since)}`,
          `everything was last asked for ${timeText(changes.fullAt)}`,
        ];
  const delivered =
    messages === undefined
      ? all
      : `${all}, of these ${counted(messages.resources, 'resource')} by message, last ${timeText(messages.last)}`;
  const counts =
    organizations === undefined
      ? delivered
      : `${organizationsText(organizations, lastAttempted)}; ${delivered}`;
  const attempted =
    lastAttempted === undefined ? '' : ` ${timeText(lastAttempted)}`;
  const before =
    lastCompleted === undefined
      ? 'no earlier request completed'
      : `last completed ${timeText(lastCompleted)}`;
  switch (state) {
    case undefined:
      return `${name}: ${counts}.`;
    case 'never-asked':
      return resources + documents === 0
        ? `${name}: never queried.`
        : `${name}: never queried; ${counts}.`;
    case 'completed':
      return `${name}: completed ${timeText(lastCompleted ?? new Date(0))}; ${[counts, ...asked, ...omissions].join('; ')}.`;
    case 'running':
      return `${name}: being queried since${attempted}; ${before}; ${counts} so far.`;
    case 'waiting':
      return `${name}: queried${attempted}; the request failed, waiting to retry; ${before}; ${counts}.`;
    case 'failed':
    case 'cancelled':
      return `${name}: queried${attempted}; the request ${state === 'failed' ? 'failed' : 'was cancelled'}${reason === undefined ? '' : ` (${reason})`}; ${before}; ${counts}.`;
  }
}

/**
 * Number of documents listed by name; a longer list would hide the rest of the
 * page.
 */
const NAMED_MAX = 5;

function unreadLines(unread: RecordCompleteness['unread']): string[] {
  const named = unread
    .slice(0, NAMED_MAX)
    .map(
      ({ source, fileName, reason }) =>
        `Document ${fileName} (${sourceName(source)}): ${reason}.`,
    );
  const others = unread.length - named.length;
  return others === 0
    ? named
    : [
        ...named,
        `${others} more could not be read; the FHIR Bundle lists them all.`,
      ];
}

const COMPLETENESS = 'urn:medical-exchange:completeness';
/** HL7 DS4P: something was taken out before this was handed out. */
const REDACTED = {
  system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue',
  code: 'REDACTED',
};

/**
 * `Bundle.meta` with the completeness of the record: a tag `incomplete` or
 * `answered`, and an extension for each source and each unread document.
 * Clients that do not know them can ignore them, and the entries stay those
 * that were requested.
 */
export function completenessMeta(
  standing: RecordCompleteness | undefined,
): Json | undefined {
  if (standing === undefined) return undefined;
  const sentence = incompleteness(standing);
  return {
    extension: [
      ...standing.sources.map(sourceExtension),
      ...standing.unread.map(({ source, fileName, reason }) => ({
        url: `${COMPLETENESS}:unread-document`,
        extension: [
          code('source', source),
          text('fileName', fileName),
          text('reason', reason),
        ],
      })),
    ],
    ...((standing.withheld ?? 0) > 0 && { security: [REDACTED] }),
    tag: [
      {
        system: COMPLETENESS,
        code: sentence === undefined ? 'answered' : 'incomplete',
        display: sentence ?? 'Every queried source has delivered everything',
      },
    ],
  };
}

const code = (url: string, valueCode: string | RecordSource): Json => ({
  url,
  valueCode,
});
const text = (url: string, valueString: string): Json => ({ url, valueString });
const count = (url: string, valueUnsignedInt: number | undefined): Json[] =>
  valueUnsignedInt === undefined ? [] : [{ url, valueUnsignedInt }];
const instant = (url: string, at: Date | undefined): Json[] =>
  at === undefined ? [] : [{ url, valueInstant: at.toISOString() }];

function sourceExtension(standing: SourceCompleteness): Json {
  const {
    source,
    state,
    lastAttempted,
    lastCompleted,
    reason,
    resources,
    documents,
    omissions,
  } = standing;
  return {
    url: `${COMPLETENESS}:source`,
    extension: [
      code('source', source),
      ...(state === undefined ? [] : [code('state', state)]),
      ...instant('lastAttempted', lastAttempted),
      ...instant('lastCompleted', lastCompleted),
      ...(reason === undefined ? [] : [text('reason', reason)]),
      { url: 'resources', valueUnsignedInt: resources },
      ...count('fromDocuments', standing.fromDocuments || undefined),
      { url: 'documents', valueUnsignedInt: documents },
      ...count('byMessage', standing.messages?.resources),
      ...instant('lastMessage', standing.messages?.last),
      ...instant('changesSince', standing.changes?.since),
      ...instant('lastFull', standing.changes?.fullAt),
      ...instant('organizationsAskedAt', standing.organizations?.askedAt),
      ...count('organizationsAsked', standing.organizations?.asked),
      ...count('organizationsFound', standing.organizations?.found),
      ...count('organizationsNobody', standing.organizations?.nobody),
      ...count('organizationsFailed', standing.organizations?.failed),
      ...count('organizationsWaiting', standing.organizations?.waiting),
      ...omissions.map((omission) => text('omission', omission)),
    ],
  };
}

/**
 * State of the newest request to a source. `waiting`: the last attempt failed
 * and another one is due. `cancelled`: on request.
 */
export type SourceState =
  | 'never-asked'
  | 'running'
  | 'waiting'
  | 'completed'
  | 'failed'
  | 'cancelled';

/**
 * How far one source has been queried for a patient, and how much of the record
 * came from it.
 */
export interface SourceCompleteness {
  source: RecordSource;
  /**
   * Undefined for messages and contributions: they arrive without being
   * requested.
   */
  state?: SourceState;
  lastAttempted?: Date;
  lastCompleted?: Date;
  /** Why the last attempt failed. */
  reason?: string;
  resources: number;
  /** The part of the resources that was read from documents (C-CDA). */
  fromDocuments: number;
  documents: number;
  /** The part of the resources that arrived by message, unrequested. */
  messages?: { resources: number; last: Date };
  /**
   * Set when the last completed attempt asked for changes only: since when, and
   * when everything was last asked for.
   */
  changes?: { since: Date; fullAt: Date };
  /** The organizations of a network that the last query over one has asked. */
  organizations?: AskedOrganizations;
  /**
   * What its last completed attempt could not deliver; sentences of the query's
   * timeline.
   */
  omissions: string[];
}

/** How many organizations were asked for the patient, and how they stand. */
export interface AskedOrganizations {
  askedAt: Date;
  asked: number;
  /** They had records of the patient. */
  found: number;
  /** They did not know the patient. */
  nobody: number;
  failed: number;
  /** Their answer is awaited, or they are yet to be asked. */
  waiting: number;
}

/**
 * A stored document whose content is missing from the record, in full or in
 * part.
 */
export interface UnreadDocument {
  source: RecordSource;
  fileName: string;
  reason: string;
}

/** All that decides whether a patient's record is complete. */
export interface RecordCompleteness {
  readAt: Date;
  /**
   * Every source that can be queried, then messages and contributions if there
   * are any.
   */
  sources: SourceCompleteness[];
  unread: UnreadDocument[];
  /** How many resources a policy on sensitive data withholds. */
  withheld?: number;
}

export async function readRecordCompleteness(
  of: AccountTx,
  patientId: string,
): Promise<RecordCompleteness> {
  const tx = { ...of, db: of.db.together };
  const [asked, refused, kept, withheld, unread] = await Promise.all([
    readAsked(tx, patientId),
    readRefused(tx, patientId),
    countKept(tx, patientId),
    countWithheld(tx, patientId),
    readUnread(tx, patientId),
  ]);
  const countsOf = (source: RecordSource) => {
    const {
      resources = 0,
      fromDocuments = 0,
      documents = 0,
      messages,
    } = kept.get(source) ?? {};
    return {
      resources,
      fromDocuments,
      documents,
      ...(messages === undefined ? {} : { messages }),
    };
  };
  const sources = SOURCE_TYPES.map((source): SourceCompleteness => {
    const { omissions, ...last }: Asked = asked.get(source) ?? {
      state: 'never-asked',
      omissions: [],
    };
    const refusal = refused.get(source);
    const isNewer =
      refusal !== undefined &&
      (last.lastAttempted ?? new Date(0)) < refusal.lastAttempted;
    const isAtWork = last.state === 'running' || last.state === 'waiting';
    return {
      source,
      ...countsOf(source),
      ...last,
      ...(isNewer && !isAtWork ? { state: 'failed' as const, ...refusal } : {}),
      omissions,
    };
  });
  const unasked = (['message', 'contribution'] as const)
    .filter((source) => kept.has(source))
    .map((source) => ({ source, ...countsOf(source), omissions: [] }));
  return {
    readAt: new Date(),
    sources: [...sources, ...unasked],
    unread,
    ...withheld,
  };
}

async function countWithheld(
  tx: AccountTx,
  patientId: string,
): Promise<{ withheld: number } | undefined> {
  const { rows } = await sql<{ withheld: number }>`
    select count(*)::int as withheld from withheld_resources(${tx.accountId}, ${patientId})`.execute(
    tx.db,
  );
  return rows[0];
}

type Asked = Pick<
  SourceCompleteness,
  | 'state'
  | 'lastAttempted'
  | 'lastCompleted'
  | 'reason'
  | 'changes'
  | 'organizations'
  | 'omissions'
>;

/**
 * Several queries may ask one source at the same time; the source is `running`
 * while any of them runs.
 */
async function readAsked(
  tx: AccountTx,
  patientId: string,
): Promise<Map<SourceType, Asked>> {
  const { rows } = await ASKED_SOURCES<{
    source: SourceType;
    state: SourceState;
    reason: string | null;
    lastAttempted: Date;
    lastCompleted: Date | null;
    changes: { since: string; fullAt: string } | null;
    omissions: string[] | null;
    organizations:
      | (Omit<AskedOrganizations, 'askedAt'> & { askedAt: string })
      | null;
  }>({ patientId }).execute(tx.db);
  return new Map(
    rows.map(
      ({
        source,
        reason,
        lastCompleted,
        changes,
        omissions,
        organizations,
        ...row
      }) => [
        source,
        {
          ...row,
          ...(row.state === 'failed' && CANCEL_REASONS.includes(reason ?? '')
            ? { state: 'cancelled' }
            : {}),
          reason: row.state === 'completed' ? undefined : (reason ?? undefined),
          lastCompleted: lastCompleted ?? undefined,
          ...(changes === null
            ? {}
            : {
                changes: {
                  since: new Date(changes.since),
                  fullAt: new Date(changes.fullAt),
                },
              }),
          ...(organizations === null
            ? {}
            : {
                organizations: {
                  ...organizations,
                  askedAt: new Date(organizations.askedAt),
                },
              }),
          omissions: omissions ?? [],
        },
      ],
    ),
  );
}

/** For each source that could not be started: the newest refusal. */
async function readRefused(
  tx: AccountTx,
  patientId: string,
): Promise<Map<SourceType, { lastAttempted: Date; reason: string }>> {
  const { rows } = await sql<{
    source: SourceType;
    reason: string;
    lastAttempted: Date;
  }>`
    select distinct on (e.source) e.source, e.message as reason, q.started_at as "lastAttempted"
    from network_query q
    cross join lateral jsonb_to_recordset(q.start_errors) as e(source text, message text)
    where q.patient_id = ${patientId}
    order by e.source, q.started_at desc`.execute(tx.db);
  return new Map(rows.map(({ source, ...refusal }) => [source, refusal]));
}

async function countKept(
  tx: AccountTx,
  patientId: string,
): Promise<
  Map<
    RecordSource,
    Pick<
      SourceCompleteness,
      'resources' | 'fromDocuments' | 'documents' | 'messages'
    >
  >
> {
  const { rows } = await KEPT_BY_SOURCE<{
    source: RecordSource;
    resources: number;
    fromDocuments: number;
    documents: number;
    byMessage: number;
    lastMessage: Date | null;
  }>({
    ofMessage: OF_MESSAGE,
    patientId,
    documents: listedDocuments(patientId),
  }).execute(tx.db);
  return new Map(
    rows.map(({ source, byMessage, lastMessage, ...counts }) => [
      source,
      {
        ...counts,
        ...(lastMessage === null
          ? {}
          : { messages: { resources: byMessage, last: lastMessage } }),
      },
    ]),
  );
}

/**
 * Documents whose newest version was not converted in full. A version with the
 * same bytes as an earlier one shares its outcome.
 */
async function readUnread(
  tx: AccountTx,
  patientId: string,
): Promise<UnreadDocument[]> {
  const { rows } = await UNREAD_DOCUMENTS<UnreadDocument>({
    broughtBy: broughtBy('document'),
    patientId,
  }).execute(tx.db);
  return rows;
}
