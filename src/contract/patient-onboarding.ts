import type { Metadata, NetworkQueryRequestInput } from './network-query.ts';
import type { CreatePatientInput } from './patients.ts';
import type { SourceType } from './primitives.ts';

/**
 * Messages and types of the workflow `patientOnboarding`, shared with the
 * starters and the webhook receiver; this file must not import workflow code.
 * The workflow id is `patientOnboardingWorkflowId(orchestrationId)`.
 */
export const PATIENT_ONBOARDING_MESSAGES = {
  /**
   * Signal: a verified webhook reported that one source of a query has ended.
   */
  networkQueryEvent: 'networkQueryEvent',
  /** Signal: the EHR or form sent the same intake again. */
  intakeReceived: 'intakeReceived',
  /**
   * Signal: the person's identity is verified (from the verified webhook
   * `ias.identity.verified`).
   */
  identityVerified: 'identityVerified',
  /**
   * Signal: the person has authenticated with two factors; carries the session
   * id from the redirect URL.
   */
  aal2Confirmed: 'aal2Confirmed',
  /**
   * Signal: the person's browser returned from a page of the identity partner
   * (`PersonReturnedSignal`). Only a hint.
   */
  personReturned: 'personReturned',
  /** Query: a snapshot, `PatientOnboardingStatus`. */
  status: 'status',
} as const;

/**
 * Reference to a credential that the worker holds; never the credential itself.
 */
export interface ExchangeAccess {
  /**
   * `account/<account id>` for our own exchange, or `api-key` for the
   * configured other service.
   */
  credentialRef: string;
}
/** Access with the worker's API key (EXCHANGE_API_KEY). */
export const API_KEY_ACCESS: ExchangeAccess = { credentialRef: 'api-key' };

export type OnboardedPatient = Omit<
  CreatePatientInput,
  'networkQuery' | 'cohorts'
>;

/**
 * Polling intervals and deadline of the orchestration;
 * `DEFAULT_ONBOARDING_TIMING` is written into each new input.
 */
export interface OnboardingTiming {
  /**
   * Delay before the first poll for the query's status if no webhook arrives;
   * doubles with each poll.
   */
  pollFirstMs: number;
  pollMaxMs: number;
  /** Delay before rate-limited sources are queried again; doubles each time. */
  restartFirstMs: number;
  restartsMax: number;
  /** Time after which sources that are still open are given up. */
  deadlineMs: number;
}

export const DEFAULT_ONBOARDING_TIMING: OnboardingTiming = {
  pollFirstMs: 30_000,
  pollMaxMs: 15 * 60_000,
  restartFirstMs: 30_000,
  restartsMax: 5,
  deadlineMs: 35 * 24 * 3_600_000,
};

/**
 * Individual access: patients request their own records and verify their
 * identity before a source is queried.
 */
export interface IdentityRequest {
  /**
   * URL to which the person's browser is redirected after each of the two
   * pages.
   */
  redirectUrl: string;
}

export interface PatientOnboardingInput {
  /**
   * Opaque id. It is put into the query's metadata, by which webhooks are
   * assigned to this workflow.
   */
  orchestrationId: string;
  exchange: ExchangeAccess;
  facilityId: string;
  patient: OnboardedPatient;
  cohortIds?: string[];
  sources: NetworkQueryRequestInput['sources'];
  /** If present, the purpose of the query is `ias`, otherwise `treatment`. */
  ias?: IdentityRequest;
  /**
   * The caller's own metadata; one of the 50 allowed entries is used for the
   * orchestration id.
   */
  metadata?: Metadata;
  /**
   * What is left out is as in `DEFAULT_ONBOARDING_TIMING`. Our starters state
   * all of it, so that a new default applies to new workflows only.
   */
  timing?: Partial<OnboardingTiming>;
  /**
   * The run that creates the person's patient needs no marker to go on in
   * another one; absent in what 0.2.0 or earlier has started.
   */
  forgetsPerson?: true;
}

/**
 * The members of a webhook `network-query.<source>` that the orchestration
 * needs.
 */
export interface NetworkQuerySignal {
  messageId: string;
  requestId: string;
  /**
   * Patient of the event; an onboarding ignores events about another patient.
   */
  patientId?: string;
  source: SourceType;
  status: 'completed' | 'failed';
  completedAt: string;
  consolidatedDataUrl?: string;
}

export interface IdentityVerifiedSignal {
  proofedIdentityId: string;
  /** As in `NetworkQuerySignal`. */
  patientId?: string;
}

export interface Aal2ConfirmedSignal {
  aal2SessionId: string;
}

/**
 * Query parameters of the person's return. They are used only if the exchange
 * cannot confirm them.
 */
export interface PersonReturnedSignal {
  aal2SessionId?: string;
}

export interface IntakeSignal {
  messageId: string;
}

/** How the orchestration learned the outcome of a source. */
export type LearnedBy = 'webhook' | 'poll';

export interface PatientOnboardingStatus {
  phase:
    | 'creating-patient'
    | 'assigning-cohorts'
    | 'proving-identity'
    | 'querying'
    | 'cancelling'
    | 'ended';
  patientId?: string;
  /** False if the demographics matched an existing patient. */
  created?: boolean;
  cohorts: string[];
  requestIds: string[];
  sources: {
    type: SourceType;
    /** `limited`: rate limited; will be queried again. */
    state:
      | 'to-start'
      | 'limited'
      | 'running'
      | 'completed'
      | 'failed'
      | 'not-started'
      | 'timed-out';
    requestId?: string;
    via?: LearnedBy;
  }[];
  /**
   * Individual access only: the page that the person has to open next, and when
   * its URL expires.
   */
  identity?: {
    state: 'to-verify' | 'to-confirm' | 'confirmed';
    url?: string;
    expiresAt?: string;
  };
  webhooksReceived: number;
  polls: number;
  intakes: number;
  nextPollAt?: string;
  nextStartAt?: string;
  deadlineAt: string;
  /** The last problem that the workflow is waiting to pass. */
  problem?: string;
}

export interface OnboardedSource {
  type: SourceType;
  /**
   * `not-started`: refused, or rate limited until the restarts were used up.
   * `timed-out`: still running at the deadline.
   */
  outcome: 'completed' | 'failed' | 'not-started' | 'timed-out';
  /** The source's attempts in the query that ran it. */
  attempts: number;
  /**
   * Number of queries started for this source; more than one after a rate
   * limit.
   */
  starts: number;
  via?: LearnedBy;
  completedAt?: string;
  error?: string;
}

export interface PatientOnboardingSummary {
  patientId: string;
  created: boolean;
  cohorts: string[];
  requestIds: string[];
  status: 'completed' | 'partial' | 'failed';
  sources: OnboardedSource[];
  /** From the latest webhook; it expires. */
  consolidatedDataUrl?: string;
  /**
   * File names for E14, newest first. No links, because they are valid for one
   * minute only.
   */
  documents?: { total: number; fileNames: string[] };
  webhooksReceived: number;
}
