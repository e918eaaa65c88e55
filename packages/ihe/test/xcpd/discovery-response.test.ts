import { describe, expect, test } from 'vitest';
import {
  buildDiscoveryAcknowledgement,
  buildPatientDiscovery,
  buildPatientDiscoveryResponse,
  type DiscoveryVerdict,
  firstNamed,
  type MatchedPatient,
  patientsByCommunity,
  readHl7Time,
  readPatientDiscovery,
  readPatientDiscoveryResponse,
} from '../../src/index.ts';
import { HL7V3 } from '../../src/namespaces.ts';
import { childNames, payloadOf } from '../payloads.ts';

const HEAD = {
  messageId: { root: '2.999.2', extension: 'm2' },
  sentAt: new Date('2026-03-01T12:00:00Z'),
  processing: 'T',
  sender: { deviceId: '2.999.2.1', homeCommunity: '2.999.2' },
  receiver: { deviceId: '2.999.1.1', homeCommunity: '2.999.1' },
} as const;

const QUESTION = readPatientDiscovery(
  payloadOf(
    buildPatientDiscovery({
      ...HEAD,
      messageId: { root: '2.999.1', extension: 'm1' },
      queryId: { root: '2.999.1', extension: 'q1' },
      criteria: {
        genders: ['F'],
        birthTimes: ['19630804'],
        birthPlaceAddresses: [],
        birthPlaceNames: [],
        ids: [],
        names: [{ family: ['Fault'], given: ['Ann'], prefix: [], suffix: [] }],
        mothersMaidenNames: [],
        addresses: [],
        telecoms: [],
        principalCareProviderIds: [],
      },
    }),
  ),
);

const PATIENT: MatchedPatient = {
  patientId: { root: '2.999.2.5', extension: 'p&1' },
  homeCommunity: '2.999.2',
  confidence: 90,
  person: {
    names: [
      {
        family: ['Fault'],
        given: ['Ann', 'Lee'],
        prefix: ['Dr'],
        suffix: [],
        use: undefined,
      },
    ],
    gender: 'F',
    birthTime: readHl7Time('19630804'),
    addresses: [
      {
        lines: ['1 Main St'],
        city: 'Boston',
        state: 'MA',
        zip: '02110',
        country: 'US',
        use: undefined,
      },
    ],
    telecoms: ['tel:+1-617-555-0100'],
    otherIds: [{ root: '2.16.840.1.113883.4.1', extension: '999123401' }],
  },
};

const answered = (verdict: DiscoveryVerdict) =>
  buildPatientDiscoveryResponse({ ...HEAD, request: QUESTION, verdict });

const read = (verdict: DiscoveryVerdict) =>
  readPatientDiscoveryResponse(payloadOf(answered(verdict)));

