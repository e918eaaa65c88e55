import { z } from 'zod';
import type { Config } from '../../../config.ts';
import {
  createPartnerHttp,
  type PartnerConfig,
  PartnerFailure,
  partnerConfig,
} from '../../platform/partners/partner-http.ts';
import type { Demographics } from '../patients/rules/demographics.ts';

export interface Opening {
  /** Our id of the session or challenge; the partner's callback names it. */
  reference: string;
  /**
   * Where the partner posts the signed outcome, before it sends the person
   * back.
   */
  callbackUrl: string;
  /** Where the partner sends the person's browser afterwards. */
  returnUrl: string;
  expiresAt: Date;
}

/**
 * The partner that verifies identities
 * (docs/decisions/0041-the-identity-partner.md). Both methods throw
 * PartnerFailure.
 */
export interface IdentityPartner {
  /**
   * Opens a verification that its visitor is this person. Returns the URL of
   * the partner's page.
   */
  openSession(
    opening: Opening & { person: Demographics },
  ): Promise<{ url: string }>;
  /**
   * Opens a two-factor challenge for a person the partner has verified before;
   * `subject` is the partner's id of the person.
   */
  openChallenge(
    opening: Opening & { subject: string },
  ): Promise<{ url: string; method: string }>;
}

const sessionSchema = z.object({ url: z.url({ protocol: /^https?$/ }) });
const challengeSchema = sessionSchema.extend({
  method: z.string().min(1).max(50),
});

/**
 * Undefined if no identity partner is configured. Throws ConfigError if only
 * one of the two variables is set.
 */
export function openIdentityPartner(
  config: Config<'IDENTITY_PARTNER_BASE_URL' | 'IDENTITY_PARTNER_SECRET'>,
): IdentityPartner | undefined {
  const {
    IDENTITY_PARTNER_BASE_URL: baseUrl,
    IDENTITY_PARTNER_SECRET: secret,
  } = config;
  const partner = partnerConfig('IDENTITY_PARTNER', baseUrl, secret);
  return partner && createIdentityPartner(partner);
}

export function createIdentityPartner(config: PartnerConfig): IdentityPartner {
  const http = createPartnerHttp('identity partner', config);
  const { origin } = new URL(config.baseUrl);

  /**
   * Validates a response. People are sent to its URL, so it must be https or on
   * the configured address of the partner.
   */
  function read<S extends typeof sessionSchema>(
    schema: S,
    answer: unknown,
  ): z.output<S> {
    const parsed = schema.safeParse(answer);
    const isAllowed =
      parsed.success &&
      (parsed.data.url.startsWith('https:') || isOfPartner(parsed.data.url));
    if (!parsed.success || !isAllowed)
      throw new PartnerFailure(
        'bad-answer',
        'The identity partner answered without a usable URL',
      );
    return parsed.data;
  }
  const isOfPartner = (url: string): boolean => new URL(url).origin === origin;

  return {
    openSession: async ({ person, expiresAt, ...opening }) => {
      const { firstNames, lastNames, dob, gender, addresses, contacts } =
        person;
      const body = {
        ...opening,
        expiresAt: expiresAt.toISOString(),
        person: { firstNames, lastNames, dob, gender, addresses, contacts },
      };
      return read(
        sessionSchema,
        await http.call('POST', '/sessions', { body }),
      );
    },
    openChallenge: async ({ expiresAt, ...opening }) => {
      const body = { ...opening, expiresAt: expiresAt.toISOString() };
      return read(
        challengeSchema,
        await http.call('POST', '/challenges', { body }),
      );
    },
  };
}
