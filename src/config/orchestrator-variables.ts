import { z } from 'zod';
import { flag, httpUrl, port } from './value-types.ts';

/** Of the orchestrator, the starter and the webhook receiver. */
export const ORCHESTRATOR_VARIABLES = {
  EXCHANGE_BASE_URL: httpUrl.describe(
    'Orchestrator: URL of the exchange, ours or another service with the same interface',
  ),
  EXCHANGE_API_KEY: z.string().optional().describe('Orchestrator: API key for another service'),
  EXCHANGE_ACCOUNT_ID: z.uuid().optional().describe('Orchestrator: account of our own exchange to act for'),
  EXCHANGE_IDEMPOTENCY: flag
    .default(true)
    .describe('Orchestrator: whether the exchange honours Idempotency-Key'),
  ORCHESTRATOR_FILES: z
    .url()
    .describe(
      'Storage for files of bulk onboardings, shared by orchestrator workers and starter: file:///a/folder or s3://bucket/prefix',
    ),

  API_KEY: z
    .string()
    .optional()
    .describe('Starter: API key for the exchange at --base-url; not needed for the embedded stack'),

  RECEIVER_HOST: z.string().default('127.0.0.1').describe('Address on which the webhook receiver listens'),
  RECEIVER_PORT: port.default(0).describe('Port of the webhook receiver; 0 for any free port'),
  RECEIVER_LOG: z.string().optional().describe('File in which the receiver logs each webhook (ids only)'),
  WEBHOOK_KEY: z
    .string()
    .optional()
    .describe('Key with which incoming webhooks are signed (webhookKey of the settings)'),
  INTAKE_KEY: z.string().optional().describe('Key with which intake webhooks (an EHR, a form) are signed'),
} as const;
