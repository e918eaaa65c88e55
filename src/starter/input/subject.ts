import { z } from 'zod';
import { parseNetworkQueryWorkflowId, patientOnboardingWorkflowId } from '../../contract/temporal.ts';

export const SUBJECT_KINDS = ['query', 'onboarding'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

/** What an id on the command line refers to. `query-or-onboarding`: a request id, else the user's own job id. */
export interface Subject {
  kind: SubjectKind | 'query-or-onboarding';
  /** Request id of the query; job id or workflow id of the onboarding. */
  id: string;
}

/**
 * Parses a request id, a job id, or the workflow id of a query or an onboarding. Only text that looks like a request id
 * is sent to the exchange: a job id may contain a medical record number, and request paths are logged.
 */
export function parseSubject(text: string, kind?: SubjectKind): Subject {
  const workflow = parseNetworkQueryWorkflowId(text);
  if (workflow !== undefined) return { kind: 'query', id: workflow.requestId };
  if (kind !== undefined) return { kind, id: text };
  if (text.startsWith(patientOnboardingWorkflowId(''))) return { kind: 'onboarding', id: text };
  return { kind: z.guid().safeParse(text).success ? 'query-or-onboarding' : 'onboarding', id: text };
}
