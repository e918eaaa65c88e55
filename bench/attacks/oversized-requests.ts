import { newPerson } from '../../test/faults/models/world.ts';
import { callGateway } from '../../test/support/stack.ts';
import { type Attack, gatewayCpu, slowestHealth } from './attack.ts';

const BOMB = {
  ...newPerson(),
  address: Array.from({ length: 85_000 }, () => ({})),
};
const LIST_MAX = 100;

/**
 * 340,007 errors in an answer of 36 MB, once; 40 at a time stopped `/health`
 * for minutes.
 */
export const emptyEntries: Attack = {
  name: '255 kB of {} in a list, with a read-only key; 40 of them at once',
  async run(target) {
    const { stack } = target;
    const reader = await stack.addAccount();
    await stack.rows(
      `update api_key set scopes = '{read}' where account_id = $1`,
      [reader.accountId],
    );
    const send = () =>
      callGateway(stack.connection, reader, 'POST', 'patient/match', {
        body: BOMB,
        timeoutMs: 60_000,
      });
    const [one, cpu] = await gatewayCpu(target, send);
    const bytes = JSON.stringify(one.body).length;
    const statuses = new Set<number>();
    const many = () =>
      Promise.all(
        Array.from({ length: 40 }, async () =>
          statuses.add((await send()).status),
        ),
      );
    const [health, allCpu] = await gatewayCpu(target, () =>
      slowestHealth(target, many()),
    );
    return {
      seen: `${one.status}, ${bytes} bytes, ${cpu}; 40: ${[...statuses].join(', ')}, ${allCpu}, slowest /health ${health}`,
      holds: one.status === 400 && bytes < 10_000 && statuses.size === 1,
    };
  },
};

export const growingPatient: Attack = {
  name: '12 creates of one patient, each with ten new addresses',
  async run({ stack: { connection }, account }) {
    const person = newPerson();
    const statuses: number[] = [];
    let id = '';
    for (let round = 0; round < 12; round += 1) {
      const address = Array.from({ length: 10 }, (_, number) => ({
        addressLine1: `${round * 10 + number + 1} Long Street`,
        city: 'Boston',
        state: 'MA',
        zip: '02108',
      }));
      const path = `patient?facilityId=${account.facilityId}`;
      const body = { ...person, address };
      const answer = await callGateway(connection, account, 'POST', path, {
        body,
      });
      statuses.push(answer.status);
      id = answer.body.id ?? id;
    }
    const { body } = await callGateway(
      connection,
      account,
      'GET',
      `patient/${id}`,
    );
    return {
      seen: `${statuses.join(', ')}; ${body.address.length} addresses are stored`,
      holds: body.address.length <= LIST_MAX && statuses.at(-1) === 400,
    };
  },
};
