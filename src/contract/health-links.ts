import { z } from 'zod';
import { NOT_BLANK, TEXT_LENGTH_MAX } from './bounds.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { component, idSchema, instantSchema } from './primitives.ts';

/** Lifetimes of a health link in seconds: a year at most, a week by default. */
const SECONDS = { max: 31_536_000, default: 604_800 };
/** Wrong passcodes in the life of a link; then it has ended. */
export const HEALTH_LINK_ATTEMPTS = 5;

const label = z.string().trim().min(1).max(80);
const bodySchema = z.object({
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
  isOneTime: z
    .boolean()
    .default(false)
    .describe('The link ends when it has been opened.'),
  label: label
    .meta({
      ...NOT_BLANK,
      description: 'Anyone who sees the link can read it: no name.',
    })
    .optional(),
});

const healthLinkSchema = component('HealthLink', {
  id: idSchema,
  status: z
    .enum(['active', 'expired', 'revoked', 'used', 'locked'])
    .describe(
      '`used`: it was for one time. `locked`: the passcode was wrong too often.',
    ),
  label: z.string().optional(),
  hasPasscode: z.boolean(),
  isOneTime: z.boolean(),
  createdAt: instantSchema,
  createdBy: z.string(),
  expiresAt: instantSchema,
  openings: z
    .array(z.object({ openedAt: instantSchema, recipient: z.string() }))
    .describe('The last 20, newest first; the recipient as it named itself.'),
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
  createHealthLink: endpoint(
    'POST /medical/v1/patient/:id/health-link',
    {
      tag: 'consolidated data',
      reference: 'Health links',
      summary: 'Create a health link',
      description:
        "A SMART Health Link: whoever has it reads the patient's International Patient Summary, as it is then, without an API key. The link is returned once; it is not stored.",
    },
    {
      // Optional.
      body: bodySchema
        .nullish()
        .transform((body) => body ?? bodySchema.parse({})),
      responses: { 201: newHealthLinkSchema.meta({ id: 'NewHealthLink' }) },
    },
  ),
  listHealthLinks: endpoint(
    'GET /medical/v1/patient/:id/health-link',
    {
      tag: 'consolidated data',
      reference: 'Health links',
      summary: 'List the health links of a patient',
      description:
        'Newest first, including those that have ended; at most 200. Who opened them is listed too.',
    },
    z.object({ healthLinks: z.array(healthLinkSchema) }),
  ),
  revokeHealthLink: endpoint(
    'POST /medical/v1/patient/:id/health-link/:healthLinkId/revoke',
    {
      tag: 'consolidated data',
      reference: 'Health links',
      summary: 'Revoke a health link',
      description:
        'Holds from the next request on. A link that has ended already is returned as it is.',
    },
    healthLinkSchema,
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const healthLinkExamples = {
  createHealthLink: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    body: {
      expirationInSeconds: 604800,
      passcode: 'tulip-43-harbour',
      label: 'For the clinic abroad',
    },
    answer: {
      id: '01923eb3-4c5d-7e6f-8a90-1b2c3d4e5f60',
      status: 'active',
      label: 'For the clinic abroad',
      hasPasscode: true,
      isOneTime: false,
      createdAt: '2026-11-28T10:00:00.000Z',
      createdBy: 'key:01923e9a-11c0-7a52-b7de-0f4c6a8d2e16',
      expiresAt: '2026-12-05T10:00:00.000Z',
      openings: [],
      link: 'shlink:/eyJ1cmwiOiJodHRwczovL2V4Y2hhbmdlLmV4YW1wbGUub3JnL3NobC9JOTFyaGJhM1ZzdUdYR2NoY25yNlZIbFFGS3hmRTI4a3VaMHNzYkV1eG5vIiwia2V5IjoicnhUZ1lsT2FLSlBGdGNFZDBxY2NlTjh3RVU0cDk0U3FBd0lXUWU2dVg3USIsImZsYWciOiJMUCIsInYiOjF9',
      viewerUrl: 'https://exchange.example.org/shl/view#shlink:/eyJ1cmwiOi…',
      qrCode:
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 750 750">…</svg>',
    },
  },

  listHealthLinks: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    answer: {
      healthLinks: [
        {
          id: '01923eb3-4c5d-7e6f-8a90-1b2c3d4e5f60',
          status: 'active',
          label: 'For the clinic abroad',
          hasPasscode: true,
          isOneTime: false,
          createdAt: '2026-11-28T10:00:00.000Z',
          createdBy: 'key:01923e9a-11c0-7a52-b7de-0f4c6a8d2e16',
          expiresAt: '2026-12-05T10:00:00.000Z',
          openings: [
            {
              openedAt: '2026-11-28T12:30:00.000Z',
              recipient: 'Dr. Rossi, Ospedale Civile',
            },
          ],
        },
      ],
    },
  },

  revokeHealthLink: {
    params: {
      id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      healthLinkId: '01923eb3-4c5d-7e6f-8a90-1b2c3d4e5f60',
    },
    answer: {
      id: '01923eb3-4c5d-7e6f-8a90-1b2c3d4e5f60',
      status: 'revoked',
      label: 'For the clinic abroad',
      hasPasscode: true,
      isOneTime: false,
      createdAt: '2026-11-28T10:00:00.000Z',
      createdBy: 'key:01923e9a-11c0-7a52-b7de-0f4c6a8d2e16',
      expiresAt: '2026-12-05T10:00:00.000Z',
      openings: [
        {
          openedAt: '2026-11-28T12:30:00.000Z',
          recipient: 'Dr. Rossi, Ospedale Civile',
        },
      ],
    },
  },
} satisfies ExamplesOf<typeof healthLinkEndpoints>;
