import type { z } from 'zod';
import type { Endpoint } from '../../../contract/endpoint.ts';
import type { endpoints } from '../../../contract/endpoints.ts';
import type { AccountTx } from '../database/database.ts';
import type { Caller } from './caller.ts';

export type Endpoints = typeof endpoints;
export type OperationName = keyof Endpoints;

type Part<E, K extends keyof Endpoint> = E extends {
  [P in K]: infer S extends z.ZodType;
}
  ? z.output<S>
  : undefined;

/** A request that passed authentication, limits and validation. */
export interface OperationRequest<E extends Endpoint = Endpoint> {
  params: Part<E, 'params'>;
  query: Part<E, 'query'>;
  headers: Part<E, 'headers'>;
  body: Part<E, 'body'>;
  caller: Caller;
}

type Responses<R> = {
  [S in keyof R]: {
    status: S;
    body: R[S] extends z.ZodType ? z.input<R[S]> : undefined;
  };
}[keyof R];

/** Parts of a response other than status and body. */
export interface ResponseExtras {
  headers?: Record<string, string>;
  /**
   * Patient and object of the audit entry; default: those in the path or query.
   */
  patientId?: string;
  /**
   * Further patients that a read shows; each gets an audit entry of its own.
   */
  otherPatientIds?: readonly string[];
  targetId?: string;
  /** Called after the transaction has committed. Must not throw. */
  afterCommit?: () => void;
}

/** The response of any operation. */
export interface AnyResponse extends ResponseExtras {
  status: number;
  body: unknown;
}

export const ok = <B>(body: B, extras: ResponseExtras = {}) => ({
  ...extras,
  status: 200 as const,
  body,
});
export const created = <B>(body: B, extras: ResponseExtras = {}) => ({
  ...extras,
  status: 201 as const,
  body,
});

export const noContent = (extras: ResponseExtras = {}) => ({
  ...extras,
  status: 204 as const,
  body: undefined,
});

export type OperationResponse<E extends Endpoint> = Responses<E['responses']> &
  AnyResponse;

/** Runs inside the account's transaction, which is rolled back if it throws. */
export type TransactionHandler<N extends OperationName> = (
  tx: AccountTx,
  request: OperationRequest<Endpoints[N]>,
) => Promise<OperationResponse<Endpoints[N]>>;

/** Runs outside a transaction, because it waits for an external call. */
export type ActionHandler<N extends OperationName> = (
  request: OperationRequest<Endpoints[N]>,
) => Promise<OperationResponse<Endpoints[N]>>;
