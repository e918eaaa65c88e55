import { randomUUID } from 'node:crypto';
import {
  type CohortResponse,
  cohortSettingsSchema,
} from '../../contract/cohorts.ts';
import { renderTable } from '../../lib/table.ts';
import type { CohortSummary } from '../../orchestrator/client/responses.ts';
import type { CommandResult } from '../terminal.ts';
import type { StarterCommand, StarterCommandOptions } from './command.ts';
import { fullName } from './patients.ts';

export type Frequency = 'weekly' | 'biweekly' | 'monthly';

export interface CohortCreateOptions extends StarterCommandOptions {
  description?: string;
  color?: CohortResponse['color'];
  purpose?: CohortResponse['purposeOfUse'];
  /** Notifications of encounters. */
  adt?: boolean;
  fills?: boolean;
  results?: boolean;
  /** How often the hie source is queried for every patient. */
  hie?: Frequency;
}

export interface CohortShowOptions extends StarterCommandOptions {
  count: number;
}

const HEAD = ['cohort', 'name', 'patients', 'purpose', 'monitoring'];

export const cohortsList: StarterCommand<[StarterCommandOptions]> = async (
  _options,
  { target },
) => {
  const { answer } = await target.exchange.call('listCohorts', {});
  return {
    lines:
      answer.cohorts.length === 0
        ? [
            'No cohorts found. Create one with: npm run starter -- cohorts create <name>',
          ]
        : renderTable(HEAD, answer.cohorts.map(cohortRow)),
    document: { command: 'cohorts list', cohorts: answer.cohorts },
  };
};

const cohortRow = (cohort: CohortSummary): string[] => [
  cohort.id,
  cohort.name,
  String(cohort.size ?? ''),
  cohort.purposeOfUse ?? '',
  monitoringOf(cohort),
];

/** The enabled monitoring in words: `hie weekly, adt`. */
function monitoringOf({ settings }: CohortSummary): string {
  const known = cohortSettingsSchema.safeParse(settings ?? {});
  if (!known.success) return 'unknown';
  const { hie, adt, pharmacy, laboratory } = known.data.monitoring;
  const parts = [
    hie.enabled && `hie ${hie.frequency}`,
    adt.enabled && 'adt',
    pharmacy.schedule.enabled && `pharmacy ${pharmacy.schedule.frequency}`,
    pharmacy.notifications && 'fills',
    laboratory.notifications && 'lab results',
  ];
  return parts.filter(Boolean).join(', ') || 'off';
}

export const cohortsCreate: StarterCommand<
  [string, CohortCreateOptions]
> = async (
  name,
  { description, color, purpose, adt, fills, results, hie },
  { target },
) => {
  const monitoring = {
    ...(adt === true && { adt: { enabled: true } }),
    ...(fills === true && { pharmacy: { notifications: true } }),
    ...(results === true && { laboratory: { notifications: true } }),
    ...(hie !== undefined && { hie: { enabled: true, frequency: hie } }),
  };
  const { answer: cohort } = await target.exchange.call(
    'createCohort',
    {
      body: {
        name,
        description,
        color,
        purposeOfUse: purpose,
        settings: { monitoring },
      },
    },
    { idempotencyKey: randomUUID() },
  );
  return {
    lines: [
      ...renderTable(HEAD, [cohortRow(cohort)]),
      '',
      `Add patients with: npm run starter -- cohorts add ${cohort.id} <patientId>…`,
    ],
    document: { command: 'cohorts create', cohort },
  };
};

export const cohortsShow: StarterCommand<[string, CohortShowOptions]> = async (
  id,
  { count },
  { target },
) => {
  const { exchange } = target;
  const [{ answer: cohort }, { answer: members }] = await Promise.all([
    exchange.call('getCohort', { params: { id } }),
    exchange.call('listCohortPatients', { params: { id }, query: { count } }),
  ]);
  const rows = members.patients.map((patient) => [
    patient.id,
    fullName(patient),
    patient.dob ?? '',
    patient.externalId ?? '',
  ]);
  const more = (cohort.size ?? 0) - rows.length;
  return {
    lines: [
      ...renderTable(HEAD, [cohortRow(cohort)]),
      '',
      ...(rows.length === 0
        ? [
            `No patients in it. Add some with: npm run starter -- cohorts add ${id} <patientId>…`,
          ]
        : renderTable(['patient', 'name', 'born', 'external id'], rows)),
      ...(more > 0
        ? [`${more} more patients; raise --count to list them.`]
        : []),
    ],
    document: { command: 'cohorts show', cohort, patients: members.patients },
  };
};

export const cohortsAdd: StarterCommand<
  [string, string[], StarterCommandOptions]
> = async (id, patientIds, _options, { target }) => {
  const { answer } = await target.exchange.call(
    'addPatientsToCohort',
    { params: { id }, body: { patientIds } },
    { idempotencyKey: randomUUID() },
  );
  return changed('cohorts add', answer);
};

export const cohortsRemove: StarterCommand<
  [string, string[], StarterCommandOptions]
> = async (id, patientIds, _options, { target }) => {
  const { answer } = await target.exchange.call('removePatientsFromCohort', {
    params: { id },
    body: { patientIds },
  });
  return changed('cohorts remove', answer);
};

const changed = (
  command: string,
  { message, cohort }: { message?: string | null; cohort: CohortSummary },
): CommandResult => ({
  lines: [
    `${message ?? 'Done'}.`,
    '',
    ...renderTable(HEAD, [cohortRow(cohort)]),
  ],
  document: { command, message, cohort },
});
