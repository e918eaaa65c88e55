import { type CohortSettings, cohortSettingsSchema } from '../../contract/cohorts.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import type { SamplePatient } from '../../simulator/samples.ts';
import type { SimulatedEvent } from '../input/simulated-events.ts';

type Monitoring = CohortSettings['monitoring'];

/** The cohort setting that enables webhooks about an event (docs/interface.md, "Notifications"). */
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
 * Explains why events about a sample patient lead to no webhook: no patient of this account matches, or none of the
 * patient's cohorts has the feature enabled. Returns one line for each reason; none when webhooks follow.
 * Throws ExchangeCallError.
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
  const { answer } = await exchange.call('getPatientCohorts', { params: { id: patientId } });
  const monitorings = answer.cohorts.flatMap(
    ({ settings }) => cohortSettingsSchema.safeParse(settings).data?.monitoring ?? [],
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
    if (error instanceof ExchangeCallError && error.kind === 'not-found') return undefined;
    throw error;
  }
}
