import { z } from 'zod';
import { flag, httpUrl, mllpSenders, origins, port, proxies, senders } from './value-types.ts';

/** Of the gateway, and of what it offers to callers, partners and senders. */
export const GATEWAY_VARIABLES = {
  GATEWAY_HOST: z.string().default('127.0.0.1').describe('Address on which the gateway listens'),
  GATEWAY_PORT: port.default(0).describe('Port of the gateway; 0 for any free port'),
  GATEWAY_DRAIN_SECONDS: z.coerce
    .number()
    .min(0)
    .max(10)
    .default(0)
    .describe(
      'How long a gateway that is asked to end is not ready but still takes requests, so that the proxies in front of it notice; longer than the interval of their health checks',
    ),
  TRUSTED_PROXIES: proxies
    .default([])
    .describe(
      'Proxies in front of the gateway whose X-Forwarded-For is trusted: addresses or ranges, separated by spaces',
    ),
  ACCOUNT_CONNECTIONS_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .default(8)
    .describe(
      'Maximum number of PostgreSQL connections that one account may use at a time in each gateway, capped at half of the pool; its further requests wait',
    ),
  SHARED_CONNECTIONS_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .default(2)
    .describe(
      'Number of PostgreSQL connections that accounts share evenly in each gateway while several of them are active (each may use one): about the number of cores of PostgreSQL',
    ),
  ACCOUNT_REQUESTS_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .default(200)
    .describe(
      'Maximum number of concurrent requests of one account in each gateway; beyond it, 503 with Retry-After',
    ),
  PUBLIC_BASE_URL: httpUrl.describe('URL at which callers and sources reach the gateway'),
  ALLOW_LOOPBACK_WEBHOOKS: flag
    .default(false)
    .describe('Embedded stack only: allows http webhook destinations on this machine'),
  WEBHOOK_TRUSTED_ORIGINS: origins
    .default([])
    .describe(
      'Origins, separated by spaces, to which webhooks may be sent although they are private or plain http, such as our own receiver',
    ),
  NOTIFICATION_SENDERS: senders
    .default([])
    .describe(
      'Systems that may send notifications (ADT, fills, results): "name=secret", separated by spaces; append "@America/New_York" if the sender’s times have no offset and are not UTC',
    ),
  MLLP_HOST: z.string().default('127.0.0.1').describe('Address on which the gateway listens for MLLP'),
  MLLP_PORT: port
    .optional()
    .describe('Port on which the gateway takes HL7 v2 messages by MLLP; without it, by HTTP only'),
  MLLP_SENDERS: mllpSenders
    .default([])
    .describe(
      'How senders of NOTIFICATION_SENDERS are recognised on the MLLP port: "name=certificate:name in the client certificate" or "name=MSH-3|MSH-4" (+ for a space), separated by spaces',
    ),
  MLLP_TLS_CERT: z
    .string()
    .optional()
    .describe('Our certificate (PEM, with its chain) for the MLLP port; enables TLS'),
  MLLP_TLS_KEY: z.string().optional().describe('The key of MLLP_TLS_CERT (PEM)'),
  MLLP_TLS_CLIENT_CA: z
    .string()
    .optional()
    .describe(
      'Authorities (PEM) of client certificates for the MLLP port; with it, each client must have one',
    ),
  IDENTITY_PARTNER_BASE_URL: httpUrl
    .optional()
    .describe(
      'Base URL of the partner that verifies identities for individual access; without it, identity operations return 503',
    ),
  IDENTITY_PARTNER_SECRET: z
    .string()
    .optional()
    .describe('Key with which the identity partner and the exchange sign (Standard Webhooks)'),
  MESSAGE_PARTNER_BASE_URL: httpUrl
    .optional()
    .describe(
      'Base URL of the partner that transports messages by XDR and Direct; without it, sending returns 503',
    ),
  MESSAGE_PARTNER_SECRET: z
    .string()
    .optional()
    .describe('Key with which the transport partner and the exchange sign (Standard Webhooks)'),
} as const;
