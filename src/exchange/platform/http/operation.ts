import type { z } from 'zod';
import type { Endpoint } from '../../../contract/endpoint.ts';
import type { endpoints } from '../../../contract/endpoints.ts';
import type { AccountTx } from '../database/database.ts';
import { NotFoundError } from '../errors.ts';
import type { Caller } from './plugins/auth.ts';

export type Endpoints = typeof endpoints;
export type OperationName = keyof Endpoints;

type Part<E, K extends keyof Endpoint> = E extends { [P in K]: infer S extends z.ZodType }
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

type Answers<R> = {
  [S in keyof R]: {
    status: S;
    body: R[S] extends z.ZodType ? z.input<R[S]> : undefined;
  };
}[keyof R];

/** What goes with an answer. */
export interface ResponseExtras {
  headers?: Record<string, string>;
  /** Whom and what the audit names. */
  patientId?: string;
  targetId?: string;
  /** Runs once the change is committed, and only then. Must not throw. */
  afterCommit?: () => void;
}

/** An answer of any operation, as the plumbing handles it. */
export interface AnyResponse extends ResponseExtras {
  status: number;
  body: unknown;
}

export const ok = <B>(body: B, extras: ResponseExtras = {}) => ({ ...extras, status: 200 as const, body });
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

/** Throws NotFoundError when there is none, or another account's. `what` starts the sentence. */
export function orNotFound<T>(what: string, thing: T | undefined): T {
  if (thing === undefined) throw new NotFoundError(what);
  return thing;
}

export type OperationResponse<E extends Endpoint> = Answers<E['responses']> & AnyResponse;

/** Runs inside the account's transaction: what it throws undoes everything. */
export type TransactionHandler<N extends OperationName> = (
  tx: AccountTx,
  request: OperationRequest<Endpoints[N]>,
) => Promise<OperationResponse<Endpoints[N]>>;

/** Runs outside of any transaction, because it waits for somebody else. */
export type ActionHandler<N extends OperationName> = (
  request: OperationRequest<Endpoints[N]>,
) => Promise<OperationResponse<Endpoints[N]>>;