describe("ITI-55's answer", () => {
  test('has the person as they were given out, though named Fault', () => {
    const answer = read({ patients: [PATIENT] });

    expect(answer).toMatchObject({
      outcome: 'found',
      acknowledgement: 'AA',
      queryResponse: 'OK',
      queryId: { root: '2.999.1', extension: 'q1' },
      targetMessageId: { root: '2.999.1', extension: 'm1' },
      senderCommunity: '2.999.2',
      problems: [],
      wanted: [],
      remarks: [],
    });
    expect(answer.patients).toEqual([
      { ...PATIENT, furtherIds: [], locatesData: false },
    ]);
  });

  test("has everything in the order of HL7's schema", () => {
    const message = payloadOf(answered({ patients: [PATIENT] }));
    const process = firstNamed(message, HL7V3, 'controlActProcess');
    const event = firstNamed(process, HL7V3, 'subject', 'registrationEvent');
    const patient = firstNamed(event, HL7V3, 'subject1', 'patient');

    expect(childNames(message).slice(6)).toEqual([
      'receiver',
      'sender',
      'acknowledgement',
      'controlActProcess',
    ]);
    expect(childNames(process)).toEqual([
      'code',
      'subject',
      'queryAck',
      'queryByParameter',
    ]);
    expect(childNames(event)).toEqual([
      'id',
      'statusCode',
      'subject1',
      'custodian',
    ]);
    expect(childNames(patient)).toEqual([
      'id',
      'statusCode',
      'patientPerson',
      'providerOrganization',
      'subjectOf1',
    ]);
    expect(childNames(firstNamed(patient, HL7V3, 'patientPerson'))).toEqual([
      'name',
      'telecom',
      'administrativeGenderCode',
      'birthTime',
      'addr',
      'asOtherIDs',
    ]);
  });

  test('tells several communities from several candidates of one', () => {
    const second = {
      ...PATIENT,
      patientId: { root: '2.999.2.5', extension: 'p2' },
    };
    const elsewhere = { ...PATIENT, homeCommunity: 'urn:oid:2.999.3' };
    const { patients } = read({ patients: [PATIENT, elsewhere, second] });

    expect(
      [...patientsByCommunity(patients)].map(([community, { length }]) => [
        community,
        length,
      ]),
    ).toEqual([
      ['2.999.2', 2],
      ['2.999.3', 1],
    ]);
  });

  test('says that nobody was found', () => {
    expect(read({ patients: [] }).outcome).toBe('nobody');
  });

  test('says what more is wanted, misspelt or not', () => {
    const answer = read({
      wantedAttributes: [
        'PatientAdressRequested',
        'LivingSubjectAdministrativeGenderRequested',
        'ShoeSizeRequested',
      ],
    });

    expect(answer.outcome).toBe('more-attributes-wanted');
    expect(answer.wanted).toEqual([
      { code: 'PatientAdressRequested', attribute: 'address' },
      {
        code: 'LivingSubjectAdministrativeGenderRequested',
        attribute: 'gender',
      },
      { code: 'ShoeSizeRequested', attribute: undefined },
    ]);
  });

  test.each([
    ['ResponderBusy', 'again-later'],
    ['AnswerNotAvailable', 'failed'],
    ['InternalError', 'failed'],
  ])('says that the gateway failed: %s', (problem, meaning) => {
    expect(read({ problem })).toMatchObject({ outcome: 'failed', meaning });
  });

  test('of a deferred question is an acknowledgement', () => {
    const body = payloadOf(buildDiscoveryAcknowledgement(HEAD, QUESTION));

    expect(readPatientDiscoveryResponse(body)).toMatchObject({
      outcome: 'acknowledged',
      acknowledgement: 'CA',
      targetMessageId: { root: '2.999.1', extension: 'm1' },
    });
  });
});

/** An answer with these elements in controlActProcess. */
const written = (
  acknowledgement: string,
  queryResponse: string,
  process: string,
) =>
  readPatientDiscoveryResponse(
    payloadOf(
      `<PRPA_IN201306UV02 xmlns="urn:hl7-org:v3"><acknowledgement><typeCode code="${acknowledgement}"/></acknowledgement><controlActProcess>${process}<queryAck><queryResponseCode code="${queryResponse}"/></queryAck></controlActProcess></PRPA_IN201306UV02>`,
    ),
  );

const match = (patient: string, custodian = '<id root="2.999.2"/>') =>
  `<subject><registrationEvent><subject1><patient>${patient}</patient></subject1><custodian><assignedEntity>${custodian}</assignedEntity></custodian></registrationEvent></subject>`;

const problem = (code: string) =>
  `<detectedIssueEvent><mitigatedBy><detectedIssueManagement><code code="${code}"/></detectedIssueManagement></mitigatedBy></detectedIssueEvent>`;

describe('"nobody" is never concluded', () => {
  test.each([
    ['from an empty subject', 'AA', 'OK', '<subject/>'],
    ['from nothing at all', 'AA', 'OK', ''],
    ['from a query that erred', 'AA', 'QE', ''],
    ['from NF beside a problem', 'AA', 'NF', problem('AnswerNotAvailable')],
    ['from NF under an error', 'AE', 'NF', ''],
    ['from NF under a rejection', 'AR', 'NF', ''],
    ['from NF without an acknowledgement', '', 'NF', ''],
    ['from a code that nobody knows', 'AA', 'XX', ''],
  ])('%s', (_, acknowledgement, queryResponse, process) => {
    expect(written(acknowledgement, queryResponse, process).outcome).toBe(
      'failed',
    );
  });

  test('from another message', () => {
    const answer = readPatientDiscoveryResponse(
      payloadOf('<definitions xmlns="http://schemas.xmlsoap.org/wsdl/"/>'),
    );

    expect(answer).toMatchObject({
      outcome: 'failed',
      remarks: ['unknown-message'],
    });
  });
});

