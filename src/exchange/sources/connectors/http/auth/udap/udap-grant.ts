import { SourceFailure } from '../../../connector.ts';
import type { ResolvedSourceConfig, UdapAuth } from '../../../source-config.ts';
import { assertionForm } from '../client-assertion.ts';
import { byServerClock } from '../server-clock.ts';
import type { IssuedToken } from '../shared-tokens.ts';
import type { TokenDeps } from '../token-deps.ts';
import type { TokenEndpoint } from '../token-request.ts';
import { readUdapServer } from './server-metadata.ts';
import { signByCertificate } from './signed-jwt.ts';

/** HL7's codes for why data is requested. */
const PURPOSE_OF_USE = {
  treatment: 'urn:oid:2.16.840.1.113883.5.8#TREAT',
  ias: 'urn:oid:2.16.840.1.113883.5.8#PATRQT',
} as const;

/** Client credentials with an assertion that our certificate signs, and that says for what purpose we ask (SSRAA 2.0, 5.2). */
export function requestTokenByUdap(
  config: ResolvedSourceConfig,
  auth: UdapAuth,
  deps: TokenDeps,
  endpoint: TokenEndpoint,
): () => Promise<IssuedToken> {
  return async () => {
    const { clientId } = auth;
    if (clientId === undefined)
      throw new SourceFailure('denied', `${config.source}: the connection is not registered by UDAP yet`);
    const { tokenUrl } = await readUdapServer(config, auth, deps);
    return byServerClock(deps.now, async (nowMs) => {
      const claims = { iss: clientId, sub: clientId, aud: tokenUrl, extensions: extensionsOf(config, auth) };
      const form = assertionForm(await signByCertificate(auth, claims, nowMs), auth.scope);
      form.set('udap', '1');
      return endpoint.request(tokenUrl, form);
    });
  };
}

const extensionsOf = ({ purposeOfUse }: ResolvedSourceConfig, auth: UdapAuth) => ({
  'hl7-b2b': {
    version: '1',
    organization_id: auth.organizationId,
    ...(auth.organizationName === undefined ? {} : { organization_name: auth.organizationName }),
    purpose_of_use: [PURPOSE_OF_USE[purposeOfUse]],
  },
});
