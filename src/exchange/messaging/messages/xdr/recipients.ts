import {
  type DocumentSubmission,
  descendantsNamed,
  type Envelope,
  NPI_ROOT,
  withoutUrn,
  xmlText,
} from '#ihe';
import { isNpi } from '../../../../contract/primitives.ts';

/** For whom a submission is. */
export interface SubmissionRecipients {
  /** OIDs of organizations, in the order in which they are to be tried. */
  organizations: string[];
  npis: string[];
}

const OF_HEADERS: readonly (readonly [namespace: string, name: string])[] = [
  ['urn:ihe:iti:xdr:2014', 'homeCommunityId'],
  ['urn:ihe:iti:xds-b:2007', 'homeCommunityId'],
  ['urn:ihe:iti:xds-b:2007', 'targetHomeCommunityId'],
];

/**
 * Reads for whom a submission is: the organization that the header or ITI-80's
 * slot names, which alone counts where there is one, else those of `intendedRecipient`, at the
 * submission set or at its documents.
 */
export function recipientsOfSubmission(
  { header }: Pick<Envelope, 'header'>,
  { submissionSets, documents, targetCommunity }: DocumentSubmission,
): SubmissionRecipients {
  const inHeader = OF_HEADERS.flatMap(([namespace, name]) =>
    descendantsNamed(header, namespace, name),
  ).map(xmlText);
  const named = [...inHeader, targetCommunity].filter(
    (each) => each !== undefined,
  );
  const written = [
    ...submissionSets.flatMap((set) => set.intendedRecipients),
    ...documents.flatMap(({ entry }) => entry.intendedRecipients),
  ];
  const recipients = written.map(readRecipient);
  const organizations =
    named.length > 0
      ? named.map(withoutUrn)
      : recipients.flatMap(({ organization }) => organization ?? []);

  return {
    organizations: [...new Set(organizations)],
    npis: [...new Set(recipients.flatMap(({ npi }) => npi ?? []))],
  };
}

/**
 * `Organization|Person|Telecom`, each of which may be absent: the OID is XON-10,
 * the NPI an XCN-1 with its authority in XCN-9 (ITI TF-3 4.2.3.3.7).
 */
function readRecipient(text: string): {
  organization: string | undefined;
  npi: string | undefined;
} {
  const [organization = '', person = ''] = text.split('|');
  const id = withoutUrn(organization.split('^')[9] ?? '');
  const [npi = '', ...others] = person.split('^');
  const [, authority = ''] = (others[7] ?? '').split('&');

  return {
    organization: /^[0-2](\.\d+)+$/.test(id) ? id : undefined,
    npi: isNpi(npi) && withoutUrn(authority) === NPI_ROOT ? npi : undefined,
  };
}
