import type { healthLinkEndpoints } from '../../../../src/contract/health-links.ts';
import { badBody, NO_ID, type OperationCases } from '../operation-cases.ts';
import type { World } from '../world.ts';

const linked = async ({ make }: World) => {
  const id = await make.patient();
  const { id: healthLinkId } = await make.call(
    'POST',
    `patient/${id}/health-link`,
    {},
  );
  return { params: { id, healthLinkId } };
};

export const healthLinkCases: Record<
  keyof typeof healthLinkEndpoints,
  OperationCases
> = {
  createHealthLink: {
    good: async ({ make }) => ({
      params: { id: await make.patient() },
      body: {
        expirationInSeconds: 600,
        passcode: 'tulip-43',
        label: 'A label',
      },
    }),
    more: [
      {
        what: 'no body',
        status: 201,
        send: async ({ make }) => ({ params: { id: await make.patient() } }),
      },
    ],
    refused: [
      badBody(
        { expirationInSeconds: 31_536_001 },
        'expirationInSeconds',
        'at most 31536000, which is a year',
      ),
      badBody({ expirationInSeconds: 0 }, 'expirationInSeconds', 'at least 1'),
      badBody(
        { expirationInSeconds: '60' },
        'expirationInSeconds',
        'must be a whole number of seconds',
      ),
      badBody(
        { passcode: '12345' },
        'passcode',
        'must have at least 6 characters',
      ),
    ],
  },
  listHealthLinks: {
    good: async (world) => ({
      params: { id: (await linked(world)).params.id },
    }),
  },
  revokeHealthLink: {
    good: linked,
    refused: [
      {
        what: 'a link of another patient',
        status: 404,
        send: async (world) => {
          const { params } = await linked(world);
          return { params: { ...params, id: await world.make.patient() } };
        },
        message: 'Health link not found',
      },
      {
        what: 'a link that does not exist',
        status: 404,
        send: (_, good) => ({
          params: { ...good.params, healthLinkId: NO_ID },
        }),
        message: 'Health link not found',
      },
    ],
  },
};
