import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import {
  acceptHl7,
  parseHl7,
  type ReportedSubject,
  UnreadableMessageError,
} from '#hl7v2-to-fhir';
import { utcCell } from '../../../lib/time.ts';
import {
  findCandidates,
  withShared,
} from '../../messaging/notifications/candidate-store.ts';
import { acceptBundle } from '../../messaging/notifications/fhir/accept-bundle.ts';
import {
  decideHeld,
  listHeld,
} from '../../messaging/notifications/held-messages.ts';
import { messagesIn } from '../../messaging/notifications/hl7v2/respond.ts';
import type { InboundMessage } from '../../messaging/notifications/inbound.ts';
import { listUnmatched } from '../../messaging/notifications/inbound-store.ts';
import {
  describesEnough,
  matchPatients,
  zipsOf,
} from '../../messaging/notifications/match.ts';
import { MESSAGE_BYTES_MAX } from '../../messaging/notifications/senders.ts';
import type { Store } from '../../platform/database/database.ts';
import { type AdminCommand, AdminError } from './command.ts';

const COLUMNS = [
  'matched',
  'ambiguous',
  'unmatched',
  'incomplete',
  'merge',
  'refused',
] as const;
type Outcome = (typeof COLUMNS)[number];
/** What is listed of a kind; the rest is counted. `--json` has all. */
const LISTED_MAX = 20;
/** See `ownSystem` of hl7v2/fields.ts. */
const LOCAL = /^urn:medical-exchange:sender:/;

/**
 * `senders check`: reads the messages in a folder as they would be read from a
 * sender, and records nothing. Shows what would be recorded, refused or not
 * used, which codes are the sender's own, and how many patients match; never a
 * value of a message.
 */
export const checkSenderCommand: AdminCommand<
  [string, { timeZone: string }]
> = async ({ store }, folder, { timeZone }) => {
  if (
    !Intl.supportedValuesOf('timeZone').includes(timeZone) &&
    timeZone !== 'UTC'
  )
    throw new AdminError(
      `--time-zone "${timeZone}" is not a time zone; expected one like America/New_York`,
    );
  const kinds = new Map<string, Map<string, number>>();
  const recorded = new Map<string, number>();
  const unused = new Map<string, number>();
  const codes = new Map<string, number>();
  const refused: { message: string; place?: string; reason: string }[] = [];
  let messages = 0;
  for await (const { name, read } of messagesOf(folder, timeZone)) {
    messages += 1;
    try {
      const { message, reported } = read();
      const kind = message.trigger;
      count(kinds, kind, await matchOutcome(store, message));
      for (const place of message.unused ?? []) add(unused, place);
      for (const resource of reported.flatMap(({ resources }) =>
        resources.map((each) => each.resource),
      )) {
        add(recorded, resource.resourceType);
        for (const code of localCodes(resource))
          add(codes, `${resource.resourceType} ${code}`);
      }
    } catch (error) {
      if (!(error instanceof UnreadableMessageError)) throw error;
      count(kinds, 'refused', 'refused');
      refused.push({
        message: name,
        place: error.place,
        reason: error.message,
      });
    }
  }
  if (messages === 0)
    throw new AdminError(
      `${folder} contains no messages; expected HL7 v2 files, or FHIR Bundles in .json`,
    );
  return {
    document: {
      command: 'senders check',
      messages,
      kinds: Object.fromEntries(
        [...kinds].map(([kind, by]) => [kind, Object.fromEntries(by)]),
      ),
      recorded: Object.fromEntries(recorded),
      unused: Object.fromEntries(unused),
      localCodes: Object.fromEntries(codes),
      refused,
    },
    table: {
      head: ['event', ...COLUMNS],
      rows: [...kinds]
        .sort()
        .map(([kind, by]) => [
          kind,
          ...COLUMNS.map((column) => `${by.get(column) ?? ''}`),
        ]),
    },
    lines: [
      '',
      ...listOf('Would be recorded, besides stays', recorded),
      ...listOf('Sent and not used', unused),
      ...listOf("The sender's own codes", codes),
      ...[...new Set(refused.map(({ reason }) => reason))].map((reason) => {
        const of = refused
          .filter((each) => each.reason === reason)
          .map(({ message }) => message);
        return `Refused: ${reason}: ${firstOf(of)}`;
      }),
    ],
    failed: refused.length > 0,
  };
};

interface Read {
  message: InboundMessage;
  reported: readonly ReportedSubject[];
}

/**
 * Each message of the files of a folder, in the order of their names; reading
 * one throws UnreadableMessageError.
 */
