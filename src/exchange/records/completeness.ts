import type { RecordSource } from '../../contract/primitives.ts';
import type { RecordStanding, SourceStanding } from './completeness-store.ts';
import type { Json } from './rules/json.ts';
import { sourceName } from './summary/section.ts';
import { momentText } from './summary/words.ts';

const list = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

const namesOf = (sources: readonly SourceStanding[]): string =>
  list(sources.map(({ source }) => sourceName(source)));

/** Why a record is not complete, in one sentence; undefined when every source that was asked has answered in full. */
export function incompleteness({ sources, unread }: RecordStanding): string | undefined {
  const inState = (...states: SourceStanding['state'][]) =>
    sources.filter(({ state }) => states.includes(state));
  const [failed, running, omitting] = [
    inState('failed'),
    inState('running', 'waiting'),
    sources.filter(({ omissions }) => omissions.length > 0),
  ];
  const reasons = [
    failed.length > 0 && `the last request to ${namesOf(failed)} failed`,
    running.length > 0 && `${namesOf(running)} ${running.length === 1 ? 'is' : 'are'} still being asked`,
    omitting.length > 0 && `${namesOf(omitting)} could not bring everything`,
    unread.length > 0 &&
      `${unread.length} document${unread.length === 1 ? '' : 's'} could not be read in full`,
    inState('never-asked').length === sources.filter(({ state }) => state !== undefined).length &&
      'no source has been asked yet',
  ].filter((reason) => reason !== false);
  return reasons.length === 0 ? undefined : `This record is not complete: ${reasons.join('; ')}.`;
}

/** What each source was asked and brought, and which documents were not read: one line each. */
export function completenessLines({ sources, unread }: RecordStanding): string[] {
  return [...sources.map(sourceLine), ...unreadLines(unread)];
}

const timeText = (at: Date): string => momentText(`${at.toISOString().slice(0, 16)}Z`) ?? '';

function sourceLine(standing: SourceStanding): string {
  const { source, state, lastAttempted, lastCompleted, reason, resources, documents, omissions } = standing;
  const name = sourceName(source);
  const counts = `${resources} ${resources === 1 ? 'resource' : 'resources'} and ${documents} ${documents === 1 ? 'document' : 'documents'}`;
  const attempted = lastAttempted === undefined ? '' : ` ${timeText(lastAttempted)}`;
  const before =
    lastCompleted === undefined
      ? 'it has never answered in full'
      : `its last complete answer is of ${timeText(lastCompleted)}`;
  switch (state) {
    case undefined:
      return `${name}: ${counts}.`;
    case 'never-asked':
      return resources + documents === 0 ? `${name}: never asked.` : `${name}: never asked; ${counts}.`;
    case 'completed':
      return `${name}: answered ${timeText(lastCompleted ?? new Date(0))}; ${[counts, ...omissions].join('; ')}.`;
    case 'running':
      return `${name}: being asked since${attempted}; ${before}; ${counts} so far.`;
    case 'waiting':
      return `${name}: asked${attempted}, which failed, and is to be asked again; ${before}; ${counts}.`;
    case 'failed':
      return `${name}: asked${attempted}, which failed${reason === undefined ? '' : ` (${reason})`}; ${before}; ${counts}.`;
  }
}

/** Named one by one up to here; a page of them would hide the rest. */
const NAMED_MAX = 5;

function unreadLines(unread: RecordStanding['unread']): string[] {
  const named = unread
    .slice(0, NAMED_MAX)
    .map(({ source, fileName, reason }) => `Document ${fileName} (${sourceName(source)}): ${reason}.`);
  const others = unread.length - named.length;
  return others === 0 ? named : [...named, `${others} more could not be read; the FHIR form names them.`];
}

const COMPLETENESS = 'urn:medical-exchange:completeness';

/**
 * `Bundle.meta` that says how complete the record is: a tag `incomplete` or `answered`, and an extension for each source and
 * unread document. Readers that do not know them pass over them, and no entry is added to those that were asked for.
 */
export function completenessMeta(standing: RecordStanding): Json {
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
        display: sentence ?? 'Every source that was asked has answered in full',
      },
    ],
  };
}

const code = (url: string, valueCode: string | RecordSource): Json => ({ url, valueCode });
const text = (url: string, valueString: string): Json => ({ url, valueString });
const instant = (url: string, at: Date | undefined): Json[] =>
  at === undefined ? [] : [{ url, valueInstant: at.toISOString() }];

function sourceExtension(standing: SourceStanding): Json {
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
      { url: 'documents', valueUnsignedInt: documents },
      ...omissions.map((omission) => text('omission', omission)),
    ],
  };
}
