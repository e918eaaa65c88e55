import { createPrivateKey, randomUUID, X509Certificate } from 'node:crypto';
import {
  decodeProtectedHeader,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose';
import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { SourceFailure } from '../../connector.ts';
import type { ResolvedSourceConfig } from '../../source-config.ts';
import type { UdapAuth } from '../../source-settings.ts';
import {
  badResponse,
  failureOfStatus,
  failureOfTokenRequest,
} from '../failures.ts';
import { oauthErrorOf, requestJson } from './token-request.ts';

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
 * Reads a server's UDAP metadata and returns the endpoints that are signed: by
 * a certificate that leads to an anchor of the trust community and names this
 * server. Unsigned endpoints are not used (SSRAA 2.0, 2.3; UDAP Server
 * Metadata, 3).
 */
export async function readUdapServer(
  config: ResolvedSourceConfig,
  auth: UdapAuth,
  { dispatcher, now }: { dispatcher: Dispatcher; now: () => number },
): Promise<UdapServer> {
  const { source } = config;
  const url = new URL(WELL_KNOWN, config.baseUrl);
  if (auth.community !== undefined)
    url.searchParams.set('community', auth.community);
  const { status, json } = await requestJson(config, dispatcher, {
    url,
    label: WELL_KNOWN,
  });
  if (status === 404 || status === 204)
    throw new SourceFailure(
      'denied',
      `${source} does not support UDAP for this community (${WELL_KNOWN})`,
    );
  if (status !== 200) throw failureOfStatus(source, WELL_KNOWN, { status });
  const { signed_metadata: signed } = json;
  if (typeof signed !== 'string')
    throw new SourceFailure(
      'denied',
      `${source} does not sign its UDAP metadata`,
    );
  try {
    return await verify(signed, config, auth, now());
  } catch (cause) {
    const why =
      cause instanceof Untrusted ? cause.message : 'its signature is not valid';
    throw new SourceFailure(
      'denied',
      `${source} is not trusted by its UDAP metadata: ${why}`,
      { cause },
    );
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
  const chain = x5c.map(
    (base64) => new X509Certificate(Buffer.from(base64, 'base64')),
  );
  const [leaf] = chain;
  if (leaf === undefined) throw new Untrusted('it carries no certificate');
  if (!leadsToAnchor(chain, certificatesOf(anchors), nowMs))
    throw new Untrusted(
      'its certificate does not lead to an anchor of the trust community',
    );
  const { payload } = await jwtVerify(signed, leaf.publicKey, {
    algorithms: ALGORITHMS,
    currentDate: new Date(nowMs),
  });
  return endpointsOf(payload, leaf, baseUrl);
}

function endpointsOf(
  payload: JWTPayload,
  leaf: X509Certificate,
  baseUrl: URL,
): UdapServer {
  const claims = claimsSchema.safeParse(payload);
  if (!claims.success) throw new Untrusted('claims are missing');
  const { iss, sub, iat, exp } = claims.data;
  if (iss !== sub || withoutSlash(iss) !== withoutSlash(baseUrl.href))
    throw new Untrusted('it was signed for another server');
  if (!uriNames(leaf).includes(iss))
    throw new Untrusted('its certificate is for another server');
  if (exp - iat > YEAR_SECONDS)
    throw new Untrusted('it is valid for more than a year');
  return {
    tokenUrl: claims.data.token_endpoint,
    registrationUrl: claims.data.registration_endpoint,
  };
}

const withoutSlash = (url: string): string => url.replace(/\/$/, '');

/**
 * The specification allows five minutes; one less, for a server whose clock is
 * behind.
 */
const LIFE_SECONDS = 240;

/**
 * Signs claims with the key of our certificate, which the header carries. Every
 * JWT has an id of its own.
 */
export function signByCertificate(
  auth: UdapAuth,
  claims: JWTPayload,
  nowMs: number,
): Promise<string> {
  const key = createPrivateKey(auth.key);
  const seconds = Math.floor(nowMs / 1_000);
  return new SignJWT({
    ...claims,
    iat: seconds,
    exp: seconds + LIFE_SECONDS,
    jti: randomUUID(),
  })
    .setProtectedHeader({
      alg: algorithmOf(key.asymmetricKeyDetails?.namedCurve),
      x5c: x5cOf(auth.cert),
    })
    .sign(key);
}

/** RS256 is what every implementer must support. */
function algorithmOf(curve: string | undefined): string {
  if (curve === undefined) return 'RS256';
  return curve === 'secp384r1' ? 'ES384' : 'ES256';
}

/** Longer chains are not followed. */
const CHAIN_MAX = 6;
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** @throws Error when a certificate cannot be read */
const certificatesOf = (pem: string): X509Certificate[] =>
  (pem.match(PEM) ?? []).map((one) => new X509Certificate(one));

/** The `x5c` header of a JWT: our certificate and its chain. */
const x5cOf = (pem: string): string[] =>
  certificatesOf(pem).map(({ raw }) => raw.toString('base64'));

/** The URIs among the subject alternative names of a certificate. */
function uriNames({ subjectAltName = '' }: X509Certificate): string[] {
  // Node.js quotes names that contain special characters, as JSON does.
  return [
    ...subjectAltName.matchAll(/(?:^|, )URI:("(?:[^"\\]|\\.)*"|[^,]*)/g),
  ].map(([, name = '']) =>
    name.startsWith('"') ? String(JSON.parse(name)) : name,
  );
}

/**
 * Whether the first certificate leads to a trusted anchor by signatures, over
 * the others, and all are valid at this time. Revocation is not checked.
 */
function leadsToAnchor(
  [leaf, ...others]: readonly X509Certificate[],
  anchors: readonly X509Certificate[],
  nowMs: number,
): boolean {
  let current = leaf;
  for (let depth = 0; current !== undefined && depth < CHAIN_MAX; depth += 1) {
    if (!isValidAt(current, nowMs)) return false;
    const subject = current;
    const isIssuer = (issuer: X509Certificate) =>
      issuer.ca &&
      subject.checkIssued(issuer) &&
      subject.verify(issuer.publicKey);
    if (anchors.some((anchor) => isIssuer(anchor) && isValidAt(anchor, nowMs)))
      return true;
    current = others.find(
      (other) =>
        other.fingerprint256 !== subject.fingerprint256 && isIssuer(other),
    );
  }
  return false;
}

const isValidAt = (
  { validFrom, validTo }: X509Certificate,
  nowMs: number,
): boolean => Date.parse(validFrom) <= nowMs && nowMs <= Date.parse(validTo);

const LABEL = 'the registration';
const registeredSchema = z.object({ client_id: z.string().min(1) });

/**
 * Registers us dynamically at the authorization server of a source (SSRAA 2.0,
 * 3) and returns our client id. Registering again changes the registration; a
 * server may then give another client id and cancel the earlier one.
 */
export async function registerByUdap(
  config: ResolvedSourceConfig,
  auth: UdapAuth,
  deps: { dispatcher: Dispatcher; now: () => number },
): Promise<string> {
  const { registrationUrl } = await readUdapServer(config, auth, deps);
  return registerAt(registrationUrl, config, auth, deps);
}

/** The same at an endpoint that the server's metadata have named. */
export async function registerAt(
  registrationUrl: string,
  config: ResolvedSourceConfig,
  auth: UdapAuth,
  deps: { dispatcher: Dispatcher; now: () => number },
): Promise<string> {
  const { source } = config;
  const issuer = issuerFor(source, auth);
  const statement = {
    iss: issuer,
    sub: issuer,
    aud: registrationUrl,
    client_name: auth.clientName,
    contacts: [auth.contact],
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'private_key_jwt',
    scope: auth.scope,
  };
  const nowMs = deps.now();
  const certification = await basicAppCertification(auth, issuer, nowMs);
  const { status, json } = await requestJson(config, deps.dispatcher, {
    url: new URL(registrationUrl),
    label: LABEL,
    body: {
      software_statement: await signByCertificate(auth, statement, nowMs),
      ...(certification === undefined
        ? {}
        : { certifications: [certification] }),
      udap: '1',
    },
  });
  if (status !== 200 && status !== 201)
    throw failureOfTokenRequest(source, LABEL, {
      status,
      issueCode: oauthErrorOf(json).issueCode,
    });
  const registered = registeredSchema.safeParse(json);
  if (!registered.success)
    throw badResponse(source, `answered ${LABEL} without a client id`);
  return registered.data.client_id;
}

/**
 * The URI by which our certificate names us. A certificate of TEFCA has one for
 * each purpose, which ends in the purpose's code: the registration is for that
 * purpose alone.
 */
function issuerFor(source: string, { cert, purpose }: UdapAuth): string {
  const names = certificatesOf(cert).slice(0, 1).flatMap(uriNames);
  const [issuer] = names;
  if (issuer === undefined)
    throw new SourceFailure(
      'denied',
      `${source}: our certificate names no URI (subject alternative name)`,
    );
  if (purpose === undefined) return issuer;
  const code = purpose.slice(purpose.indexOf('#'));
  const named = names.find((name) => name.endsWith(code));
  if (named === undefined)
    throw new SourceFailure(
      'denied',
      `${source}: our certificate names no URI that ends in ${code}, the purpose of this connection`,
    );
  return named;
}

const BASIC_APP = {
  certification_name: 'TEFCA Basic App Certification',
  certification_uris: [
    'https://rce.sequoiaproject.org/udap/profiles/basic-app-certification',
  ],
};

/**
 * What a member of TEFCA certifies of itself when it registers: its home
 * community and its one exchange purpose (SOP Facilitated FHIR Implementation
 * 2.0, 6.11). Undefined for a connection without them.
 */
async function basicAppCertification(
  auth: UdapAuth,
  issuer: string,
  nowMs: number,
): Promise<string | undefined> {
  const { homeCommunityId, purpose } = auth;
  if (homeCommunityId === undefined || purpose === undefined) return undefined;
  const claims = {
    iss: issuer,
    sub: issuer,
    ...BASIC_APP,
    exchange_purposes: [purpose],
    home_community_id: homeCommunityId.startsWith('urn:oid:')
      ? homeCommunityId
      : `urn:oid:${homeCommunityId}`,
  };
  return signByCertificate(auth, claims, nowMs);
}
