import { z } from 'zod';
import type { Demographics } from '../patients/rules/demographics.ts';
import { createPartnerHttp, type PartnerConfig, PartnerFailure } from '../platform/partners/partner-http.ts';

interface Opening {
  /** Our id of it, which the partner's callback names. */
  reference: string;
  /** Where the partner tells the outcome, signed, before it sends the person back. */
  callbackUrl: string;
  /** Where the partner sends the person's browser afterwards. */
  returnUrl: string;
  expiresAt: Date;
}

/** Whoever verifies people for us (docs/decisions/0041-the-identity-partner.md). Both methods throw PartnerFailure. */
export interface IdentityPartner {
  /** A verification of whether somebody is this person. Returns the address of its page. */
  openSession(opening: Opening & { person: Demographics }): Promise<{ url: string }>;
  /** Two factors of somebody whom the partner has verified before, under its own id of them. */
  openChallenge(opening: Opening & { subject: string }): Promise<{ url: string; method: string }>;
}

const sessionSchema = z.object({ url: z.url({ protocol: /^https?$/ }) });
const challengeSchema = sessionSchema.extend({ method: z.string().min(1).max(50) });

export function createIdentityPartner(config: PartnerConfig): IdentityPartner {
  const http = createPartnerHttp('identity partner', config);
  const { origin } = new URL(config.baseUrl);

  /** People are sent there: nowhere but to https, or where the operator has said that the partner is. */
  function read<S extends typeof sessionSchema>(schema: S, answer: unknown): z.output<S> {
    const parsed = schema.safeParse(answer);
    const isFit = parsed.success && (parsed.data.url.startsWith('https:') || isBelow(parsed.data.url));
    if (!parsed.success || !isFit)
      throw new PartnerFailure('bad-answer', 'The identity partner answered without a usable address');
    return parsed.data;
  }
  const isBelow = (url: string): boolean => new URL(url).origin === origin;

  return {
    openSession: async ({ person, expiresAt, ...opening }) => {
      const { firstNames, lastNames, dob, gender, addresses, contacts } = person;
      const body = {
        ...opening,
        expiresAt: expiresAt.toISOString(),
        person: { firstNames, lastNames, dob, gender, addresses, contacts },
      };
      return read(sessionSchema, await http.call('POST', '/sessions', { body }));
    },
    openChallenge: async ({ expiresAt, ...opening }) => {
      const body = { ...opening, expiresAt: expiresAt.toISOString() };
      return read(challengeSchema, await http.call('POST', '/challenges', { body }));
    },
  };
}
