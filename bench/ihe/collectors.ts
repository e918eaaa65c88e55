import type {
  SourceConnector,
  SourcePage,
} from '../../src/exchange/sources/connectors/connector.ts';
import { createConnector } from '../../src/exchange/sources/connectors/create-connector.ts';
import {
  iheSettingsSchema,
  samlAuthSchema,
} from '../../src/exchange/sources/connectors/ihe/ihe-settings.ts';
import {
  ADAS_DEMOGRAPHICS,
  GATEWAY_COMMUNITY,
  OUR_COMMUNITY,
} from '../../test/support/responding-gateway.ts';
import type { Served } from './serve.ts';

export const PROTOCOLS = ['ihe', 'fhir'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** Our client certificate and its key (PEM). */
export interface BenchCredentials {
  cert: string;
  key: string;
}

/** A connector to a source of the benchmark; over IHE, each message is signed. */
export function connectTo(
  protocol: Protocol,
  { iheUrl, fhirUrl }: Served,
  tls: BenchCredentials,
): SourceConnector {
  if (protocol === 'fhir')
    return createConnector({
      source: 'hie',
      baseUrl: fhirUrl,
      auth: { kind: 'none' },
    });
  return createConnector({
    source: 'hie',
    baseUrl: `${iheUrl}/discovery`,
    tls,
    auth: samlAuthSchema.parse({
      kind: 'saml',
      organizationName: 'Our clinic',
      organizationId: OUR_COMMUNITY,
      samlSubject: 'The exchange',
      samlRole: '2.16.840.1.113883.6.96|106331006|Administrative personnel',
      samlPurpose: '2.16.840.1.113883.3.18.7.1|TREATMENT',
      npi: '1234567893',
    }),
    ihe: iheSettingsSchema.parse({
      queryUrl: `${iheUrl}/query`,
      retrieveUrl: `${iheUrl}/retrieve`,
      homeCommunity: GATEWAY_COMMUNITY,
      ownHomeCommunity: OUR_COMMUNITY,
    }),
  });
}

/** Finds the person and asks for everything: the pages as they come. */
export async function beginCollecting(
  connector: SourceConnector,
): Promise<AsyncIterable<SourcePage>> {
  const { signal } = new AbortController();
  const begun = await connector.begin(ADAS_DEMOGRAPHICS, {}, signal);
  if (begun.kind !== 'ready') throw new Error(`the source said ${begun.kind}`);
  return begun.pages;
}
