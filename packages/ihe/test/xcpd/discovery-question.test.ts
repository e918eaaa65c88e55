import { describe, expect, test } from 'vitest';
import {
  buildPatientDiscovery,
  type DiscoveryCriteria,
  firstNamed,
  isDeferredDiscovery,
  type PatientDiscoveryQuestion,
  readPatientDiscovery,
} from '../../src/index.ts';
import { HL7V3 } from '../../src/namespaces.ts';
import { childNames, payloadOf } from '../payloads.ts';

const name = (family: string, given: string[]) => ({
  family: [family],
  given,
  prefix: [],
  suffix: [],
  use: undefined,
});

const address = (zip: string) => ({
  lines: ['1 Main St <B>'],
  city: 'Boston',
  state: 'MA',
  zip,
  country: undefined,
  use: undefined,
});

const CRITERIA: DiscoveryCriteria = {
  genders: ['F'],
  birthTimes: ['19630804'],
  birthPlaceAddresses: [address('02110')],
  birthPlaceNames: ['Boston'],
  ids: [
    { root: '2.16.840.1.113883.4.1', extension: '999-12-3401' },
    { root: '2.999.1.5', extension: 'p&1' },
  ],
  names: [name("O'Hara & Co", ['Ann', 'Lee']), name('Miller', ['Ann'])],
  mothersMaidenNames: [name('Jones', [])],
  addresses: [address('02111'), address('02112')],
  telecoms: ['tel:+1-617-555-0100', 'mailto:a@example.com'],
  principalCareProviderIds: [
    { root: '2.16.840.1.113883.4.6', extension: '1234567893' },
  ],
};

const QUESTION: PatientDiscoveryQuestion = {
  messageId: { root: '2.999.1', extension: 'm1' },
  queryId: { root: '2.999.1', extension: 'q1' },
  sentAt: new Date('2026-03-01T12:00:00Z'),
  processing: 'T',
  sender: { deviceId: '2.999.1.1', homeCommunity: '2.999.1' },
  receiver: { deviceId: '2.999.2.1', homeCommunity: '2.999.2' },
  criteria: CRITERIA,
  ownIdAuthority: '2.999.1.5',
};

describe("ITI-55's question", () => {
  test('comes back as it was asked', () => {
    const request = readPatientDiscovery(
      payloadOf(buildPatientDiscovery(QUESTION)),
    );

    expect(request).toEqual({
      messageId: QUESTION.messageId,
      queryId: QUESTION.queryId,
      senderCommunity: '2.999.1',
      senderDevice: '2.999.1.1',
      receiverCommunity: '2.999.2',
      receiverDevice: '2.999.2.1',
      priority: 'I',
      respondTo: undefined,
      ownIdAuthority: '2.999.1.5',
      criteria: CRITERIA,
      missing: [],
    });
  });

  test("has everything in the order of HL7's schema", () => {
    const message = payloadOf(
      buildPatientDiscovery({ ...QUESTION, respondTo: 'https://us.example' }),
    );
    const process = firstNamed(message, HL7V3, 'controlActProcess');
    const query = firstNamed(process, HL7V3, 'queryByParameter');

    expect(childNames(message)).toEqual([
      'id',
      'creationTime',
      'interactionId',
      'processingCode',
      'processingModeCode',
      'acceptAckCode',
      'receiver',
      'respondTo',
      'sender',
      'controlActProcess',
    ]);
    expect(childNames(process)).toEqual([
      'code',
      'authorOrPerformer',
      'queryByParameter',
    ]);
    expect(childNames(query)).toEqual([
      'queryId',
      'statusCode',
      'responseModalityCode',
      'responsePriorityCode',
      'parameterList',
    ]);
    expect(childNames(firstNamed(query, HL7V3, 'parameterList'))).toEqual([
      'livingSubjectAdministrativeGender',
      'livingSubjectBirthPlaceAddress',
      'livingSubjectBirthPlaceName',
      'livingSubjectBirthTime',
      'livingSubjectId',
      'livingSubjectId',
      'livingSubjectName',
      'livingSubjectName',
      'mothersMaidenName',
      'patientAddress',
      'patientTelecom',
      'principalCareProviderId',
    ]);
  });

  test('has one value in each name, and all addresses in one parameter', () => {
    const list = firstNamed(
      payloadOf(buildPatientDiscovery(QUESTION)),
      HL7V3,
      'controlActProcess',
      'queryByParameter',
      'parameterList',
    );
    const valuesOf = (parameter: string) =>
      (list?.children ?? [])
        .filter((child) => child.name === parameter)
        .map((child) => childNames(child));

    expect(valuesOf('livingSubjectName')).toEqual([
      ['value', 'semanticsText'],
      ['value', 'semanticsText'],
    ]);
    expect(valuesOf('patientAddress')).toEqual([
      ['value', 'value', 'semanticsText'],
    ]);
  });

  test('leaves out what is not known', () => {
    const request = payloadOf(
      buildPatientDiscovery({
        ...QUESTION,
        criteria: { ...CRITERIA, genders: [], telecoms: [] },
      }),
    );

    expect(readPatientDiscovery(request).criteria).toMatchObject({
      genders: [],
      telecoms: [],
    });
  });

  test('is deferred only with an address that an answer can reach', () => {
    const asked = (respondTo?: string) =>
      isDeferredDiscovery(
        readPatientDiscovery(
          payloadOf(buildPatientDiscovery({ ...QUESTION, respondTo })),
        ),
      );

    expect(asked('https://us.example/deferred')).toBe(true);
    expect(asked('***REPLACEME***')).toBe(false);
    expect(asked()).toBe(false);
  });

  test('says what is missing', () => {
    const request = readPatientDiscovery(
      payloadOf(
        '<PRPA_IN201305UV02 xmlns="urn:hl7-org:v3"><controlActProcess><queryByParameter><queryId nullFlavor="NI"/><parameterList><livingSubjectBirthTime><value nullFlavor="UNK"/></livingSubjectBirthTime></parameterList></queryByParameter></controlActProcess></PRPA_IN201305UV02>',
      ),
    );

    expect(request.missing).toEqual(['query-id', 'birth-time', 'name']);
  });

  test('is found within an element of the gateway itself, and under any prefix', () => {
    const wrapped = payloadOf(
      `<w:Ask xmlns:w="urn:x"><w:assertion/>${String(buildPatientDiscovery(QUESTION))}</w:Ask>`,
    );

    expect(readPatientDiscovery(wrapped).queryId).toEqual(QUESTION.queryId);
  });
});
