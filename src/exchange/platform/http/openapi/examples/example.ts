import type { OperationName } from '../../operation.ts';

/** A request and its answer, as the API reference shows them. A test validates both against the contract's schemas. */
export interface OperationExample {
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | boolean>>;
  body?: object;
  /** Body of the answer; absent for an answer without one. */
  answer?: object;
}

export type OperationExamples<N extends OperationName> = Readonly<Record<N, OperationExample>>;

/** Ids that the examples share, so that they read as one story about one patient. */
export const IDS = {
  account: '01923e9a-11c0-7a52-b7de-0f4c6a8d2e15',
  facility: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403',
  patient: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
  cohort: '01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d',
  bulkCreate: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718',
  networkQuery: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
  consolidatedQuery: '01923ea5-0b9e-7a64-8f12-334455667788',
  resource: '7b1e5c3a-9d42-8f60-a1b2-0c9d8e7f6a5b',
  document: '01923ea3-6f50-7b81-9c0d-1e2f3a4b5c6d',
  identity: '01923ea7-2d3e-7f5a-8b6c-7d8e9fa0b1c2',
  challenge: '01923ea7-9a4b-7c6d-8e7f-90a1b2c3d4e5',
  message: '01923ea8-4b5c-7d6e-9f70-8192a3b4c5d6',
  notification: '01923ea9-5c6d-7e7f-8091-a2b3c4d5e6f7',
  webhook: '01923eaa-6d7e-7f80-91a2-b3c4d5e6f708',
  possibleDuplicate: '01923eac-8f90-7a12-b3c4-e5f60718293a',
  otherPatient: '01923e9d-7c15-7a2b-9d33-4a6b0c8e1f72',
  consent: '01923ead-90a1-7b23-84d5-f60718293a4b',
  event: '01923eab-7e8f-7091-a2b3-c4d5e6f70819',
} as const;

export const AT = '2026-11-21T15:04:05.000Z';

/** An expiring link of the service, shortened. */
export const link = (kind: string): string => `https://exchange.example.org/links/${kind}/AaICCIpDdh6oNC66`;

/** `meta` of a list with one item. */
export const ONE_ITEM = { itemsOnPage: 1, itemsInTotal: 1 };
