import { counted } from '../../../lib/counted.ts';
import type { Demographics } from '../../people/patients/rules/demographics.ts';
import { Capabilities, requireR4, type SourceContext } from './capabilities.ts';
import { documentSearchesBesides } from './collect/documents.ts';
import type { StepOf } from './collect/plan.ts';
import { fetchSearch } from './collect/search-by-type.ts';
import { SourceFailure } from './connector.ts';
import type { AssertionSigner } from './http/auth/token-request.ts';
import { registerByUdap } from './http/auth/udap.ts';
import { isRecord } from './http/failures.ts';
import { createPool, SourceHttp } from './http/source-http.ts';
import { findSourcePatients } from './patient/match-patient.ts';
import type { ResolvedSourceConfig } from './source-config.ts';
import type { UdapAuth } from './source-settings.ts';

/** One thing that was triedAtSource at a source, in words for an operator. */
export interface SourceFinding {
  what:
    | 'directory'
    | 'metadata'
    | 'token'
    | 'certificate'
    | 'gateway'
    | 'community'
    | 'clock'
    | 'patient'
    | 'documents';
  works: boolean;
  message: string;
}

/**
 * Tries a source as a query would: reads its metadata, gets a token, and looks
 * a patient up. Nothing is stored.
 */
export async function checkSource(
  config: ResolvedSourceConfig,
  signer: AssertionSigner,
  patient: Demographics | undefined,
): Promise<SourceFinding[]> {
  const now = Date.now;
  const http = new SourceHttp(config, { now, signer });
  const context = {
    config,
    http,
    capabilities: new Capabilities(http, now),
    now,
  };
  const signal = AbortSignal.timeout(config.requestTimeoutSeconds * 4_000);
  const findings = [await triedAtSource('token', () => tryToken(http, config))];
  if (findings[0]?.works !== true) return findings;
  findings.push(
    await triedAtSource(
      'metadata',
      async () =>
        `${await readMetadata(http, signal)}${await statedBy(context)}`,
    ),
  );
  if (patient === undefined) return findings;
  let known: string[] = [];
  findings.push(
    await triedAtSource('patient', async () => {
      const { patientIds, notice } = await findSourcePatients(
        context,
        patient,
        signal,
      );
      known = patientIds;
      const found =
        known.length === 0
          ? 'the source answered, and does not know this patient'
          : `the source knows this patient (${counted(known.length, 'record')})`;
      return notice === undefined ? found : `${found}; ${notice}`;
    }),
  );
  const [patientId] = known;
  const searches =
    patientId === undefined
      ? []
      : await documentSearchesBesides(context, patientId);
  for (const search of searches.slice(0, 1))
    findings.push(
      await triedAtSource('documents', () =>
        listDocuments(context, search, signal),
      ),
    );
  return findings;
}

/** What came of one try. */
export async function triedAtSource(
  what: SourceFinding['what'],
  work: () => Promise<string>,
): Promise<SourceFinding> {
  try {
    return { what, works: true, message: await work() };
  } catch (error) {
    if (!(error instanceof SourceFailure)) throw error;
    return { what, works: false, message: error.message };
  }
}

async function tryToken(
  http: SourceHttp,
  { auth }: ResolvedSourceConfig,
): Promise<string> {
  const authorization = await http.authorization();
  if (authorization === undefined) return 'requests carry none';
  return auth.kind === 'bearer'
    ? 'a fixed one is sent'
    : 'the authorization server issued one';
}

async function readMetadata(
  http: SourceHttp,
  signal: AbortSignal,
): Promise<string> {
  const url = new URL('metadata', http.config.baseUrl);
  const { json } = await http.json({
    method: 'GET',
    url,
    label: 'metadata',
    signal,
  });
  if (json.resourceType !== 'CapabilityStatement')
    throw new SourceFailure(
      'bad-answer',
      'the answer is not a CapabilityStatement',
    );
  const { fhirVersion } = json;
  requireR4('the server', fhirVersion);
  return typeof fhirVersion === 'string'
    ? `the server speaks FHIR ${fhirVersion}`
    : 'the server answers, without its FHIR version';
}

/**
 * What of its capabilities decides about how the server is asked; '' if it
 * states none of them.
 */
async function statedBy({ capabilities }: SourceContext): Promise<string> {
  const { operations, documentSearch } = await capabilities.read();
  const stated = [
    ...(operations.match === 'stated' ? ['Patient/$match (IHE PDQm)'] : []),
    ...(operations.everything === 'stated' ? ['Patient/$everything'] : []),
    ...(documentSearch ? ['document search (IHE MHD)'] : []),
  ];
  return stated.length === 0 ? '' : `; it has ${stated.join(', ')}`;
}

/** Reads the first page of the patient's documents. */
async function listDocuments(
  context: SourceContext,
  search: StepOf<'search'>,
  signal: AbortSignal,
): Promise<string> {
  const { entries, next } = await fetchSearch(context, search, signal);
  const documents = entries.filter(
    ({ resource }) =>
      isRecord(resource) && resource.resourceType === 'DocumentReference',
  );
  const more = next.some(({ kind }) => kind === 'link')
    ? ' on its first page'
    : '';
  return `the server lists ${counted(documents.length, 'current document')} of this patient${more}`;
}

/**
 * Registers us by UDAP at the authorization server of a source; returns our
 * client id. Throws SourceFailure.
 */
export function registerSource(
  config: ResolvedSourceConfig,
  auth: UdapAuth,
): Promise<string> {
  return registerByUdap(config, auth, {
    dispatcher: createPool(config),
    now: Date.now,
  });
}
