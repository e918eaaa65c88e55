import type { embedTokenEndpoints } from '../../../../src/contract/embed.ts';
import { badBody, type OperationCases } from '../operation-cases.ts';

const seconds = (expirationInSeconds: unknown, message: string) =>
  badBody({ expirationInSeconds }, 'expirationInSeconds', message);

export const embedTokenCases: Record<
  keyof typeof embedTokenEndpoints,
  OperationCases
> = {
  createEmbedToken: {
    good: () => ({ body: { expirationInSeconds: 36_000 } }),
    more: [{ what: 'no body', status: 200, send: () => ({}) }],
    refused: [
      seconds(36_001, 'at most 36000'),
      seconds(0, 'at least 1'),
      seconds('60', 'must be a number of seconds'),
      seconds(null, 'must be a number of seconds'),
    ],
  },
};
