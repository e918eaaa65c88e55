import type { ClientSecretAuth } from '../../source-config.ts';

/** HTTP Basic with both parts form-encoded (RFC 6749, 2.3.1). */
export function secretHeader({ clientId, clientSecret }: ClientSecretAuth): Record<string, string> {
  const login = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  return { authorization: `Basic ${Buffer.from(login).toString('base64')}` };
}

/** For servers that accept the secret only in the body of the request. */
export const secretForm = ({ clientId, clientSecret }: ClientSecretAuth): [string, string][] => [
  ['client_id', clientId],
  ['client_secret', clientSecret],
];

const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);
