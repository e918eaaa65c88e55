import { z } from 'zod';
import { TEXT_LENGTH_MAX } from './bounds.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { itemCount } from './paging.ts';
import { component, idSchema, usStateSchema } from './primitives.ts';

/** An organization of a network's directory. */
export const directoryEntrySchema = component('DirectoryEntry', {
  directory: z.string().describe('The network whose directory it is in.'),
  id: z.string(),
  name: z.string().optional(),
  active: z.boolean(),
  homeCommunity: z.string().optional().describe('An OID.'),
  npi: z.string().optional(),
  partOf: z.string().optional().describe('The id of its parent.'),
  reachedThrough: z
    .string()
    .optional()
    .describe(
      'The id of the entry whose gateway answers for it: itself or a parent. Absent if it cannot be queried.',
    ),
  city: z.string().optional(),
  state: z.string().optional(),
  zip: z.string().optional(),
  position: z
    .object({
      latitude: z.number(),
      longitude: z.number(),
      from: z
        .enum(['location', 'zip'])
        .describe('`zip`: the middle of the area of its zip code.'),
    })
    .optional(),
});
export type DirectoryEntryResponse = z.output<typeof directoryEntrySchema>;

export const directoryOrganizationSchema = z
  .looseObject({ resourceType: z.literal('Organization'), id: z.string() })
  .meta({
    id: 'DirectoryOrganization',
    description: 'A FHIR R4 Organization.',
  });

/** Which gateways of a network a query of a patient asks. */
export const gatewayChoiceSchema = component('GatewayChoice', {
  connection: z.string().describe('The name of the connection.'),
  directory: z.string(),
  withinMiles: z.number(),
  gatewaysMax: z.number().int(),
  chosen: z.array(
    z.object({
      homeCommunity: z.string(),
      name: z.string(),
      because: z
        .enum(['locator', 'known', 'near', 'state'])
        .describe(
          '`locator`: it locates the records of others; `known`: it had the patient before; `near`: it is within `withinMiles` of an address of the patient; `state`: its place is not known, its state is the patient’s.',
        ),
      miles: z.number().optional(),
    }),
  ),
  leftOut: z
    .record(z.string(), z.number().int())
    .describe('How many gateways are not asked, by reason.'),
});
const DIRECTORY_ENTRIES_MAX = 500;

const text = z.string().trim().min(1).max(TEXT_LENGTH_MAX);

export const networkDirectoryEndpoints = {
  searchDirectory: endpoint(
    'GET /medical/v1/network/directory',
    {
      tag: 'network query',
      reference: 'Operations around E1–E14',
      summary: 'Search the directories of networks',
      description:
        'Organizations of the networks whose directories are loaded: active ones first, then by name. If there are more than `count`, narrow the search.',
    },
    {
      query: z.object({
        directory: text.optional(),
        name: text.optional().describe('A part of the name.'),
        city: text.optional(),
        state: usStateSchema.optional(),
        zip: z
          .string()
          .max(5, { error: 'zip must have 1 to 5 digits' })
          .regex(/^\d{1,5}$/, { error: 'zip must have 1 to 5 digits' })
          .optional()
          .describe('A zip code, or its beginning.'),
        npi: text.optional(),
        oid: text.optional().describe('A home community.'),
        count: itemCount
          .max(DIRECTORY_ENTRIES_MAX, {
            error: `count must be at most ${DIRECTORY_ENTRIES_MAX}`,
          })
          .default(50),
        output: z.enum(['fhir', 'dto']).default('dto'),
      }),
      responses: {
        200: z.object({
          entries: z.array(
            z.union([directoryOrganizationSchema, directoryEntrySchema]),
          ),
          hasMore: z.boolean(),
        }),
      },
    },
  ),
  explainGateways: endpoint(
    'GET /medical/v1/network/gateways',
    {
      tag: 'network query',
      reference: 'Operations around E1–E14',
      summary: 'Gateways that a query would ask',
      description:
        'Of each network that the account is connected to: the gateways that a query of this patient would ask now, in their order, and how many are left out, by reason. Nothing is asked.',
    },
    {
      query: z.object({ patientId: idSchema }),
      responses: { 200: z.object({ networks: z.array(gatewayChoiceSchema) }) },
      errors: [404],
    },
  ),
} as const;

export const networkDirectoryExamples = {
  searchDirectory: {
    query: { state: 'OR', name: 'general' },
    answer: {
      entries: [
        {
          directory: 'carequality',
          id: '2.16.840.1.113883.3.9990.1',
          name: 'Portland General Hospital',
          active: true,
          homeCommunity: '2.16.840.1.113883.3.9990.1',
          partOf: '2.16.840.1.113883.3.9990',
          reachedThrough: '2.16.840.1.113883.3.9990',
          city: 'Portland',
          state: 'OR',
          zip: '97201',
          position: {
            latitude: 45.5,
            longitude: -122.69,
            from: 'zip' as const,
          },
        },
      ],
      hasMore: false,
    },
  },

  explainGateways: {
    query: { patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    answer: {
      networks: [
        {
          connection: 'Carequality',
          directory: 'carequality',
          withinMiles: 50,
          gatewaysMax: 500,
          chosen: [
            {
              homeCommunity: '2.16.840.1.113883.3.9990',
              name: 'Portland Hospitals',
              because: 'near' as const,
              miles: 3.2,
            },
          ],
          leftOut: { inactive: 12, 'too far': 418 },
        },
      ],
    },
  },
} satisfies ExamplesOf<typeof networkDirectoryEndpoints>;
