import type { WebhookEvent } from '../../../../contract/events.ts';

const RECEIVED = {
  description: 'Received. Anything else is sent again later.',
};
const GONE = {
  description: 'Sends nothing more to this destination until it is set again.',
};

/** The responses of a receiver. */
export const WEBHOOK_RESPONSES = { '2XX': RECEIVED, '410': GONE };

/** The headers of each webhook. */
export const WEBHOOK_PARAMETERS = [
  {
    name: 'webhook-id',
    in: 'header',
    required: true,
    description: '`meta.messageId`: the same in every repetition.',
    schema: { type: 'string' },
  },
  {
    name: 'webhook-timestamp',
    in: 'header',
    required: true,
    description: 'Unix time of this attempt, in seconds.',
    schema: { type: 'string' },
  },
  {
    name: 'webhook-signature',
    in: 'header',
    required: true,
    description: 'Standard Webhooks: one `v1,` signature for each valid key.',
    schema: { type: 'string' },
  },
  {
    name: 'x-metriport-signature',
    in: 'header',
    required: true,
    description: 'Hex HMAC-SHA256 of the body, for existing receivers.',
    schema: { type: 'string' },
  },
];

/** The events as callbacks of "create webhook". */
export const WEBHOOK_CALLBACKS = {
  event: {
    '{$request.body#/url}': {
      post: {
        operationId: 'onEvent',
        summary: 'An event of the types chosen',
        description: 'The events are listed under `webhooks`.',
        security: [],
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: { $ref: '#/components/schemas/WebhookEvent' },
            },
          },
        },
        responses: WEBHOOK_RESPONSES,
      },
    },
  },
};

/** The text of an event, and an example, whose type is that of the event. */
interface DescribedEvent<Type> {
  operationId: string;
  summary: string;
  description?: string;
  example: WebhookEvent & { meta: { type: Type } };
}

