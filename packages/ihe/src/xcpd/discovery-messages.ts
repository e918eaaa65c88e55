import type { InstanceId, PersonNameParts, PostalAddress } from '../hl7v3.ts';

/*
 * What the messages of XCPD (IHE ITI-55, ITI TF-2 3.55) have in common.
 */

/** The SOAP actions of ITI-55, asked at once and deferred. */
export const DISCOVERY_ACTIONS = {
  question: 'urn:hl7-org:v3:PRPA_IN201305UV02:CrossGatewayPatientDiscovery',
  answer: 'urn:hl7-org:v3:PRPA_IN201306UV02:CrossGatewayPatientDiscovery',
  deferredQuestion:
    'urn:hl7-org:v3:PRPA_IN201305UV02:Deferred:CrossGatewayPatientDiscovery',
  deferredAnswer:
    'urn:hl7-org:v3:PRPA_IN201306UV02:Deferred:CrossGatewayPatientDiscovery',
  acknowledgement: 'urn:hl7-org:v3:MCCI_IN000002UV01',
} as const;

/** The code system of attributes that a gateway wants (3.55.4.2.2.6). */
export const WANTED_ATTRIBUTES_SYSTEM = '1.3.6.1.4.1.19376.1.2.27.1';

/** The code system that tells whether a community locates data (3.55.4.2.2.4). */
export const DATA_LOCATOR_SYSTEM = '1.3.6.1.4.1.19376.1.2.27.2';

/** The code system of reasons why a gateway fails (3.55.4.2.2.7). */
export const DISCOVERY_PROBLEM_SYSTEM = '1.3.6.1.4.1.19376.1.2.27.3';

/** Identifier roots that a question may name a person by. */
export const SSN_ROOT = '2.16.840.1.113883.4.1';
export const NPI_ROOT = '2.16.840.1.113883.4.6';

/** A gateway as HL7 v3's sender or receiver. */
export interface GatewayIdentity {
  /** The id of the sending or receiving system: an OID. */
  deviceId: string;

  /** Home community id: an OID without `urn:oid:`. */
  homeCommunity?: string | undefined;
}

/**
 * What a patient is asked for by. Several values of one member are
 * alternatives. Genders are HL7's F, M and UN (an unknown one is left out);
 * birth times are HL7's digits, `19630804`.
 */
export interface DiscoveryCriteria {
  genders: readonly string[];
  birthTimes: readonly string[];
  birthPlaceAddresses: readonly PostalAddress[];
  birthPlaceNames: readonly string[];
  ids: readonly InstanceId[];
  names: readonly PersonNameParts[];
  mothersMaidenNames: readonly PersonNameParts[];
  addresses: readonly PostalAddress[];

  /** URLs: `tel:+1-617-555-0100`, `mailto:…`. */
  telecoms: readonly string[];

  /** The NPI of the principal care provider, root `NPI_ROOT`. */
  principalCareProviderIds: readonly InstanceId[];
}
