/** What a request shows to be let in. */
export interface CredentialHeader {
  name: string;
  value: string;
}

/** The credential of a client that uses a single API key. */
export const apiKeyCredential =
  (apiKey: string) => async (): Promise<CredentialHeader> => ({
    name: 'x-api-key',
    value: apiKey,
  });
