import type { Metadata, NetworkQueryRequestInput } from './network-query.ts';
import type { CreatePatientInput } from './patients.ts';
import type { SourceType } from './primitives.ts';

/**
 * What starters, the webhook receiver and the workflow `patientOnboarding` know of each other; it imports nothing
 * that would pull in workflow code. Its workflow id is `patientOnboardingWorkflowId(orchestrationId)`.
 */
export const PATIENT_ONBOARDING_MESSAGES = {
  /** Signal: one source of a query has ended (from a verified webhook). */
  networkQueryEvent: 'networkQueryEvent',
  /** Signal: the EHR or form sent the same job again. */
  intakeReceived: 'intakeReceived',
  /** Signal: the person is verified (from the verified webhook `ias.identity.verified`). */
  identityVerified: 'identityVerified',
  /** Signal: the person has shown two factors; with the session that came back to the redirect address. */
  aal2Confirmed: 'aal2Confirmed',
  /** Signal, a hint: the person came back from a page of the identity partner (`PersonReturnedSignal`). */
  personReturned: 'personReturned',
  /** Query: the one public snapshot, `PatientOnboardingStatus`. */
  status: 'status',
} as const;

/** Names the credential a worker holds; never the credential itself. */
export interface ExchangeAccess {
  /** `account/<account id>` at our own exchange, or `api-key` for the configured foreign one. */
  credentialRef: string;
}
/** The exchange that the worker has an API key for. */
export const API_KEY_ACCESS: ExchangeAccess = { credentialRef: 'api-key' };

export type OnboardedPatient = Omit<CreatePatientInput, 'networkQuery' | 'cohorts'>;

/** How patient the orchestration is; each member has a default (`DEFAULT_ONBOARDING_TIMING`). */
export interface OnboardingTiming {
  /** First look at the query's status when no webhook has come; doubles with each look. */
  pollFirstMs: number;
  pollMaxMs: number;
  /** First wait before sources that met a rate limit are asked for again; doubles each time. */
  restartFirstMs: number;
  restartsMax: number;
  /** After it the sources still open are given up. */
  deadlineMs: number;
}

export const DEFAULT_ONBOARDING_TIMING: OnboardingTiming = {
  pollFirstMs: 30_000,
  pollMaxMs: 15 * 60_000,
  restartFirstMs: 30_000,
  restartsMax: 5,
  deadlineMs: 35 * 24 * 3_600_000,
};

/** Individual access: the patient asks for their own records, and proves who they are before a source is asked. */
export interface IdentityRequest {
  /** Where the person is received after each of the two pages. */
  redirectUrl: string;
}

export interface PatientOnboardingInput {
  /** Opaque; goes into the query's metadata, so that its webhooks find their way back. */
  orchestrationId: string;
  exchange: ExchangeAccess;
  facilityId: string;
  patient: OnboardedPatient;
  cohortIds?: string[];
  sources: NetworkQueryRequestInput['sources'];
  /** The query has purpose ias; without it treatment. */
  ias?: IdentityRequest;
  /** The caller's own pairs; one of the 50 is taken by the orchestration id. */
  metadata?: Metadata;
  timing?: Partial<OnboardingTiming>;
}

/** A webhook `network-query.<source>`, reduced to what the orchestration needs. */
export interface NetworkQuerySignal {
  messageId: string;
  requestId: string;
  /** Whom the event is about; an onboarding ignores events about another patient. */
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

/** What a browser brought. It counts only where the exchange cannot be asked. */
export interface PersonReturnedSignal {
  aal2SessionId?: string;
}

export interface IntakeSignal {
  messageId: string;
}

/** How the orchestration learned a source's outcome. */
export type LearnedBy = 'webhook' | 'poll';

export interface PatientOnboardingStatus {
  phase: 'creating-patient' | 'assigning-cohorts' | 'proving-identity' | 'querying' | 'cancelling' | 'ended';
  patientId?: string;
  /** False when the demographics matched a patient that the exchange knew. */
  created?: boolean;
  cohorts: string[];
  requestIds: string[];
  sources: {
    type: SourceType;
    /** `limited`: met a rate limit and is asked for again. */
    state: 'to-start' | 'limited' | 'running' | 'completed' | 'failed' | 'not-started' | 'timed-out';
    requestId?: string;
    via?: LearnedBy;
  }[];
  /** Of individual access: what the person is to open next, and until when it works. */
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
  /** Last thing that went wrong and is being waited out. */
  problem?: string;
}

export interface OnboardedSource {
  type: SourceType;
  /** `not-started`: refused, or rate limited to the end. `timed-out`: still running at the deadline. */
  outcome: 'completed' | 'failed' | 'not-started' | 'timed-out';
  /** The source's attempts in the query that ran it. */
  attempts: number;
  /** How many times a query was started for it (more than one after a rate limit). */
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
  /** As the latest webhook gave it; it expires. */
  consolidatedDataUrl?: string;
  /** Names to ask E14 for, the newest first; links to documents live a minute, so none stands here. */
  documents?: { total: number; fileNames: string[] };
  webhooksReceived: number;
}
