import type { consentEndpoints } from '../../../../src/contract/consents.ts';
import { EXAMPLES } from '../../../../src/exchange/platform/http/openapi/examples.ts';
import { badBody, NO_ID, type OperationCases } from '../operation-cases.ts';
import type { World } from '../world.ts';

const { patient: _, ...BODY } = {
  patient: undefined,
  ...EXAMPLES.recordConsent.body,
} as Record<string, unknown>;
export const consentBody = (changes: object = {}) => ({
  ...BODY,
  performer: [{ display: 'The patient' }],
  ...changes,
});

const recorded = async ({ make }: World) => {
  const id = await make.patient();
  const consent = await make.call(
    'POST',
    `patient/${id}/consent`,
    consentBody(),
  );
  return { params: { id, consentId: consent.id as string } };
};
const provision = (changes: object) => ({
  provision: { type: 'deny', ...changes },
});

export const consentCases: Record<
  keyof typeof consentEndpoints,
  OperationCases
> = {
  recordConsent: {
    good: async ({ make }) => ({
      params: { id: await make.patient() },
      body: consentBody(),
    }),
    more: [
      {
        what: 'a permit without limits, by an attachment',
        status: 201,
        send: async ({ make }) => ({
          params: { id: await make.patient() },
          body: consentBody({
            sourceReference: undefined,
            sourceAttachment: { url: 'https://clinic.example.org/forms/12' },
            provision: { type: 'permit' },
            text: { status: 'generated', div: '<div/>' },
          }),
        }),
        has: { status: 'active' },
      },
    ],
    refused: [
      badBody(
        { resourceType: 'Patient' },
        'resourceType',
        'expected a FHIR Consent',
      ),
      badBody({ status: 'draft' }, 'status', 'expected active'),
      badBody(
        { scope: { coding: [{ code: 'research' }] } },
        'scope',
        'expected patient-privacy',
      ),
      badBody({ category: [] }, 'category', ''),
      badBody(
        { patient: { reference: `Patient/${NO_ID}` } },
        'patient.reference',
        'as in the path',
      ),
      badBody({ dateTime: '2026' }, 'dateTime', 'expected a day'),
      badBody({ performer: [] }, 'performer', ''),
      badBody(
        { performer: [{}] },
        'performer[0]',
        'needs a reference or a display',
      ),
      badBody({ organization: undefined }, 'organization', ''),
      badBody(
        { sourceReference: undefined },
        'sourceReference',
        'the evidence is required',
      ),
      badBody({ policy: [] }, 'policy', ''),
      badBody(
        { modifierExtension: [{}] },
        'modifierExtension',
        'is not supported',
      ),
      badBody({ provision: {} }, 'provision.type', 'expected permit or deny'),
      badBody(
        provision({ provision: [{}] }),
        'provision',
        'could not be applied',
      ),
      badBody(
        provision({ class: [{ code: 'Observation' }] }),
        'provision',
        'could not be applied',
      ),
      badBody(
        provision({ securityLabel: [] }),
        'provision.securityLabel',
        'must have at',
      ),
      badBody(
        provision({ purpose: [{ code: 'HRESCH' }] }),
        'provision.purpose[0].code',
        'expected TREAT or PATRQT',
      ),
      badBody(
        provision({
          actor: [
            {
              role: { coding: [{ code: 'CST' }] },
              reference: { identifier: { value: 'x' } },
            },
          ],
        }),
        'provision.actor[0].reference.identifier.value',
        'expected a source',
      ),
      badBody(
        provision({
          actor: [
            {
              role: { coding: [{ code: 'IRCP' }] },
              reference: { identifier: { value: 'lab' } },
            },
          ],
        }),
        'provision.actor[0].role.coding[0].code',
        'expected CST',
      ),
      badBody(
        provision({
          securityLabel: [{ code: 'R' }],
          purpose: [{ code: 'TREAT' }],
        }),
        'provision.securityLabel',
        'cannot be combined',
      ),
      badBody(
        provision({ period: { start: '2026-11-21', end: '2026-11-20' } }),
        'provision.period.end',
        'must be after the start',
      ),
    ],
  },
  listConsents: {
    good: async (world) => ({
      params: { id: (await recorded(world)).params.id },
    }),
  },
  endConsent: {
    good: recorded,
    more: [
      {
        what: 'a consent that has ended',
        status: 200,
        send: async (world) => {
          const sent = await recorded(world);
          await world.make.call(
            'POST',
            `patient/${sent.params.id}/consent/${sent.params.consentId}/end`,
          );
          return sent;
        },
        has: { status: 'inactive' },
      },
    ],
    refused: [
      {
        what: 'a consent of another patient',
        status: 404,
        send: async (world) => {
          const { params } = await recorded(world);
          return { params: { ...params, id: await world.make.patient() } };
        },
        message: 'Consent not found',
      },
    ],
  },
};
