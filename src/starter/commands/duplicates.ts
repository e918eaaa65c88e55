import { randomUUID } from 'node:crypto';
import { renderTable } from '../../lib/table.ts';
import type { StarterCommand, StarterCommandOptions } from './command.ts';
import { fullName, moreLines } from './patients.ts';

export interface DuplicateListOptions extends StarterCommandOptions {
  all?: boolean;
  patient?: string;
  count: number;
}

/** Lists pairs of patients that may be one person. */
export const duplicatesList: StarterCommand<[DuplicateListOptions]> = async (
  { all, patient, count },
  { target },
) => {
  const { answer } = await target.exchange.call('listPossibleDuplicates', {
    query: {
      ...(all === true ? {} : { status: 'open' }),
      patientId: patient,
      count,
    },
  });
  const { possibleDuplicates, meta } = answer;
  const rows = possibleDuplicates.map(
    ({ id, grade, score, status, patientIds, agrees }) => [
      id,
      grade,
      String(score),
      status,
      ...patientIds,
      agrees.join(' '),
    ],
  );
  return {
    lines:
      rows.length === 0
        ? ['No possible duplicates.']
        : [
            ...renderTable(
              [
                'pair',
                'grade',
                'score',
                'status',
                'patient',
                'patient',
                'agrees',
              ],
              rows,
            ),
            ...moreLines(meta, possibleDuplicates.length, 'raise --count'),
          ],
    document: {
      command: 'duplicates list',
      possibleDuplicates,
      total: meta.itemsInTotal,
    },
  };
};

/** Shows the two patients of a pair side by side. */
export const duplicatesShow: StarterCommand<
  [string, StarterCommandOptions]
> = async (id, _options, { target }) => {
  const { answer } = await target.exchange.call('getPossibleDuplicate', {
    params: { id },
  });
  const { patients, grade, score, status } = answer;
  const sideBySide = (
    what: string,
    show: (patient: (typeof patients)[number]) => string,
  ) => [what, ...patients.map(show)];
  const rows = [
    sideBySide('patient', (patient) => patient.id),
    sideBySide('name', fullName),
    sideBySide('born', ({ dob }) => dob),
    sideBySide('sex', ({ genderAtBirth }) => genderAtBirth),
    sideBySide('address', ({ address }) =>
      address
        .map(({ addressLine1, city, zip }) => `${addressLine1}, ${city} ${zip}`)
        .join('; '),
    ),
    sideBySide('contact', ({ contact }) =>
      contact
        .flatMap(({ phone, email }) => [phone, email])
        .filter(Boolean)
        .join(', '),
    ),
    sideBySide('identifiers', ({ personalIdentifiers }) =>
      personalIdentifiers
        .map(({ type, value }) => `${type} ${value}`)
        .join(', '),
    ),
    sideBySide('external id', ({ externalId }) => externalId ?? ''),
    sideBySide('created', ({ createdAt }) => createdAt?.slice(0, 10) ?? ''),
  ];
  return {
    lines: [
      ...renderTable(['', 'first', 'second'], rows),
      '',
      `${grade}, score ${score}, ${status}. Decide with: npm run starter -- duplicates accept ${id}   (or refuse)`,
    ],
    document: { command: 'duplicates show', possibleDuplicate: answer },
  };
};

/** Records a decision about a pair. */
export const duplicatesDecide: StarterCommand<
  [string, 'accept' | 'refuse']
> = async (id, decision, { target }) => {
  const { answer } = await target.exchange.call(
    decision === 'accept'
      ? 'acceptPossibleDuplicate'
      : 'refusePossibleDuplicate',
    { params: { id } },
    { idempotencyKey: randomUUID() },
  );
  return {
    lines: [`${answer.message}.`],
    document: { command: `duplicates ${decision}`, possibleDuplicate: answer },
  };
};