async function* messagesOf(
  folder: string,
  timeZone: string,
): AsyncGenerator<{ name: string; read: () => Read }> {
  const files = await readdir(folder, { withFileTypes: true }).catch(() => {
    throw new AdminError(
      `${folder} cannot be read; give a folder with one or more messages to a file`,
    );
  });
  for (const { name } of files
    .filter((file) => file.isFile())
    .sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const bytes = await readFile(join(folder, name));
    if (name.endsWith('.json'))
      yield {
        name,
        read: () => acceptBundle(withinLimit(bytes)),
      };
    else
      for (const [index, one] of messagesIn(bytes).entries())
        yield {
          name: `${name}, message ${index + 1}`,
          read: () => acceptHl7(parseHl7(withinLimit(one)), timeZone),
        };
  }
}

/** Throws UnreadableMessageError. */
function withinLimit(bytes: Buffer): Buffer {
  if (bytes.length > MESSAGE_BYTES_MAX)
    throw new UnreadableMessageError(
      'invalid',
      `It is larger than ${MESSAGE_BYTES_MAX / 1024 / 1024} MiB`,
    );
  return bytes;
}

/**
 * How `applySubject` would match a message about a subject about whom none has
 * come before.
 */
async function matchOutcome(
  store: Store,
  { person, content }: InboundMessage,
): Promise<Outcome> {
  if (content.kind === 'merge') return 'merge';
  if (!describesEnough(person)) return 'incomplete';
  const candidates = await store.asSystem(async (tx) => {
    const found = await findCandidates(tx, {
      subjectId: uuidv7(),
      birthDate: person.birthDate,
      zips: zipsOf(person),
    });
    return withShared(tx, found, person);
  });
  const { matches, isAmbiguous } = matchPatients(candidates, person);
  return matches.length > 0
    ? 'matched'
    : isAmbiguous
      ? 'ambiguous'
      : 'unmatched';
}

function localCodes(resource: object): string[] {
  const found = new Set<string>();
  JSON.stringify(resource, (_, value) => {
    if (typeof value?.system === 'string' && LOCAL.test(value.system))
      found.add(`${value.code} ${value.display ?? ''}`.trim());
    return value;
  });
  return [...found];
}

const add = (counts: Map<string, number>, name: string): unknown =>
  counts.set(name, (counts.get(name) ?? 0) + 1);

function count(
  kinds: Map<string, Map<string, number>>,
  kind: string,
  outcome: Outcome,
): void {
  const by = kinds.get(kind) ?? new Map<string, number>();
  kinds.set(kind, by);
  add(by, outcome);
}

function listOf(title: string, counts: ReadonlyMap<string, number>): string[] {
  const all = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  if (all.length === 0) return [];
  return [
    `${title}: ${firstOf(all.map(([name, times]) => `${name} (${times})`))}`,
  ];
}

function firstOf(all: readonly string[]): string {
  const more =
    all.length > LISTED_MAX ? `, and ${all.length - LISTED_MAX} more` : '';
  return `${all.slice(0, LISTED_MAX).join(', ')}${more}`;
}

const REASONS: Readonly<Record<string, string>> = {
  unmatched: 'no patient matches',
  ambiguous: 'several patients of one account match',
  incomplete: 'name, date of birth or zip is missing',
  held: 'its record was another person’s: accept or refuse it',
};
const HEAD = ['message', 'received (UTC)', 'sender', 'kind', 'event', 'reason'];

/**
 * `notifications unmatched`: messages that matched no patient, and so belong to
 * no account. Shows ids, times and reasons only; the messages themselves stay
 * encrypted.
 */
export const listUnmatchedCommand: AdminCommand<[{ count: number }]> = async (
  { store },
  { count },
) => {
  const messages = await store.asSystem(async (tx) => [
    ...(await listHeld(tx, count)),
    ...(await listUnmatched(tx, count)),
  ]);
  const rows = messages.map(
    ({ id, receivedAt, sender, kind, trigger, outcome }) => [
      id,
      utcCell(receivedAt),
      sender,
      kind,
      trigger,
      REASONS[outcome] ?? outcome,
    ],
  );
  return {
    document: { command: 'notifications unmatched', messages },
    ...(rows.length === 0
      ? { lines: ['Every message matched a patient.'] }
      : { table: { head: HEAD, rows } }),
  };
};

/**
 * `notifications accept` and `refuse`: decides on a message under a record that
 * was another person's. `reconcile` applies what was accepted.
 */
export const decideMessageCommand =
  (outcome: 'accepted' | 'refused'): AdminCommand<[string]> =>
  async ({ store }, id) => {
    const isDecided =
      z.uuid().safeParse(id).success &&
      (await store.asSystem((tx) => decideHeld(tx, id, outcome)));
    if (!isDecided)
      throw new AdminError(
        `${id} is no held message; see npm run admin -- notifications unmatched`,
      );
    return {
      document: { command: `notifications ${VERBS[outcome]}`, message: id },
      lines: [
        outcome === 'accepted'
          ? 'Accepted. It is applied within seconds, while a worker runs.'
          : 'Refused. It stays stored, and nothing of it counts.',
      ],
    };
  };
const VERBS = { accepted: 'accept', refused: 'refuse' };
