import { z } from 'zod';
import { BULK_CREATE_EVENT_TYPE } from '../../contract/bulk-create.ts';
import type { BulkCreateSignal } from '../../contract/bulk-onboarding.ts';
import { IDENTITY_VERIFIED_EVENT_TYPE } from '../../contract/identity.ts';
import type {
  IdentityVerifiedSignal,
  NetworkQuerySignal,
} from '../../contract/patient-onboarding.ts';
import { SOURCE_TYPES } from '../../contract/primitives.ts';
import { ORCHESTRATION_METADATA_KEY } from '../../contract/temporal.ts';

const id = z.string().min(1).max(255);

/**
 * The members of every webhook; another service may send unknown types and
 * members.
 */
const messageSchema = z.object({
  ping: z.string().max(1000).optional(),
  meta: z.object({
    messageId: id,
    requestId: id.optional(),
    when: z.string().max(50).optional(),
    type: z.string().min(1).max(100),
    data: z.record(z.string(), z.unknown()).nullish(),
  }),
  payload: z.unknown().optional(),
  bulkPatientCreate: z.unknown().optional(),
});

type Meta = z.output<typeof messageSchema>['meta'];

/**
 * `network-query.<source>` is sent when data was merged (docs/interface.md,
 * "Webhooks out"), so no status means completed.
 */
const sourceEndSchema = z.object({
  patientId: id.optional(),
  consolidatedDataUrl: z.string().max(4_000).optional(),
  source: z
    .object({
      status: z.enum(['completed', 'failed']).default('completed'),
      completedAt: z.string().max(50).optional(),
    })
    .prefault({}),
});

const opaqueIdSchema = z.string().regex(/^[\w-]{1,64}$/);

const identitySchema = z.object({
  proofedIdentityId: id,
  patientId: id.optional(),
});

const bulkCreateSchema = z.object({
  requestId: opaqueIdSchema,
  status: z.enum(['processing', 'completed', 'failed']),
  result: z.string().max(4_000).optional(),
  reason: z.string().max(1_000).optional(),
});

export type WebhookMessage = NonNullable<ReturnType<typeof readWebhookMessage>>;

/** Reads a webhook of the interface. Returns undefined for any other body. */
export function readWebhookMessage(rawBody: Buffer) {
  const parsed = messageSchema.safeParse(parseJson(rawBody));
  if (!parsed.success) return undefined;
  const { meta, ping, payload } = parsed.data;
  const orchestrationId = opaqueIdSchema.safeParse(
    meta.data?.[ORCHESTRATION_METADATA_KEY],
  );
  return {
    messageId: meta.messageId,
    type: meta.type,
    requestId: meta.requestId,
    ping,
    /** The id of the onboarding, from the query's metadata. */
    orchestrationId: orchestrationId.data,
    /** Only for `network-query.<source>` with a request id. */
    sourceEnd: readSourceEnd(meta, payload),
    /** Only for `ias.identity.verified`. */
    identityVerified: readIdentity(meta, payload),
    /** Only for `medical.bulk-patient-create`. */
    bulkCreate: readBulkCreate(parsed.data),
  };
}

const readIdentity = (
  { type }: Meta,
  payload: unknown,
): IdentityVerifiedSignal | undefined =>
  type === IDENTITY_VERIFIED_EVENT_TYPE
    ? identitySchema.safeParse(payload).data
    : undefined;

function readBulkCreate({
  meta,
  bulkPatientCreate,
}: z.output<typeof messageSchema>): BulkCreateSignal | undefined {
  if (meta.type !== BULK_CREATE_EVENT_TYPE) return undefined;
  const state = bulkCreateSchema.safeParse(bulkPatientCreate);
  return state.success
    ? { messageId: meta.messageId, ...state.data }
    : undefined;
}

function readSourceEnd(
  meta: Meta,
  payload: unknown,
): NetworkQuerySignal | undefined {
  const source = SOURCE_TYPES.find(
    (type) => meta.type === `network-query.${type}`,
  );
  const end = sourceEndSchema.safeParse(payload ?? {});
  if (source === undefined || meta.requestId === undefined || !end.success)
    return undefined;
  return {
    messageId: meta.messageId,
    requestId: meta.requestId,
    patientId: end.data.patientId,
    source,
    status: end.data.source.status,
    completedAt:
      end.data.source.completedAt ?? meta.when ?? new Date().toISOString(),
    consolidatedDataUrl: end.data.consolidatedDataUrl,
  };
}

export function parseJson(rawBody: Buffer): unknown {
  try {
    return JSON.parse(rawBody.toString('utf8'));
  } catch {
    return undefined;
  }
}
