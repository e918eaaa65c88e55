import type { Consent } from 'fhir/r4.js';
import type {
  ConsentResponse,
  RecordConsentBody,
} from '../../../../contract/consents.ts';
import type { SourceType } from '../../../../contract/source-types.ts';

/**
 * What a FHIR Consent says that no decision depends on; returned as it was
 * given.
 */
export type StatedConsent = Pick<
  RecordConsentBody,
  | 'scope'
  | 'category'
  | 'dateTime'
  | 'performer'
  | 'organization'
  | 'sourceReference'
  | 'sourceAttachment'
  | 'policy'
  | 'provision'
>;

export interface Decision {
  decision: 'permit' | 'deny';
  /** Empty: all. */
  sources: SourceType[];
  /** Empty: all. */
  purposes: Array<'treatment' | 'ias'>;
  /** The end is exclusive. Null: without a limit. */
  periodStart: Date | null;
  periodEnd: Date | null;
  /**
   * Security labels that it permits or denies to hand out; empty: it is about
   * asking sources.
   */
  labels: string[];
}

/** The consent that the flag hieOptOut stands for. */
const OPT_OUT = {
  scope: {
    coding: [
      {
        system: 'http://terminology.hl7.org/CodeSystem/consentscope',
        code: 'patient-privacy',
      },
    ],
  },
  category: [
    {
      coding: [
        {
          system: 'http://loinc.org',
          code: '59284-0',
          display: 'Consent Document',
        },
      ],
    },
  ],
  policyRule: {
    coding: [
      {
        system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode',
        code: 'OPTOUT',
      },
    ],
  },
  provision: {
    type: 'deny',
    actor: [
      {
        role: {
          coding: [
            {
              system:
                'http://terminology.hl7.org/CodeSystem/v3-ParticipationType',
              code: 'CST',
            },
          ],
        },
        reference: {
          identifier: { value: 'hie' },
        },
      },
    ],
  },
} satisfies Partial<Consent>;

const PURPOSES = { TREAT: 'treatment', PATRQT: 'ias' } as const;
const DAY_MS = 24 * 60 * 60_000;

/**
 * What a FHIR Consent decides. A period that ends on a day includes that day.
 */
export function decisionOf({
  provision,
}: Pick<RecordConsentBody, 'provision'>): Decision {
  const {
    type,
    period,
    purpose = [],
    actor = [],
    securityLabel = [],
  } = provision;
  const end = period?.end;
  const isDay = end !== undefined && !end.includes('T');
  return {
    decision: type,
    sources: [
      ...new Set(actor.map(({ reference }) => reference.identifier.value)),
    ],
    purposes: [...new Set(purpose.map(({ code }) => PURPOSES[code]))],
    labels: [...new Set(securityLabel.map(({ code }) => code))],
    periodStart: period?.start === undefined ? null : new Date(period.start),
    periodEnd:
      end === undefined
        ? null
        : new Date(new Date(end).getTime() + (isDay ? DAY_MS : 0)),
  };
}

export function statedOf(body: RecordConsentBody): StatedConsent {
  const {
    scope,
    category,
    dateTime,
    performer,
    organization,
    policy,
    provision,
  } = body;
  const { sourceReference, sourceAttachment } = body;
  return {
    scope,
    category,
    dateTime,
    performer,
    organization,
    policy,
    provision,
    // FHIR allows one of the two.
    ...(sourceReference === undefined
      ? { sourceAttachment }
      : { sourceReference }),
  };
}

interface RecordedConsent {
  id: string;
  patient_id: string;
  /** Null: made by the flag hieOptOut. */
  resource: StatedConsent | null;
  recorded_at: Date;
  ended_at: Date | null;
}

/** A recorded consent as a FHIR resource. */
export function serializeConsent(row: RecordedConsent): ConsentResponse {
  const { id, resource, recorded_at: recordedAt, ended_at: endedAt } = row;
  return {
    resourceType: 'Consent',
    id,
    meta: { lastUpdated: (endedAt ?? recordedAt).toISOString() },
    status: endedAt === null ? 'active' : 'inactive',
    patient: { reference: `Patient/${row.patient_id}` },
    ...(resource ?? { ...OPT_OUT, dateTime: recordedAt.toISOString() }),
  };
}
