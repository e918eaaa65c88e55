import {
  type CohortSettings,
  cohortSettingsSchema,
} from '../../contract/cohorts.ts';
import { EXIT } from '../../lib/exit-codes.ts';
import { renderTable } from '../../lib/table.ts';
import { utcCell } from '../../lib/time.ts';
import type { SamplePatient } from '../../local-stack/sample-patients.ts';
import { createSimulatorClient } from '../../local-stack/simulator/client.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import type { SimulatedEvent } from '../input/arguments.ts';
import { findSample } from '../input/patients.ts';
import { patientNames } from '../target/simulated-person.ts';
import { requireStack } from '../target/target.ts';
import type { StarterCommand, StarterCommandOptions } from './command.ts';

export interface NotificationListOptions extends StarterCommandOptions {
  patient?: string;
  count: number;
}

const HEAD = [
  'notification',
  'type',
  'patient',
  'name',
  'happened (UTC)',
  'status',
  'follow-up',
];

/**
 * Lists the account's notifications, without their links: a link gives read
 * access to anyone who has it.
 */
export const notificationsList: StarterCommand<
  [NotificationListOptions]
> = async ({ patient, count }, { target }) => {
  const { answer } = await target.exchange.call('listNotifications', {
    query: { patientId: patient, count },
  });
  const notifications = answer.notifications.map(({ url: _, ...rest }) => rest);
  const ids = notifications.map(({ patientId }) => patientId);
  const names = await patientNames(target.exchange, ids);
  const rows = notifications.map(
    ({ id, type, patientId, occurredAt, status, followUp }) => [
      id,
      type,
      patientId,
      names.get(patientId) ?? '',
      utcCell(occurredAt),
      status,
      followUp?.state ?? '',
    ],
  );
  return {
    lines:
      rows.length === 0 ? ['No notifications found.'] : renderTable(HEAD, rows),
    document: { command: 'notifications list', notifications },
  };
};

interface NotificationSimulateOptions extends StarterCommandOptions {
  visit: string;
  format: 'hl7v2' | 'fhir';
  order: 'as-happened' | 'reversed' | 'shuffled';
  times: number;
}

/**
 * Makes the stack's simulator send notifications to the gateway. Reports the
 * response to each message, and why no webhook follows, if none does. Throws
 * UsageError.
 */
export const notificationsSimulate: StarterCommand<
  [string, readonly SimulatedEvent[], NotificationSimulateOptions]
> = async (sample, events, { visit, format, order, times }, { target }) => {
  const { simulatorUrl, simulatorAdminToken } = requireStack(target).connection;
  const patient = findSample(sample);
  const messages = await createSimulatorClient(
    simulatorUrl,
    simulatorAdminToken,
  ).notify({
    sample,
    visit,
    format,
    events: events.map((event) => ({ event })),
    arrival: { order, times },
  });
  const rows = messages.map((message) => [
    message.event,
    message.format,
    String(message.status),
    message.answer ?? '',
  ]);
  const notes = await whyNoWebhook(target.exchange, patient, events);
  return {
    exitCode: messages.every(({ status }) => status === 200)
      ? EXIT.done
      : EXIT.error,
    lines: [
      ...renderTable(['event', 'format', 'status', 'response'], rows),
      '',
      ...notes,
      SEE_LIST,
    ],
    document: { command: 'notifications simulate', messages, notes },
  };
};

const SEE_LIST =
  'See the notifications of this account with: npm run starter -- notifications list. What they report is in the record a few seconds later: npm run starter -- records <patientId>';

type Monitoring = CohortSettings['monitoring'];

/**
 * The cohort setting that enables webhooks about an event (docs/interface.md,
 * "Notifications").
 */
interface Feature {
  events: string;
  name: string;
  setting: string;
  isEnabled(monitoring: Monitoring): boolean;
}

const ENCOUNTERS: Feature = {
  events: 'encounters',
  name: 'ADT monitoring',
  setting: 'settings.monitoring.adt.enabled',
  isEnabled: ({ adt }) => adt.enabled,
};
const FILLS: Feature = {
  events: 'fills',
  name: 'pharmacy notifications',
  setting: 'settings.monitoring.pharmacy.notifications',
  isEnabled: ({ pharmacy }) => pharmacy.notifications,
};
const RESULTS: Feature = {
  events: 'results',
  name: 'laboratory notifications',
  setting: 'settings.monitoring.laboratory.notifications',
  isEnabled: ({ laboratory }) => laboratory.notifications,
};

const featureOf = (event: SimulatedEvent): Feature =>
  event === 'fill' ? FILLS : event === 'result' ? RESULTS : ENCOUNTERS;

/**
 * Explains why events about a sample patient lead to no webhook: no patient of
 * this account matches, or none of the patient's cohorts has the feature
 * enabled. Returns one line for each reason; none when webhooks follow. Throws
 * ExchangeCallError.
 */
export async function whyNoWebhook(
  exchange: ExchangeClient,
  { key, createBody }: Pick<SamplePatient, 'key' | 'createBody'>,
  events: readonly SimulatedEvent[],
): Promise<string[]> {
  const patientId = await matchedPatient(exchange, createBody);
  if (patientId === undefined)
    return [
      `No webhook follows: no patient of this account matches ${key}. Onboard it first with: npm run starter -- onboard --sample ${key}`,
    ];
  const { answer } = await exchange.call('getPatientCohorts', {
    params: { id: patientId },
  });
  const monitorings = answer.cohorts.flatMap(
    ({ settings }) =>
      cohortSettingsSchema.safeParse(settings).data?.monitoring ?? [],
  );
  return [...new Set(events.map(featureOf))]
    .filter(({ isEnabled }) => !monitorings.some(isEnabled))
    .map(
      ({ events: kind, name, setting }) =>
        `No webhook about ${kind} follows: no cohort of patient ${patientId} has ${name} enabled (${setting}).`,
    );
}

async function matchedPatient(
  exchange: ExchangeClient,
  body: SamplePatient['createBody'],
): Promise<string | undefined> {
  try {
    return (await exchange.call('matchPatient', { body })).answer.id;
  } catch (error) {
    if (error instanceof ExchangeCallError && error.kind === 'not-found')
      return undefined;
    throw error;
  }
}
