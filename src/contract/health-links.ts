import { z } from 'zod';
import { NOT_BLANK, TEXT_LENGTH_MAX } from './bounds.ts';
import { endpoint } from './endpoint.ts';
import { component, described, idSchema, instantSchema } from './primitives.ts';

/** Lifetimes of a health link in seconds: a year at most, a week by default. */
const SECONDS = { max: 31_536_000, default: 604_800 };
/** Wrong passcodes in the life of a link; then it has ended. */
export const HEALTH_LINK_ATTEMPTS = 5;

const label = z.string().trim().min(1).max(80);
const bodySchema = described('createHealthLink body', {
  expirationInSeconds: z
    .int({ error: 'must be a whole number of seconds' })
    .min(1, { error: 'must be at least 1' })
    .max(SECONDS.max, {
      error: `must be at most ${SECONDS.max}, which is a year`,
    })
    .default(SECONDS.default),
  passcode: z
    .string()
    .min(6, { error: 'must have at least 6 characters' })
    .max(TEXT_LENGTH_MAX)
    .optional(),
  isOneTime: z.boolean().default(false),
  label: label
    .meta({
      ...NOT_BLANK,
      description: 'Anyone who sees the link can read it: no name.',
    })
    .optional(),
});

const healthLinkSchema = component('HealthLink', {
  id: idSchema,
  status: z.enum(['active', 'expired', 'revoked', 'used', 'locked']),
  label: z.string().optional(),
  hasPasscode: z.boolean(),
  isOneTime: z.boolean(),
  createdAt: instantSchema,
  createdBy: z.string(),
  expiresAt: instantSchema,
  openings: z.array(
    z.object({ openedAt: instantSchema, recipient: z.string() }),
  ),
});
export type HealthLink = z.output<typeof healthLinkSchema>;

const said = (description: string) => z.string().meta({ description });
const newHealthLinkSchema = healthLinkSchema.extend({
  link: said('`shlink:/…`, for apps. Anyone who has it can open the summary.'),
  viewerUrl: said('The same link, for a browser.'),
  qrCode: said('A picture of `viewerUrl`: SVG.'),
});

/** SMART Health Links to a patient's summary. */
export const healthLinkEndpoints = {
  createHealthLink: endpoint('POST /medical/v1/patient/:id/health-link', {
    // Optional.
    body: bodySchema
      .nullish()
      .transform((body) => body ?? bodySchema.parse({})),
    responses: { 201: newHealthLinkSchema.meta({ id: 'NewHealthLink' }) },
  }),
  listHealthLinks: endpoint(
    'GET /medical/v1/patient/:id/health-link',
    z.object({ healthLinks: z.array(healthLinkSchema) }),
  ),
  revokeHealthLink: endpoint(
    'POST /medical/v1/patient/:id/health-link/:healthLinkId/revoke',
    healthLinkSchema,
  ),
} as const;
