import { v7 as uuidv7 } from 'uuid';
import type { possibleDuplicateEndpoints } from '../../../../src/contract/possible-duplicates.ts';
import { badPages, badQuery, type OperationCases } from '../operation-cases.ts';
import type { World } from '../world.ts';

/** A pair of two new patients, or of the given one and a new one. */
export async function possibleDuplicate(
  { make, inAccount, account }: World,
  patient?: string,
): Promise<string> {
  const [first = '', second = ''] = [
    patient ?? (await make.patient()),
    await make.patient(),
  ].sort();
  const id = uuidv7();
  await inAccount((tx) =>
    tx.db
      .insertInto('possible_duplicate')
      .values({
        id,
        account_id: account.accountId,
        patient_id: first,
        other_patient_id: second,
        grade: 'possible',
        score: 0.5,
        agrees: ['dob', 'zip'],
        rules_version: 1,
      })
      .execute(),
  );
  return id;
}

const aimed = async (world: World) => ({
  params: { id: await possibleDuplicate(world) },
});
const decisions = (status: 'accepted' | 'refused'): OperationCases => ({
  good: aimed,
  more: [
    {
      what: 'the same decision again',
      status: 200,
      send: async (world) => {
        const sent = await aimed(world);
        await world.make.call(
          'POST',
          `possible-duplicate/${sent.params.id}/${status === 'accepted' ? 'accept' : 'refuse'}`,
        );
        return sent;
      },
      has: { status },
    },
    {
      what: 'the opposite of an earlier decision',
      status: 200,
      send: async (world) => {
        const sent = await aimed(world);
        await world.make.call(
          'POST',
          `possible-duplicate/${sent.params.id}/${status === 'accepted' ? 'refuse' : 'accept'}`,
        );
        return sent;
      },
      has: { status },
    },
  ],
});

export const possibleDuplicateCases: Record<
  keyof typeof possibleDuplicateEndpoints,
  OperationCases
> = {
  listPossibleDuplicates: {
    good: () => ({ query: { status: 'open' } }),
    refused: [
      badQuery({ status: 'closed' }, 'status', ''),
      badQuery({ patientId: 'x' }, 'patientId', 'expected a UUID'),
      ...badPages(),
    ],
  },
  getPossibleDuplicate: { good: aimed },
  acceptPossibleDuplicate: decisions('accepted'),
  refusePossibleDuplicate: decisions('refused'),
};
