import { X509Certificate } from 'node:crypto';
import { decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose';
import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { SourceFailure } from '../../../connector.ts';
import type { ResolvedSourceConfig, UdapAuth } from '../../../source-config.ts';
import { failureOfStatus } from '../../failures.ts';
import { requestJson } from '../json-request.ts';
import { certificatesOf, leadsToAnchor, uriNames } from './certificates.ts';

const WELL_KNOWN = '.well-known/udap';
const ALGORITHMS = ['RS256', 'ES256', 'RS384', 'ES384'];
const YEAR_SECONDS = 366 * 24 * 3_600;

const claimsSchema = z.object({
  iss: z.string(),
  sub: z.string(),
  iat: z.number(),
  exp: z.number(),
  jti: z.string().min(1),
  token_endpoint: z.url({ protocol: /^https$/ }),
  registration_endpoint: z.url({ protocol: /^https$/ }),
});

export interface UdapServer {
  tokenUrl: string;
  registrationUrl: string;
}

/**
 * Reads a server's UDAP metadata and returns the endpoints that are signed: by a certificate that leads to an anchor of the
 * trust community and names this server. Unsigned endpoints are not used (SSRAA 2.0, 2.3; UDAP Server Metadata, 3).
 */
export async function readUdapServer(
  config: ResolvedSourceConfig,
  auth: UdapAuth,
  { dispatcher, now }: { dispatcher: Dispatcher; now: () => number },
): Promise<UdapServer> {
  const { source } = config;
  const url = new URL(WELL_KNOWN, config.baseUrl);
  if (auth.community !== undefined) url.searchParams.set('community', auth.community);
  const { status, json } = await requestJson(config, dispatcher, { url, label: WELL_KNOWN });
  if (status === 404 || status === 204)
    throw new SourceFailure('denied', `${source} does not support UDAP for this community (${WELL_KNOWN})`);
  if (status !== 200) throw failureOfStatus(source, WELL_KNOWN, { status });
  const { signed_metadata: signed } = json;
  if (typeof signed !== 'string')
    throw new SourceFailure('denied', `${source} does not sign its UDAP metadata`);
  try {
    return await verify(signed, config, auth, now());
  } catch (cause) {
    const why = cause instanceof Untrusted ? cause.message : 'its signature is not valid';
    throw new SourceFailure('denied', `${source} is not trusted by its UDAP metadata: ${why}`, { cause });
  }
}

/** Why metadata is not trusted; the message quotes nothing of it. */
class Untrusted extends Error {}

async function verify(
  signed: string,
  { baseUrl }: ResolvedSourceConfig,
  { anchors }: UdapAuth,
  nowMs: number,
): Promise<UdapServer> {
  const { x5c = [] } = decodeProtectedHeader(signed);
  const chain = x5c.map((base64) => new X509Certificate(Buffer.from(base64, 'base64')));
  const [leaf] = chain;
  if (leaf === undefined) throw new Untrusted('it carries no certificate');
  if (!leadsToAnchor(chain, certificatesOf(anchors), nowMs))
    throw new Untrusted('its certificate does not lead to an anchor of the trust community');
  const { payload } = await jwtVerify(signed, leaf.publicKey, {
    algorithms: ALGORITHMS,
    currentDate: new Date(nowMs),
  });
  return endpointsOf(payload, leaf, baseUrl);
}

function endpointsOf(payload: JWTPayload, leaf: X509Certificate, baseUrl: URL): UdapServer {
  const claims = claimsSchema.safeParse(payload);
  if (!claims.success) throw new Untrusted('claims are missing');
  const { iss, sub, iat, exp } = claims.data;
  if (iss !== sub || withoutSlash(iss) !== withoutSlash(baseUrl.href))
    throw new Untrusted('it was signed for another server');
  if (!uriNames(leaf).includes(iss)) throw new Untrusted('its certificate is for another server');
  if (exp - iat > YEAR_SECONDS) throw new Untrusted('it is valid for more than a year');
  return {
    tokenUrl: claims.data.token_endpoint,
    registrationUrl: claims.data.registration_endpoint,
  };
}

const withoutSlash = (url: string): string => url.replace(/\/$/, '');
