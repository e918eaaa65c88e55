import { renderTable } from '../../lib/table.ts';
import { utcCell } from '../../lib/time.ts';
import type { StarterCommand, StarterCommandOptions } from './command.ts';

export interface PatientListOptions extends StarterCommandOptions {
  count: number;
}

const HEAD = ['patient', 'name', 'born', 'sex', 'external id', 'created'];
/** How many of the patient's queries `patients show` lists. */
const QUERIES_SHOWN = 10;

/**
 * Lists the account's patients, newest first; with `words`, those in whose data
 * all of the words occur.
 */
export const patientsList: StarterCommand<
  [readonly string[], PatientListOptions]
> = async (words, { count }, { target }) => {
  const filters = words.length === 0 ? undefined : words.join(' ');
  const { answer } = await target.exchange.call('listPatients', {
    query: { filters, count },
  });
  const { patients, meta } = answer;
  return {
    lines:
      patients.length === 0
        ? [
            `No patients found${filters === undefined ? '' : ` with ${filters}`}.`,
          ]
        : [
            ...renderTable(HEAD, patients.map(patientRow)),
            ...moreLines(
              meta,
              patients.length,
              'narrow the search, or raise --count',
            ),
          ],
    document: { command: 'patients list', patients, total: meta.itemsInTotal },
  };
};

/**
 * Says that a list has more items than are shown, and how to see them; nothing
 * where it has not.
 */
export function moreLines(
  {
    itemsInTotal,
    itemsInTotalIsMinimum,
  }: { itemsInTotal?: number | null; itemsInTotalIsMinimum?: boolean | null },
  shown: number,
  hint: string,
): string[] {
  const more = (itemsInTotal ?? shown) - shown;
  if (more <= 0) return [];
  return [
    '',
    `${itemsInTotalIsMinimum === true ? 'More than ' : ''}${more} more; ${hint}.`,
  ];
}

interface ShownPatient {
  id: string;
  externalId?: string | null;
  firstName?: string | string[] | null;
  lastName?: string | string[] | null;
  dob?: string | null;
  genderAtBirth?: string | null;
  createdAt?: string | null;
}

/** Row of a table of patients, as `HEAD` names its columns. */
const patientRow = (patient: ShownPatient): string[] => [
  patient.id,
  fullName(patient),
  patient.dob ?? '',
  patient.genderAtBirth ?? '',
  patient.externalId ?? '',
  patient.createdAt?.slice(0, 10) ?? '',
];

export const fullName = ({
  firstName,
  lastName,
}: Pick<ShownPatient, 'firstName' | 'lastName'>): string =>
  [firstName ?? [], lastName ?? []].flat().join(' ');

/**
 * Shows one patient with cohorts and latest queries, and the commands that take
 * its id.
 */
export const patientsShow: StarterCommand<
  [string, StarterCommandOptions]
> = async (id, _options, { target }) => {
  const { exchange } = target;
  const [{ answer: patient }, { answer: memberships }, { answer: asked }] =
    await Promise.all([
      exchange.call('getPatient', { params: { id } }),
      exchange.call('getPatientCohorts', { params: { id } }),
      exchange.call('listNetworkQueries', {
        query: { patientId: id, count: QUERIES_SHOWN },
      }),
    ]);
  const { cohorts } = memberships;
  const { queries } = asked;
  return {
    lines: [
      ...renderTable(HEAD, [patientRow(patient)]),
      '',
      cohorts.length === 0
        ? `In no cohort. Add to one with: npm run starter -- cohorts add <cohortId> ${id}`
        : `Cohorts: ${cohorts.map(({ name, id: cohortId }) => `${name} (${cohortId})`).join(', ')}`,
      '',
      ...(queries.length === 0
        ? [`No queries yet. Start one with: npm run starter -- query ${id}`]
        : renderTable(
            ['query', 'started (UTC)', 'status', 'sources'],
            queries.map(({ requestId, startedAt, status, sources }) => [
              requestId,
              utcCell(startedAt),
              status,
              // The last attempt at each source decides.
              [
                ...new Map(
                  sources?.map((source) => [source.type, source.status]),
                ),
              ]
                .map((source) => source.join(' '))
                .join(', '),
            ]),
          )),
    ],
    document: { command: 'patients show', patient, cohorts, queries },
  };
};
