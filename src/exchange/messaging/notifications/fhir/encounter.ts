import type { EncounterEvent, Transfer } from '../rules/encounter-event.ts';
import { type BundleContents, toInstant } from './contents.ts';
import type { Read } from './schemas.ts';

const PHASES: Readonly<Record<string, EncounterEvent['phase']>> = {
  arrived: 'open',
  triaged: 'open',
  'in-progress': 'open',
  onleave: 'open',
  finished: 'ended',
  cancelled: 'cancelled',
  'entered-in-error': 'cancelled',
};

/** An Encounter as an event that describes the whole encounter (`snapshot`). A planned Encounter is only an `update`. */
export function encounterEvent(
  encounter: Read<'Encounter'>,
  contents: BundleContents,
): Omit<EncounterEvent, 'messageKey' | 'arrival' | 'recordedAt' | 'sentAt'> {
  const phase = PHASES[encounter.status];
  const stays = (encounter.location ?? [])
    .map(({ location, period }) => ({
      name: location?.display ?? contents.resolve('Location', location?.reference)?.name,
      from: toInstant(period?.start),
    }))
    .sort((a, b) => ((a.from ?? '') < (b.from ?? '') ? -1 : 1));
  const disposition = encounter.hospitalization?.dischargeDisposition;
  return {
    trigger: phase === undefined ? 'update' : 'snapshot',
    phase,
    admittedAt: toInstant(encounter.period?.start),
    dischargedAt: toInstant(encounter.period?.end),
    encounterClass: encounter.class?.code,
    location: stays.at(-1)?.name,
    disposition: disposition?.coding?.[0]?.code ?? disposition?.text,
    transfers: encounter.location && transfersOf(stays),
  };
}

interface Stay {
  name?: string;
  from?: string;
}

/** A transfer for each stay after the first whose start is known. */
const transfersOf = (stays: readonly Stay[]): Transfer[] =>
  stays.flatMap((stay, index) =>
    index === 0 || stay.from === undefined
      ? []
      : [{ at: stay.from, from: stays[index - 1]?.name, to: stay.name }],
  );
