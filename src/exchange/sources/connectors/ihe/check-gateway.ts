import { comparableId } from '#ihe';
import { counted } from '../../../../lib/counted.ts';
import type { Demographics } from '../../../people/patients/rules/demographics.ts';
import { type SourceFinding, triedAtSource } from '../check-source.ts';
import { SourceFailure } from '../connector.ts';
import type { SourceConfig } from '../source-config.ts';
import {
  discoverPatient,
  type FoundInCommunities,
} from './discovery/discover-patient.ts';
import { listCommunityDocuments } from './documents/list-documents.ts';
import { clockFault, type Gateway } from './gateway.ts';
import { openGateway } from './ihe-connector.ts';
import type { IheSettings } from './ihe-settings.ts';
import { ownCertificate } from './own-certificate.ts';

/** Nobody: the question shows whether we are understood and let in. */
const NOBODY: Demographics = {
  firstNames: ['Connection'],
  lastNames: ['Check'],
  dob: '1900-01-01',
  gender: 'U',
  addresses: [],
  contacts: [],
  personalIdentifiers: [],
};

/**
 * Tries a gateway as a query would: our certificate, a patient discovery, and
 * with a patient the list of documents. Nothing is stored.
 */
export async function checkGateway(
  config: SourceConfig,
  settings: IheSettings,
  patient: Demographics | undefined,
): Promise<SourceFinding[]> {
  const findings = [
    await triedAtSource('certificate', async () => certificateWords(config)),
  ];
  if (findings[0]?.works !== true) return findings;
  const gateway = openGateway(config, settings);
  const signal = AbortSignal.timeout(settings.answerTimeoutSeconds * 4_000);
  let found: FoundInCommunities = { patients: [] };
  findings.push(
    await triedAtSource(
      patient === undefined ? 'gateway' : 'patient',
      async () => {
        found = await discoverPatient(gateway, patient ?? NOBODY, signal).catch(
          (error: unknown) => {
            if (patient === undefined && isAnswer(error)) return found;
            throw error;
          },
        );
        return patient === undefined
          ? 'the gateway takes our login and answers patient discoveries'
          : foundWords(found);
      },
    ),
    ...clockFinding(gateway),
    ...communityFinding(settings, found),
  );
  for (const [index, community] of found.patients.entries())
    findings.push(
      await triedAtSource('documents', async () => {
        const { references, reported } = await listCommunityDocuments(
          gateway,
          community,
          index,
          signal,
        );
        const gaps = reported.gaps.map((gap) => `; ${gap}`).join('');
        return `the community ${community.homeCommunity} lists ${counted(references.length, 'document')} of this patient${gaps}`;
      }),
    );
  return findings;
}

/** Whether the gateway understood the question about nobody all the same. */
const isAnswer = (error: unknown): boolean =>
  error instanceof SourceFailure &&
  error.kind === 'refused' &&
  error.message.includes('wants to know');

function foundWords({ patients, notice }: FoundInCommunities): string {
  const found =
    patients.length === 0
      ? 'the gateway answered, and does not know this patient'
      : `the gateway knows this patient (in ${counted(patients.length, 'community', 'communities')})`;
  return notice === undefined ? found : `${found}; ${notice}`;
}

function clockFinding(gateway: Gateway): SourceFinding[] {
  if (gateway.seen.clockAheadMs === undefined) return [];
  const fault = clockFault(gateway);
  return [
    {
      what: 'clock',
      works: fault === undefined,
      message: fault ?? 'its clock and ours agree within five minutes',
    },
  ];
}

function communityFinding(
  { homeCommunity }: IheSettings,
  { answering }: FoundInCommunities,
): SourceFinding[] {
  if (answering === undefined) return [];
  const isSame = comparableId(answering) === comparableId(homeCommunity);
  return [
    {
      what: 'community',
      works: isSame,
      message: isSame
        ? `the gateway is the home community ${comparableId(answering)}`
        : `the gateway names itself ${comparableId(answering)}: compare --home-community`,
    },
  ];
}

function certificateWords({ source, tls = {} }: SourceConfig): string {
  const own = ownCertificate(tls, Date.now());
  if (own === undefined) return 'the connection has none of its own';
  if (own.fault !== undefined)
    throw new SourceFailure('denied', `${source}: ${own.fault}`);
  return `ours is valid until ${own.until}`;
}