describe('an answer of the field', () => {
  test('with a code at the issue itself is understood', () => {
    const answer = written(
      'AE',
      'AE',
      '<detectedIssueEvent><code code="ResponderBusy" codeSystem="1.3.6.1.4.1.19376.1.2.27.3"/></detectedIssueEvent>',
    );

    expect(answer).toMatchObject({ outcome: 'failed', meaning: 'again-later' });
  });

  test('with matches under an error is no match', () => {
    const answer = written('AE', 'AE', match('<id root="1.2"/>'));

    expect(answer.outcome).toBe('failed');
    expect(answer.remarks).toContain('matches-under-an-error');
  });

  test('whose match has no id, community, or readable birth time says so', () => {
    const answer = written(
      'AA',
      'OK',
      match(
        '<id nullFlavor="NI"/><patientPerson><name><family>Moore</family><given/></name><administrativeGenderCode nullFlavor="UNK"/><birthTime value="19849711"/><addr><city>Montreal</city></addr><addr/><telecom nullFlavor="NI"/></patientPerson>',
        '<id/>',
      ),
    );

    expect(answer).toMatchObject({
      outcome: 'found',
      remarks: ['match-without-id', 'match-without-community'],
    });
    expect(answer.patients[0]).toMatchObject({
      patientId: undefined,
      homeCommunity: undefined,
      confidence: undefined,
      person: {
        names: [{ family: ['Moore'], given: [] }],
        gender: undefined,
        birthTime: { written: '19849711', date: undefined },
        addresses: [{ city: 'Montreal', lines: [] }],
        telecoms: [],
      },
    });
  });

  test('with a name as one text keeps it', () => {
    const answer = written(
      'AA',
      'OK',
      match(
        '<id root="1.2"/><patientPerson><name>Ann Moore</name></patientPerson>',
      ),
    );

    expect(answer.patients[0]?.person.names).toMatchObject([
      { family: [], given: [], text: 'Ann Moore' },
    ]);
  });

  test('with an xsi:type whose prefix is nowhere declared is read', () => {
    const answer = written(
      'AA',
      'OK',
      match(
        '<id xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="gone:II" root="1.2" extension="7"/>',
      ),
    );

    expect(answer.patients[0]?.patientId).toEqual({
      root: '1.2',
      extension: '7',
    });
  });

  test('with the namespace declared anew on each element is read', () => {
    const answer = readPatientDiscoveryResponse(
      payloadOf(
        '<a:PRPA_IN201306UV02 xmlns:a="urn:hl7-org:v3" xmlns="urn:other"><acknowledgement xmlns="urn:hl7-org:v3"><b:typeCode xmlns:b="urn:hl7-org:v3" code="AA"/></acknowledgement><controlActProcess xmlns="urn:hl7-org:v3"><queryAck xmlns="urn:hl7-org:v3"><queryResponseCode xmlns="urn:hl7-org:v3" code="NF"/></queryAck></controlActProcess></a:PRPA_IN201306UV02>',
      ),
    );

    expect(answer.outcome).toBe('nobody');
  });

  test('that a validator wrote says that our question is wrong', () => {
    const answer = readPatientDiscoveryResponse(
      payloadOf(
        '<PRPA_IN201306UV02 xmlns="urn:hl7-org:v3"><acknowledgement><typeCode code="AE"/><acknowledgementDetail><code code="SYN113"/></acknowledgementDetail></acknowledgement><controlActProcess><queryAck><queryResponseCode code="AE"/></queryAck></controlActProcess></PRPA_IN201306UV02>',
      ),
    );

    expect(answer).toMatchObject({ outcome: 'failed', meaning: 'our-fault' });
  });

  test('that refuses to take a deferred question has failed', () => {
    const answer = readPatientDiscoveryResponse(
      payloadOf(
        '<MCCI_IN000002UV01 xmlns="urn:hl7-org:v3"><acknowledgement><typeCode code="CE"/></acknowledgement></MCCI_IN000002UV01>',
      ),
    );

    expect(answer.outcome).toBe('failed');
  });
});
