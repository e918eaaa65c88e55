import type { RecordSource } from '../../../contract/primitives.ts';
import type { Json } from '../rules/json.ts';
import { momentText, sourceName } from '../rules/words.ts';
import type { RecordCompleteness, SourceCompleteness } from './completeness-store.ts';

const list = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

const namesOf = (sources: readonly SourceCompleteness[]): string =>
  list(sources.map(({ source }) => sourceName(source)));

/** Why a record is incomplete, in one sentence; undefined when every queried source delivered everything. */
export function incompleteness({ sources, unread }: RecordCompleteness): string | undefined {
  const inState = (...states: SourceCompleteness['state'][]) =>
    sources.filter(({ state }) => states.includes(state));
  const [failed, cancelled, running, omitting] = [
    inState('failed'),
    // Of one that had delivered before, nothing is missing that was there.
    inState('cancelled').filter(({ lastCompleted }) => lastCompleted === undefined),
    inState('running', 'waiting'),
    sources.filter(({ omissions }) => omissions.length > 0),
  ];
  const reasons = [
    failed.length > 0 && `the last request to ${namesOf(failed)} failed`,
    cancelled.length > 0 && `the request to ${namesOf(cancelled)} was cancelled before it was answered`,
    running.length > 0 && `${namesOf(running)} ${running.length === 1 ? 'is' : 'are'} still being queried`,
    omitting.length > 0 && `${namesOf(omitting)} could not deliver everything`,
    unread.length > 0 &&
      `${unread.length} document${unread.length === 1 ? '' : 's'} could not be read in full`,
    inState('never-asked').length === sources.filter(({ state }) => state !== undefined).length &&
      'no source has been queried yet',
  ].filter((reason) => reason !== false);
  return reasons.length === 0 ? undefined : `This record is incomplete: ${reasons.join('; ')}.`;
}

/** One line per source (when it was queried, what it delivered) and per document that could not be read. */
export function completenessLines({ sources, unread }: RecordCompleteness): string[] {
  return [...sources.map(sourceLine), ...unreadLines(unread)];
}

const timeText = (at: Date): string => momentText(`${at.toISOString().slice(0, 16)}Z`) ?? '';

function sourceLine(standing: SourceCompleteness): string {
  const { source, state, lastAttempted, lastCompleted, reason, resources, documents, omissions } = standing;
  const { fromDocuments, messages, changes } = standing;
  const name = sourceName(source);
  const read = fromDocuments === 0 ? '' : ` (${fromDocuments} of them read from documents)`;
  const all = `${resources} ${resources === 1 ? 'resource' : 'resources'}${read} and ${documents} ${documents === 1 ? 'document' : 'documents'}`;
  const asked =
    changes === undefined
      ? []
      : [
          `asked for what changed since ${timeText(changes.since)}`,
          `everything was last asked for ${timeText(changes.fullAt)}`,
        ];
  const counts =
    messages === undefined
      ? all
      : `${all}, of these ${messages.resources} ${messages.resources === 1 ? 'resource' : 'resources'} by message, last ${timeText(messages.last)}`;
  const attempted = lastAttempted === undefined ? '' : ` ${timeText(lastAttempted)}`;
  const before =
    lastCompleted === undefined
      ? 'no earlier request completed'
      : `last completed ${timeText(lastCompleted)}`;
  switch (state) {
    case undefined:
      return `${name}: ${counts}.`;
    case 'never-asked':
      return resources + documents === 0 ? `${name}: never queried.` : `${name}: never queried; ${counts}.`;
    case 'completed':
      return `${name}: completed ${timeText(lastCompleted ?? new Date(0))}; ${[counts, ...asked, ...omissions].join('; ')}.`;
    case 'running':
      return `${name}: query running since${attempted}; ${before}; ${counts} so far.`;
    case 'waiting':
      return `${name}: queried${attempted}; the request failed and will be retried; ${before}; ${counts}.`;
    case 'failed':
    case 'cancelled':
      return `${name}: queried${attempted}; the request ${state === 'failed' ? 'failed' : 'was cancelled'}${reason === undefined ? '' : ` (${reason})`}; ${before}; ${counts}.`;
  }
}

/** Number of documents listed by name; a longer list would hide the rest of the page. */
const NAMED_MAX = 5;

function unreadLines(unread: RecordCompleteness['unread']): string[] {
  const named = unread
    .slice(0, NAMED_MAX)
    .map(({ source, fileName, reason }) => `Document ${fileName} (${sourceName(source)}): ${reason}.`);
  const others = unread.length - named.length;
  return others === 0
    ? named
    : [...named, `${others} more could not be read; the FHIR Bundle lists them all.`];
}

const COMPLETENESS = 'urn:medical-exchange:completeness';

/**
 * `Bundle.meta` with the completeness of the record: a tag `incomplete` or `answered`, and an extension for each source and
 * each unread document. Clients that do not know them can ignore them, and the entries stay those that were requested.
 */
export function completenessMeta(standing: RecordCompleteness): Json {
  const sentence = incompleteness(standing);
  return {
    extension: [
      ...standing.sources.map(sourceExtension),
      ...standing.unread.map(({ source, fileName, reason }) => ({
        url: `${COMPLETENESS}:unread-document`,
        extension: [code('source', source), text('fileName', fileName), text('reason', reason)],
      })),
    ],
    tag: [
      {
        system: COMPLETENESS,
        code: sentence === undefined ? 'answered' : 'incomplete',
        display: sentence ?? 'Every queried source has delivered everything',
      },
    ],
  };
}

const code = (url: string, valueCode: string | RecordSource): Json => ({ url, valueCode });
const text = (url: string, valueString: string): Json => ({ url, valueString });
const instant = (url: string, at: Date | undefined): Json[] =>
  at === undefined ? [] : [{ url, valueInstant: at.toISOString() }];

function sourceExtension(standing: SourceCompleteness): Json {
  const { source, state, lastAttempted, lastCompleted, reason, resources, documents, omissions } = standing;
  return {
    url: `${COMPLETENESS}:source`,
    extension: [
      code('source', source),
      ...(state === undefined ? [] : [code('state', state)]),
      ...instant('lastAttempted', lastAttempted),
      ...instant('lastCompleted', lastCompleted),
      ...(reason === undefined ? [] : [text('reason', reason)]),
      { url: 'resources', valueUnsignedInt: resources },
      ...(standing.fromDocuments === 0
        ? []
        : [{ url: 'fromDocuments', valueUnsignedInt: standing.fromDocuments }]),
      { url: 'documents', valueUnsignedInt: documents },
      ...(standing.messages === undefined
        ? []
        : [{ url: 'byMessage', valueUnsignedInt: standing.messages.resources }]),
      ...instant('lastMessage', standing.messages?.last),
      ...instant('changesSince', standing.changes?.since),
      ...instant('lastFull', standing.changes?.fullAt),
      ...omissions.map((omission) => text('omission', omission)),
    ],
  };
}