export const DESCRIBED_EVENTS = {
  'network-query.hie': {
    operationId: 'onNetworkQueryHie',
    summary: 'The national networks have responded',
    description:
      'The last attempt at this source of a query has ended, completed or failed; sent again after a later retry. The link is valid for 72 hours.',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de0001',
        requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
        when: '2026-11-21T15:05:10.000Z',
        type: 'network-query.hie',
        data: { visit: '2026-11-21' },
      },
      payload: {
        patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
        externalId: 'chart-20481',
        consolidatedDataUrl:
          'https://exchange.example.org/links/record/AaICCIpDdh6oNC66',
        source: {
          type: 'hie',
          status: 'completed',
          completedAt: '2026-11-21T15:05:08.412Z',
        },
      },
    },
  },
  'network-query.pharmacy': {
    operationId: 'onNetworkQueryPharmacy',
    summary: 'The pharmacies have responded',
    description:
      'The last attempt at this source of a query has ended, completed or failed; sent again after a later retry. The link is valid for 72 hours.',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de0002',
        requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
        when: '2026-11-21T15:05:10.000Z',
        type: 'network-query.pharmacy',
        data: { visit: '2026-11-21' },
      },
      payload: {
        patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
        externalId: 'chart-20481',
        consolidatedDataUrl:
          'https://exchange.example.org/links/record/AaICCIpDdh6oNC66',
        source: {
          type: 'pharmacy',
          status: 'completed',
          completedAt: '2026-11-21T15:05:08.412Z',
        },
      },
    },
  },
  'network-query.lab': {
    operationId: 'onNetworkQueryLab',
    summary: 'The laboratories have responded',
    description:
      'The last attempt at this source of a query has ended, completed or failed; sent again after a later retry. The link is valid for 72 hours.',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de0003',
        requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
        when: '2026-11-21T15:05:10.000Z',
        type: 'network-query.lab',
        data: { visit: '2026-11-21' },
      },
      payload: {
        patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
        externalId: 'chart-20481',
        consolidatedDataUrl:
          'https://exchange.example.org/links/record/AaICCIpDdh6oNC66',
        source: {
          type: 'lab',
          status: 'completed',
          completedAt: '2026-11-21T15:05:08.412Z',
        },
      },
    },
  },
  'network-query.hie.first-data-ready': {
    operationId: 'onNetworkQueryHieFirstDataReady',
    summary: 'The first data of the national networks is in the record',
    description: 'Sent once, before the source completes.',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de0004',
        requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
        when: '2026-11-21T15:05:10.000Z',
        type: 'network-query.hie.first-data-ready',
        data: { visit: '2026-11-21' },
      },
      payload: {
        patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
        externalId: 'chart-20481',
        consolidatedDataUrl:
          'https://exchange.example.org/links/record/AaICCIpDdh6oNC66',
        source: {
          type: 'hie',
          status: 'processing',
          firstDataReadyAt: '2026-11-21T15:04:21.003Z',
        },
      },
    },
  },
  ping: {
    operationId: 'onPing',
    summary: 'A destination was set',
    description: 'Answer with `{"pong": …}`, the same value, within 4 seconds.',
    example: {
      ping: 'b5b1d2f0c3a44f7d',
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de0005',
        when: '2026-11-21T15:05:10.000Z',
        type: 'ping',
      },
    },
  },
  'webhook.test': {
    operationId: 'onWebhookTest',
    summary: 'A test on request',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de0006',
        when: '2026-11-21T15:05:10.000Z',
        type: 'webhook.test',
      },
      payload: { message: 'This is a test event.' },
    },
  },
  'patient.admit': {
    operationId: 'onPatientAdmit',
    summary: 'A patient was admitted',
    description: 'The link is valid for ten minutes.',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de0007',
        requestId: '01923ea9-5c6d-7e7f-8091-a2b3c4d5e6f7',
        when: '2026-11-21T15:05:10.000Z',
        type: 'patient.admit',
      },
      payload: {
        url: 'https://exchange.example.org/links/encounter/AaICCIpDdh6oNC66',
        patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
        externalId: 'chart-20481',
        whenSourceSent: '2026-11-21T14:41:12.000Z',
        admitTimestamp: '2026-11-19T08:12:00.000Z',
      },
    },
  },
  'patient.transfer': {
    operationId: 'onPatientTransfer',
    summary: 'A patient was transferred',
    description: 'The link is valid for ten minutes.',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de0008',
        requestId: '01923ea9-5c6d-7e7f-8091-a2b3c4d5e6f7',
        when: '2026-11-21T15:05:10.000Z',
        type: 'patient.transfer',
      },
      payload: {
        url: 'https://exchange.example.org/links/encounter/AaICCIpDdh6oNC66',
        patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
        externalId: 'chart-20481',
        whenSourceSent: '2026-11-21T14:41:12.000Z',
        admitTimestamp: '2026-11-19T08:12:00.000Z',
        transfers: [
          {
            timestamp: '2026-11-20T09:30:00.000Z',
            sourceLocation: { name: 'Mercy General ICU', type: 'unknown' },
            destinationLocation: {
              name: 'Mercy General Ward 4',
              type: 'unknown',
            },
          },
        ],
      },
    },
  },
  'patient.discharge': {
    operationId: 'onPatientDischarge',
    summary: 'A patient was discharged',
    description: 'The link is valid for ten minutes.',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de0009',
        requestId: '01923ea9-5c6d-7e7f-8091-a2b3c4d5e6f7',
        when: '2026-11-21T15:05:10.000Z',
        type: 'patient.discharge',
      },
      payload: {
        url: 'https://exchange.example.org/links/encounter/AaICCIpDdh6oNC66',
        patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
        externalId: 'chart-20481',
        whenSourceSent: '2026-11-21T14:41:12.000Z',
        admitTimestamp: '2026-11-19T08:12:00.000Z',
        dischargeTimestamp: '2026-11-21T14:30:00.000Z',
        transfers: [
          {
            timestamp: '2026-11-20T09:30:00.000Z',
            sourceLocation: { name: 'Mercy General ICU', type: 'unknown' },
            destinationLocation: {
              name: 'Mercy General Ward 4',
              type: 'unknown',
            },
          },
        ],
      },
    },
  },
  'patient.pharmacy': {
    operationId: 'onPatientPharmacy',
    summary: 'A fill was reported',
    description: 'The link is valid for ten minutes.',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de000a',
        requestId: '01923ea9-5c6d-7e7f-8091-a2b3c4d5e6f7',
        when: '2026-11-21T15:05:10.000Z',
        type: 'patient.pharmacy',
      },
      payload: {
        url: 'https://exchange.example.org/links/fill/AaICCIpDdh6oNC66',
        patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
        externalId: 'chart-20481',
        medicationDispensedDate: '2026-11-21T12:00:00.000Z',
      },
    },
  },
  'patient.laboratory': {
    operationId: 'onPatientLaboratory',
    summary: 'A result was reported',
    description: 'The link is valid for ten minutes.',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de000b',
        requestId: '01923ea9-5c6d-7e7f-8091-a2b3c4d5e6f7',
        when: '2026-11-21T15:05:10.000Z',
        type: 'patient.laboratory',
      },
      payload: {
        url: 'https://exchange.example.org/links/result/AaICCIpDdh6oNC66',
        patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
        externalId: 'chart-20481',
        specimenCollectedDate: '2026-11-21T09:05:00.000Z',
      },
    },
  },
  'medical.bulk-patient-create': {
    operationId: 'onMedicalBulkPatientCreate',
    summary: 'A bulk create is processing, has completed or has failed',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de000c',
        requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718',
        when: '2026-11-21T15:05:10.000Z',
        type: 'medical.bulk-patient-create',
      },
      bulkPatientCreate: {
        requestId: '01923ea0-3c77-7e90-a1b2-c3d4e5f60718',
        status: 'completed',
        result:
          'https://exchange.example.org/links/bulk-result/AaICCIpDdh6oNC66',
      },
    },
  },
  'medical.consolidated-data': {
    operationId: 'onMedicalConsolidatedData',
    summary: 'A consolidated query has ended',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de000d',
        requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
        when: '2026-11-21T15:05:10.000Z',
        type: 'medical.consolidated-data',
        data: { visit: '2026-11-21' },
      },
      patients: [
        {
          patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
          externalId: 'chart-20481',
          additionalIds: {
            athenahealth: ['a-195900.E-10447'],
          },
          status: 'completed',
          bundle: {
            resourceType: 'Bundle',
            type: 'collection',
            entry: [
              {
                resource: {
                  resourceType: 'DocumentReference',
                  status: 'current',
                  content: [
                    {
                      attachment: {
                        contentType: 'application/pdf',
                        url: 'https://exchange.example.org/links/consolidated/AaICCIpDdh6oNC66',
                      },
                    },
                  ],
                },
              },
            ],
          },
        },
      ],
    },
  },
  'medical.document-bulk-download-urls': {
    operationId: 'onMedicalDocumentBulkDownloadUrls',
    summary: 'Links to all documents of a patient are ready',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de000e',
        requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
        when: '2026-11-21T15:05:10.000Z',
        type: 'medical.document-bulk-download-urls',
      },
      patients: [
        {
          patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
          externalId: 'chart-20481',
          additionalIds: {
            athenahealth: ['a-195900.E-10447'],
          },
          status: 'completed',
          documents: [
            {
              id: '01923ea5-3e10-7b5c-8d6e-7f8091a2b3c4',
              fileName: 'discharge-summary.xml',
              mimeType: 'application/xml',
              size: 48211,
              url: 'https://exchange.example.org/links/document/AaICCIpDdh6oNC66',
            },
          ],
        },
      ],
    },
  },
  'ias.identity.verified': {
    operationId: 'onIasIdentityVerified',
    summary: 'A patient’s identity was verified',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de000f',
        when: '2026-11-21T15:05:10.000Z',
        type: 'ias.identity.verified',
      },
      payload: {
        patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
        externalId: 'chart-20481',
        proofedIdentityId: '01923eb1-77aa-7c10-8e21-3a4b5c6d7e8f',
        sessionId: '01923eb0-12ab-7d34-9f56-0718293a4b5c',
        status: 'verified',
        verifiedAt: '2026-11-21T15:05:09.000Z',
      },
    },
  },
  'message.received': {
    operationId: 'onMessageReceived',
    summary: 'An inbound message arrived',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de0010',
        when: '2026-11-21T15:05:10.000Z',
        type: 'message.received',
      },
      payload: {
        id: '01923ea8-4b5c-7d6e-9f70-8192a3b4c5d6',
        patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
        externalId: 'chart-20481',
        direction: 'inbound',
        status: 'completed',
        transportMethod: 'direct',
        destination: 'clinic@direct.example.org',
        subject: 'Re: Referral',
        body: 'Thank you, we have scheduled the visit.',
        sentAt: '2026-11-21T15:05:00.000Z',
        updatedAt: '2026-11-21T15:05:00.000Z',
      },
    },
  },
  'message.status': {
    operationId: 'onMessageStatus',
    summary: 'An outbound message was delivered or has failed',
    example: {
      meta: {
        messageId: '01923ea2-1b00-7000-8000-0051c0de0011',
        when: '2026-11-21T15:05:10.000Z',
        type: 'message.status',
      },
      payload: {
        id: '01923ea8-4b5c-7d6e-9f70-8192a3b4c5d6',
        patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
        direction: 'outbound',
        status: 'completed',
        transportMethod: 'direct',
        destination: 'dr.jones@direct.example.org',
        subject: 'Referral',
        body: 'Please see the attached summary.',
        sentAt: '2026-11-21T15:04:05.000Z',
        updatedAt: '2026-11-21T15:05:07.000Z',
        completedAt: '2026-11-21T15:05:07.000Z',
      },
    },
  },
} satisfies {
  readonly [Type in WebhookEvent['meta']['type']]: DescribedEvent<Type>;
};
