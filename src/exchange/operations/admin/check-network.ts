import { counted } from '../../../lib/counted.ts';
import type { Store } from '../../platform/database/database.ts';
import type { SourceFinding } from '../../sources/connectors/check-source.ts';
import type { NetworkSettings } from '../../sources/connectors/ihe/network-settings.ts';
import { ownCertificate } from '../../sources/connectors/ihe/own-certificate.ts';
import type { ConnectionCredentials } from '../../sources/connectors/source-settings.ts';
import { countDirectory } from '../../sources/directory/directory-store.ts';

/**
 * What can be said of a connection to a network without a question to one of
 * its gateways.
 */
export async function checkNetwork(
  store: Pick<Store, 'asSystem'>,
  { directory, speaks }: NetworkSettings,
  { tls }: ConnectionCredentials,
): Promise<SourceFinding[]> {
  const counts = await store.asSystem((tx) => countDirectory(tx, directory));
  if (speaks === 'fhir')
    return [foundIn(directory, counts.fhirServers, 'FHIR server')];
  const certificate = ownCertificate(tls, Date.now());
  return [
    foundIn(directory, counts.gateways, 'gateway'),
    {
      works: certificate !== undefined && certificate.fault === undefined,
      what: 'certificate',
      message: certificateMessage(certificate),
    },
  ];
}

const foundIn = (
  directory: string,
  count: number,
  what: string,
): SourceFinding => ({
  works: count > 0,
  what: 'directory',
  message:
    count > 0
      ? `the directory ${directory} has ${counted(count, what)}`
      : `the directory ${directory} has no ${what}s; load it with: npm run admin -- directory load ${directory} <file or address>`,
});

function certificateMessage(
  certificate: ReturnType<typeof ownCertificate>,
): string {
  if (certificate === undefined)
    return 'there is none: gateways let nobody in without a client certificate';
  return certificate.fault ?? `ours is valid until ${certificate.until}`;
}
