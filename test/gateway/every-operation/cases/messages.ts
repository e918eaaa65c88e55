import type { messageEndpoints } from '../../../../src/contract/messages.ts';
import {
  type Build,
  badBody,
  badPages,
  badQuery,
  NO_ID,
  type OperationCases,
} from '../operation-cases.ts';
import { documentOf } from './documents.ts';

const note = {
  destination: 'dr@direct.example.org',
  subject: 'Referral',
  body: 'Please see.',
};
const sentMessage: Build = async ({ make }) => {
  const { id } = await make.call(
    'POST',
    `message?patientId=${await make.patient()}`,
    note,
  );
  return { params: { id } };
};

export const messageCases: Record<
  keyof typeof messageEndpoints,
  OperationCases
> = {
  listMessages: {
    good: async (world) => {
      await sentMessage(world);
      return {
        query: {
          direction: 'outbound',
          destination: note.destination,
          status: 'processing',
          sort: 'sentAt=desc',
        },
      };
    },
    refused: [
      ...badPages(),
      badQuery({ direction: 'up' }, 'direction', 'expected one of'),
      badQuery({ patientId: 'x' }, 'patientId', 'expected a UUID'),
      badQuery({ status: 'waiting' }, 'status', 'expected one of'),
    ],
  },
  getMessage: { good: sentMessage },
  sendMessage: {
    good: async (world) => {
      const { id, patientId } = await documentOf(world);
      const destination = 'urn:oid:2.16.840.1.113883.3.9621.7.42';
      return {
        query: { patientId },
        body: {
          ...note,
          destination,
          network: 'EHEX',
          attachments: [id],
          intendedRecipientNpi: ['1234567893'],
        },
      };
    },
    refused: [
      badQuery({ patientId: undefined }, 'patientId', 'patientId is required'),
      badBody({ destination: undefined }, 'destination', 'is required'),
      badBody({ destination: 'nowhere' }, 'destination', 'neither an OID'),
      badBody(
        { destination: note.destination },
        'network',
        'is allowed only if destination is an OID',
      ),
      badBody({ network: 'FAX' }, 'network', 'expected one of'),
      badBody({ subject: ' ' }, 'subject', 'is required'),
      badBody(
        { subject: 'x'.repeat(251) },
        'subject',
        'at most 250 characters',
      ),
      badBody(
        { body: 'x'.repeat(100_001) },
        'body',
        'at most 100000 characters',
      ),
      badBody(
        { body: ' ', attachments: [] },
        'body',
        'a message needs a body, attachments or both',
      ),
      badBody({ attachments: ['x'] }, 'attachments[0]', 'expected a UUID'),
      badBody(
        { attachments: [NO_ID] },
        'attachments[0]',
        'is not a document of this patient',
      ),
      badBody(
        { intendedRecipientNpi: ['1234567890'] },
        'intendedRecipientNpi[0]',
        'is not a valid NPI',
      ),
      {
        what: "another patient's document",
        status: 400,
        send: async (world, good) => ({
          ...good,
          body: { ...note, attachments: [(await documentOf(world)).id] },
        }),
        path: 'attachments[0]',
        message: 'is not a document of this patient',
      },
      {
        what: 'attachments of more than 20 MB',
        status: 400,
        send: async (world) => {
          const { id, patientId } = await documentOf(world, {
            sizeBytes: 20_000_001,
          });
          return { query: { patientId }, body: { ...note, attachments: [id] } };
        },
        path: 'attachments',
        message: 'at most 20000000 are accepted',
      },
      {
        what: 'an unknown patient',
        status: 404,
        send: () => ({ query: { patientId: NO_ID }, body: note }),
        message: 'Patient not found',
      },
    ],
  },
};
